"""ROUGE-L against pycocoevalcap and the textbook, ROUGE-1 and -2 against rouge-score 0.1.2."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pycocoevalcap.rouge.rouge import Rouge

from metaeval.errors import ConfigError
from metaeval.metrics.ngram.rouge import RougeL, RougeN
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    CHILDREN,
    NASTY,
    Case,
    bound,
    case_strategy,
    coco_sample,
    configured,
    oracle,
    scores,
    tokenised,
)

# The LCS are whole numbers and equal; what is left is one formula, rounded half a dozen times on
# either side: 1e-12 is ample, and far below the documented 1e-9.
close = {"rtol": 0, "atol": 1e-12}

coco_rouge = Rouge().compute_score


def test_golden_example_of_the_paper() -> None:
    assert scores(RougeL(), BASEBALL)[0, 0] == pytest.approx(0.448529, abs=1e-6)  # cut off


def test_golden_example_of_faier() -> None:
    expected = [0.79664, 0.19902, 0.21670, 0.62500]
    assert scores(RougeL(), CHILDREN)[:, 0] == pytest.approx(expected, abs=5e-6)


@pytest.mark.coco
def test_equals_pycocoevalcap_on_coco(coco_root: Path) -> None:
    case = coco_sample(coco_root)
    np.testing.assert_allclose(scores(RougeL(), case), oracle(coco_rouge, tokenised(case)), **close)


def test_equals_pycocoevalcap_on_nasty_captions() -> None:
    # among them references of more than 64 words: beyond one machine word
    case = tokenised(NASTY, "whitespace")
    mine = scores(RougeL(tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(coco_rouge, case), **close)


@given(case_strategy())
@settings(max_examples=200, deadline=None)
def test_equals_pycocoevalcap_on_any_words(case: Case) -> None:
    mine = scores(RougeL(tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(coco_rouge, case), **close)


def test_a_token_with_a_space_is_one_word_as_in_pycocoevalcap() -> None:
    case = Case((("about 2 1/2 pizzas are left",),), (("there are 2 1/2 pizzas",), ("1/2 pizzas",)))
    assert any("\xa0" in text for text in tokenised(case).captions)
    np.testing.assert_allclose(scores(RougeL(), case), oracle(coco_rouge, tokenised(case)), **close)


def _longest_common_subsequence(a: list[str], b: list[str]) -> int:
    above = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
        above = row
    return above[-1]


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_common_subsequences_at_the_width_of_a_machine_word(length: int) -> None:
    rng = random.Random(length)
    reference = rng.choices("abcd", k=length)
    candidates = [rng.choices("abcde", k=k) for k in (1, 2, length, length + 7)] + [reference]
    case = Case(((" ".join(reference),),), tuple((" ".join(c),) for c in candidates))
    mine = scores(RougeL(tokenizer="whitespace"), case)[:, 0]
    expected = []
    for candidate in candidates:
        common = _longest_common_subsequence(candidate, reference)
        p, r = common / len(candidate), common / length
        expected.append(2.44 * p * r / (r + 1.44 * p) if common else 0.0)
    np.testing.assert_allclose(mine, expected, **close)
    assert mine[-1] == pytest.approx(1)


def test_precision_and_recall_may_come_from_different_references() -> None:
    # candidate "a b c d": precision 3/4 from the long reference, recall 2/2 from the short one
    case = Case((("a b c x x x x x", "a b"),), (("a b c d",),))
    beta, p, r = 2.0, 0.75, 1.0
    expected = (1 + beta**2) * p * r / (r + beta**2 * p)
    mine = scores(RougeL(beta=beta, tokenizer="whitespace"), case)
    assert mine == pytest.approx(expected, abs=1e-15)


def test_configuration_and_signature() -> None:
    scorer = bound(configured("rouge_l"), NASTY.dataset)
    assert scorer.signatures == ("rouge-l|tok:ptb-3.4.1|beta:1.2|v:1",)
    with pytest.raises(ConfigError, match="beta"):
        RougeL(beta=0)


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


def test_configuration_and_signature_of_n() -> None:
    signature = bound(configured("rouge_n"), NASTY.dataset).signatures[1]
    assert signature == "rouge-2|tok:rouge-score|stem:no|ref:best|v:1"
