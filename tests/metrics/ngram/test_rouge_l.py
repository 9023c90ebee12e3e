"""ROUGE-L against pycocoevalcap, the papers' numbers and the textbook recursion."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pycocoevalcap.rouge.rouge import Rouge

from metaeval.errors import ConfigError
from metaeval.metrics.ngram.rouge import RougeL
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
