"""ROUGE-1 and ROUGE-2 against numbers that rouge-score 0.1.2 printed, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.metrics.ngram.rouge import RougeN
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    NASTY,
    Case,
    bound,
    configured,
    scores,
)

# references, candidate, then `RougeScorer(["rouge1", "rouge2"]).score_multi(…)`'s two F-measures
# without and with use_stemmer, as rouge-score 0.1.2 prints them. One formula of two small
# fractions: a few units in the last place.
LIBRARY = [
    (
        BASEBALL.references[0][:2] + BASEBALL.references[0][4:],
        BASEBALL.sets[0][0],
        [0.39999999999999997, 0.11111111111111112, 0.39999999999999997, 0.11111111111111112],
    ),
    (
        (
            "two children are standing in a grassy field.",
            "there are two children standing in the grass by water.",
        ),
        "Two children with umbrellas in a grassy field.",
        [0.75, 0.5714285714285714, 0.75, 0.5714285714285714],
    ),
    (
        ("A café-owner's dogs were running, quickly!",),
        "the café owner's dog runs quickly",
        [0.5333333333333333, 0.30769230769230765, 0.7999999999999999, 0.6153846153846153],
    ),
    (
        ("a a a a b", "b b b"),
        "a a b a",
        [0.888888888888889, 0.5714285714285715, 0.888888888888889, 0.5714285714285715],
    ),
    (("dog",), "", [0, 0, 0, 0]),
    (("",), "dog", [0, 0, 0, 0]),
    (("dog",), "dog", [1, 0, 1, 0]),
    (
        ("don't 3.5 top-down",),
        "DON'T 35 top down",
        [0.7272727272727272, 0.4444444444444445, 0.7272727272727272, 0.4444444444444445],
    ),
    (("running runners ran easily",), "run runner ran easy", [0.25, 0, 0.75, 2 / 3]),
]


@pytest.mark.parametrize(("references", "candidate", "expected"), LIBRARY)
def test_equals_rouge_score(
    references: tuple[str, ...], candidate: str, expected: list[float]
) -> None:
    case = Case((references,), ((candidate,),))
    plain, stemmed = scores(RougeN(), case)[0], scores(RougeN(stem=True), case)[0]
    np.testing.assert_allclose([*plain, *stemmed], expected, rtol=0, atol=1e-15)


def test_the_two_orders_may_take_different_references() -> None:
    """ROUGE-1 from "b a c" (1), ROUGE-2 from "a b" (P 1/2, R 1: 2/3)."""
    case = Case((("a b", "b a c"),), (("a b c",),))
    np.testing.assert_allclose(scores(RougeN(), case), [[1, 2 / 3]], rtol=0, atol=1e-15)


def test_words_of_three_letters_are_not_stemmed() -> None:
    """Porter makes "ga" of "gas"; rouge-score stems only words of more than three letters."""
    case = Case((("ga", "hold"),), (("gas",), ("holds",)))
    assert scores(RougeN(stem=True), case)[:, 0].tolist() == [0, 1]


def test_configuration_and_signature() -> None:
    signature = bound(configured("rouge_n"), NASTY.dataset).signatures[1]
    assert signature == "rouge-2|tok:rouge-score|stem:no|ref:best|v:1"
