"""Sentences of long captions dropped, repeated, swapped and exchanged."""

from collections import Counter

import pytest

from metaeval.corruptions.base import Caption
from metaeval.corruptions.sentences import (
    DropSentence,
    OtherSentence,
    RepeatSentence,
    SentenceCorruption,
    SwapSentences,
)
from tests.corruptions.language.captions import HUMAN, dataset
from tests.corruptions.test_properties import with_edits

LONG = [
    f"A {animal} sits in a {place}. It looks at a {thing}. The sky is {sky}. Nobody is near."
    for animal, place, thing, sky in [
        ("dog", "park", "ball", "blue"),
        ("cat", "kitchen", "fish", "grey"),
        ("horse", "field", "fence", "red"),
        ("bear", "forest", "river", "white"),
    ]
]
CLASSES = [DropSentence, RepeatSentence, SwapSentences, OtherSentence]


def parts(text: str) -> list[str]:
    """The sentences of these captions: all end with a full stop."""
    return [f"{part.strip()}." for part in text.split(".") if part.strip()]


@pytest.mark.parametrize("corruption", CLASSES)
@pytest.mark.parametrize(("rate", "n"), [(0.01, 1), (0.25, 1), (0.5, 2)])
def test_as_many_sentences_change_as_the_rate_says(
    corruption: type[SentenceCorruption], rate: float, n: int
) -> None:
    made = corruption(rate)
    for source, result in zip(LONG, made.apply(dataset(LONG), 1), strict=True):
        before, after = Counter(parts(source)), Counter(parts(result.text))
        assert result.applied
        assert with_edits(source, result.edits) == result.text
        n_after = {DropSentence: 4 - n, RepeatSentence: 4 + n}.get(corruption, 4)
        assert sum(after.values()) == n_after
        if corruption is DropSentence:
            assert after <= before
        elif corruption is RepeatSentence:
            assert set(after) == set(before)
        elif corruption is SwapSentences:
            assert after == before
            moved = [a != b for a, b in zip(parts(source), parts(result.text), strict=True)]
            assert sum(moved) == max(2, n)
        else:
            foreign = after - before
            others = {s for text in LONG if text != source for s in parts(text)}
            assert sum(foreign.values()) == n
            assert set(foreign) <= others


@pytest.mark.parametrize("corruption", CLASSES)
def test_one_sentence_stays_and_says_why(corruption: type[SentenceCorruption]) -> None:
    made = corruption(0.5)
    made.apply(dataset(LONG), 0)
    result = made.corrupt(Caption(10, "A dog sits."), made.generator(0, 10))
    facts = (result.text, result.applied, result.edits, result.reason)
    assert facts == ("A dog sits.", False, (), "has only one sentence")


def test_one_sentence_is_always_left_and_needed() -> None:
    results = DropSentence(1.0).apply(dataset(LONG), 0)
    assert [len(parts(result.text)) for result in results] == [1] * 4
    absent = DropSentence(0.5).missing(dataset(HUMAN))
    assert f"0 of {len(HUMAN)} are of more than one" in absent.reason
    assert DropSentence(0.5).missing(dataset(LONG)) is None


def test_sentences_without_spaces_between_words() -> None:
    texts = ["两只狗在跑。天气很好。草是绿的。", "一只猫在睡。窗开着。没有人。"]
    for source, result in zip(texts, DropSentence(0.3).apply(dataset(texts), 0), strict=True):
        assert result.text in [
            "。".join(s for j, s in enumerate(source.split("。")) if j != i) for i in range(3)
        ]
