"""Delete, Insert and Reverse: what stays, what goes, and that the edits record it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corruptions.base import Caption, Corrupted
from metaeval.corruptions.graded.delete import Delete
from metaeval.corruptions.graded.replace import Insert, bag_of_words
from metaeval.corruptions.graded.shuffle import Reverse
from metaeval.corruptions.tokens import words
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.reports.graded.diff_markup import OPEN, marked


@pytest.fixture(scope="module")
def coco(coco_root) -> CaptionDataset:
    return load_coco("coco_val2017", root=coco_root)


def in_order(part: list[str], whole: list[str]) -> bool:
    """Whether `part` is `whole` with some of its elements left out."""
    rest = iter(whole)
    return all(any(token == other for other in rest) for token in part)


def replayed(source: str, result: Corrupted) -> str:
    """The source with the edits applied, from the last to the first."""
    tokens = source.split()
    for position, before, after in reversed(result.edits):
        if before:
            assert tokens[position] == before
            tokens[position : position + 1] = [after] if after else []
        else:
            tokens.insert(position, after)
    return " ".join(tokens)


@pytest.mark.coco
@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 1.0])
def test_delete_leaves_out_the_requested_number_of_words(coco, rate):
    for source, result in zip(coco.human, Delete(rate).apply(coco, 0), strict=True):
        old, new = source.split(), result.text.split()
        n = len(words(old))
        gone = min(round(rate * n), n - 1)
        assert len(new) == len(old) - gone
        assert in_order(new, old)
        assert len(words(new)) == n - gone >= 1
        assert (result.realised, result.applied) == (gone / n, gone > 0)
        assert replayed(source, result) == result.text


@pytest.mark.coco
@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_insert_adds_words_of_the_bag_and_keeps_the_caption(coco, rate):
    bag = set(bag_of_words(coco.pool))
    corruption = Insert(rate)
    drawn: Counter[str] = Counter()
    for source, result in zip(coco.human, corruption.apply(coco, 0), strict=True):
        old, new = source.split(), result.text.split()
        n = len(words(old))
        assert len(new) == len(old) + round(rate * n)
        assert in_order(old, new)
        assert new[-1] == old[-1]
        assert result.realised == round(rate * n) / n
        assert replayed(source, result) == result.text
        drawn.update(edit.after for edit in result.edits)
    assert corruption.facts()["bag_words"] == len(bag) == 1039
    assert set(drawn) <= bag
    if rate == 1:  # 52,000 draws from 1,039 words: a Poisson of 50; six standard deviations are 43
        mean = sum(drawn.values()) / len(bag)
        assert all(abs(drawn[word] - mean) < 6 * mean**0.5 for word in bag)


@pytest.mark.coco
def test_reverse_twice_is_the_caption(coco):
    reverse = Reverse()
    rng = np.random.default_rng(0)
    for source, result in zip(coco.human, reverse.apply(coco, 0), strict=True):
        old = source.split()
        assert [old[i] for i in words(old)] == [
            result.text.split()[i] for i in reversed(words(result.text.split()))
        ]
        back = reverse.corrupt(Caption(0, result.text), rng)
        assert back.text == (" ".join(old) if result.applied else source)
        assert replayed(source, result) == (result.text if result.applied else " ".join(old))


def test_by_hand():
    text = 'A man - "smiling" (at us).'
    assert Reverse().corrupt(Caption(0, text), np.random.default_rng(0)).text == (
        'us). (at - "smiling" man A'
    )
    one = Delete(1.0).corrupt(Caption(0, text), np.random.default_rng(1))
    assert len(words(one.text.split())) == 1
    assert "-" in one.text.split()  # a token without a word is not a word to leave out
    for nothing in ("", "dog", "- -"):
        for corruption in (Delete(0.5), Reverse()):
            result = corruption.corrupt(Caption(0, nothing), np.random.default_rng(0))
            assert (result.text, result.applied, result.edits) == (nothing, False, ())
    for wrong in (0, 1.5, True, "0.5"):
        for kind in (Delete, Insert):
            with pytest.raises(ConfigError, match=r"rate: .* is not (?:a number )?in \(0, 1\]"):
                kind(wrong)


@given(st.text(alphabet="ab .-AB", max_size=30), st.floats(0.01, 1), st.integers(0, 9))
def test_any_text_and_the_report_can_mark_it(text, rate, seed):
    insert = Insert(rate, min_count=1)
    insert.bag = ("cat", "hen")
    for corruption in (Delete(rate), insert, Reverse()):
        result = corruption.corrupt(Caption(1, text), np.random.default_rng(seed))
        assert result.applied is (result.text != text)
        if result.applied:
            assert replayed(text, result) == result.text
            edits = [edit._asdict() for edit in result.edits]
            shown = marked(text, result.text, edits)
            kind = {"delete": "d", "insert": "i", "reverse": "m"}[corruption.name]
            assert shown.count(f"{OPEN}{kind}") == len(edits) or corruption.name == "reverse"
