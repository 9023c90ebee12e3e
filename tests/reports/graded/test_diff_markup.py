"""Marked captions: the marks say what was done, and the caption is still all there."""

import pytest
from hypothesis import given, strategies as st

from metaeval.reports.graded.browser import CLOSE, MID, OPEN, mark_edits, remove_marks


def edit(position: int, before: str, after: str) -> dict[str, object]:
    return {"position": position, "before": before, "after": after}


def shown(text: str) -> str:
    """Marks made readable: [kind:before|after]."""
    return text.replace(OPEN, "[").replace(MID, "|").replace(CLOSE, "]")


@pytest.mark.parametrize(
    ("source", "caption", "edits", "expected"),
    [
        ("a red dog", "a blue dog", [edit(1, "red", "blue")], "a [sred|blue] dog"),
        ("a red dog", "a dog", [edit(1, "red", "")], "a [dred|] dog"),
        ("a red dog", "a red", [edit(2, "dog", "")], "a red [ddog|]"),
        ("a dog", "a big dog", [edit(1, "", "big")], "a [i|big] dog"),
        ("a dog", "a dog runs", [edit(2, "", "runs")], "a dog [i|runs]"),
        ("a dog", "a dog runs", [edit(1, "", "runs")], "a dog [i|runs]"),
        ("a b c", "c b a", [edit(0, "a", "c"), edit(2, "c", "a")], "[m|c] b [m|a]"),
        ("a b c.", "a c b.", [edit(1, "b", "c"), edit(2, "c.", "b.")], "a [m|c] [m|b.]"),
        ("a b c", "a x y", [edit(1, "b", "x"), edit(2, "c", "y")], "a [sb|x] [sc|y]"),
        ("a b", "a b", [], "a b"),
        ("a b", "another image's", [], "another image's"),
        # edits that do not lead to the caption are not believed
        ("a red dog", "a green dog", [edit(1, "red", "blue")], "a [sred|green] dog"),
        ("a red dog", "a dog here", [edit(7, "x", "y")], "a [dred|] dog [i|here]"),
        ("a \x01 dog", "a \x01 cat", [edit(2, "dog", "cat")], "a \ufffd [sdog|cat]"),
    ],
)
def test_marks(source: str, caption: str, edits: list[dict[str, object]], expected: str) -> None:
    assert shown(mark_edits(source, caption, edits)) == expected


WORDS = st.lists(st.text("ab\u202e<é", min_size=1, max_size=3), min_size=1, max_size=8)


@given(WORDS, WORDS, st.data())
def test_the_caption_survives_any_edits(
    old: list[str], new: list[str], data: st.DataObject
) -> None:
    edits = data.draw(
        st.lists(
            st.builds(edit, st.integers(-1, 9), st.sampled_from([*old, ""]), st.sampled_from(new)),
            max_size=4,
        )
    )
    caption = " ".join(new)
    assert remove_marks(mark_edits(" ".join(old), caption, edits)) == caption


@given(WORDS, st.data())
def test_replayed_deletions_leave_the_caption(words: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, len(words) - 1), max_size=len(words)))
    caption = " ".join(w for i, w in enumerate(words) if i not in gone)
    text = mark_edits(" ".join(words), caption, [edit(i, words[i], "") for i in sorted(gone)])
    assert remove_marks(text) == caption
    assert text.count(OPEN) == len(gone)
