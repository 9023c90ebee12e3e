"""Every function that writes sentences has a test that can falsify them."""

from __future__ import annotations

import pytest

from tests.reports.sentences import (
    DEFINITIONS,
    falsifiers,
    functions,
    is_sentence,
    templates_of,
    writers,
)


def test_every_function_that_writes_sentences_has_a_test_that_can_falsify_them() -> None:
    """Mark such a test: `@pytest.mark.falsifies("reports.ROOM.MODULE.FUNCTION")`."""
    names = {writer.name for writer in writers()}
    assert len(names) > 100
    assert sorted(names - falsifiers().keys()) == []


def test_every_mark_and_every_exception_names_a_function() -> None:
    assert sorted(falsifiers().keys() - functions()) == []
    defined = {name for names in DEFINITIONS.values() for name in names}
    assert sorted(defined - functions()) == []
    assert sorted(defined & falsifiers().keys()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{} is first by {}", True),
        ("no metric is significantly above it", True),
        ("Captions without a score: {}.", True),
        (", not separated from {}", True),
        ("Rank-order ρ of every metric, pooled and within an image", False),
        ("Which metric for what?", False),
        ("{} to {}", False),
        ("<td>{} is here</td>", False),
    ],
)
def test_what_a_sentence_is(text: str, expected: bool) -> None:
    assert is_sentence(text) is expected


def test_where_sentences_are_found() -> None:
    source = '''
WORDS = {"nothing is here": "a control is as good"}
def said(n):
    """It is a docstring."""
    if n < 0:
        raise ValueError("n is below 0")
    caption = "This is a caption."
    log.warning("this is a message")
    return Finding("This is a lead.", f"{n} {'is' if n == 1 else 'are not'} {WORDS[n]} here.")
class Result:
    def sentence(self):
        return "; ".join(f"{x} is best" for x in self.names)
'''
    assert templates_of(source) == {
        "said": ["{} {} {} here.", "are not", "a control is as good"],
        "Result.sentence": ["{} is best"],
    }
