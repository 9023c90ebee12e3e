"""BLEU against pycocoevalcap, the papers' numbers and its definition."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu

from metaeval.errors import ConfigError
from metaeval.metrics.ngram.bleu import Bleu
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

coco_bleu = partial(CocoBleu(4).compute_score, verbose=0)


def test_golden_example_of_the_paper() -> None:
    both = scores(Bleu(unsmoothed=True), BASEBALL)[0]
    # the paper prints six digits, cut off rather than rounded
    assert both[:3] == pytest.approx([0.727272, 0.381385, 0.252829], abs=1e-6)
    assert both[3] == pytest.approx(0.0000377, abs=5e-8)  # pycocoevalcap's, three digits
    assert both[4:] == pytest.approx([0.381385, 0.252829, 0], abs=1e-6)


def test_golden_example_of_faier() -> None:
    # four digits each, which only the smoothing constants of pycocoevalcap give
    expected = [0.8409, 3.907e-9, 7.089e-13, 4.939e-5]
    both = scores(Bleu(unsmoothed=True), CHILDREN)
    assert both[:, 3] == pytest.approx(expected, rel=2e-4)
    assert both[:, 6] == pytest.approx([0.8409, 0, 0, 0], abs=5e-5)


# pycocoevalcap's arithmetic in its order, so it is equal to the last bit


@pytest.mark.coco
def test_equals_pycocoevalcap_on_coco(coco_root: Path) -> None:
    case = coco_sample(coco_root)
    expected = oracle(coco_bleu, tokenised(case))
    np.testing.assert_array_equal(scores(Bleu(), case), expected)


def test_equals_pycocoevalcap_on_nasty_captions() -> None:
    case = tokenised(NASTY, "whitespace")
    mine = scores(Bleu(tokenizer="whitespace"), case)
    np.testing.assert_array_equal(mine, oracle(coco_bleu, case))


@given(case_strategy())
@settings(max_examples=200, deadline=None)
def test_equals_pycocoevalcap_on_any_words(case: Case) -> None:
    mine = scores(Bleu(tokenizer="whitespace"), case)
    np.testing.assert_array_equal(mine, oracle(coco_bleu, case))


def test_a_token_with_a_space_is_two_words_as_in_pycocoevalcap() -> None:
    case = Case((("about 2 1/2 pizzas are left",),), (("there are 2 1/2 pizzas",), ("1/2 pizzas",)))
    assert any("\xa0" in text for text in tokenised(case).captions)
    expected = oracle(coco_bleu, tokenised(case))
    np.testing.assert_array_equal(scores(Bleu(), case), expected)


# Unsmoothed BLEU has no oracle: its definition, in exact fractions up to the last step


def _by_definition(candidate: str, references: tuple[str, ...], order: int) -> float:
    def grams(text: str, n: int) -> Counter[tuple[str, ...]]:
        words = text.split()
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    length = len(candidate.split())
    product = Fraction(1)
    for n in range(1, order + 1):
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= grams(reference, n)
        matches = (grams(candidate, n) & most).total()
        if not matches:
            return 0.0
        product *= Fraction(matches, length - n + 1)
    closest = min((len(r.split()) for r in references), key=lambda r: (abs(r - length), r))
    penalty = math.exp(1 - closest / length) if length < closest else 1.0
    return penalty * math.exp(math.log(product) / order)


@given(case_strategy())
@settings(max_examples=200, deadline=None)
def test_unsmoothed_is_what_bleu_is_defined_as(case: Case) -> None:
    expected = [
        [_by_definition(caption, case.references[i], order) for order in (2, 3, 4)]
        for caption, i in zip(case.captions, case.index.tolist(), strict=True)
    ]
    mine = scores(Bleu("whitespace", unsmoothed=True), case)[:, 4:]
    # a dozen roundings of factors near 1 on either side, no cancellation
    np.testing.assert_allclose(mine, expected, rtol=1e-13, atol=0)
    assert ((mine >= 0) & (mine <= 1 + 1e-12)).all()


@pytest.mark.parametrize("references", [("a b c", "a b c d e"), ("a b c d e", "a b c")])
def test_of_two_equally_close_references_the_shorter_counts(references: tuple[str, ...]) -> None:
    case = Case((references,), (("a b c x",),))
    # 3 of 4 words match, and no penalty: the closest reference is the one of three words
    found = scores(Bleu("whitespace"), case)[0, 0]
    assert found == pytest.approx(0.75, abs=1e-9)  # pycocoevalcap's constants


def test_orders_can_be_fewer_or_more() -> None:
    few = Bleu(tokenizer="whitespace", max_n=2)
    assert [column.name for column in few.columns] == ["BLEU-1", "BLEU-2"]
    np.testing.assert_array_equal(
        scores(few, NASTY), scores(Bleu(tokenizer="whitespace"), NASTY)[:, :2]
    )
    six = scores(Bleu("whitespace", max_n=6, unsmoothed=True), NASTY)
    same = NASTY.captions.index("one two three four five six seven eight nine ten")
    # n-gram matches 8, 7, …, 3 out of 10, 9, …, 5
    assert six[same, -1] == pytest.approx((8 * 7 * 6 * 5 * 4 * 3 / 151200) ** (1 / 6), rel=1e-13)


def test_configuration_and_signature() -> None:
    scorer = bound(configured("bleu"), BASEBALL.dataset)
    assert scorer.signatures[3] == "bleu-4|tok:ptb-3.4.1|smooth:coco|ref:closest|v:1"
    assert [column.headline for column in scorer.columns] == [False, False, False, True]
    more = bound(configured("bleu", unsmoothed=True, tokenizer="whitespace"), BASEBALL.dataset)
    names = [column.name for column in more.columns[4:]]
    assert names == ["BLEU-2 (unsmoothed)", "BLEU-3 (unsmoothed)", "BLEU-4 (unsmoothed)"]
    assert [column.headline for column in more.columns] == [False] * 3 + [True] + [False] * 3
    assert more.signatures[6] == "bleu-4|tok:whitespace|smooth:none|ref:closest|v:1"
    with pytest.raises(ConfigError, match="max_n"):
        Bleu(max_n=0)
    with pytest.raises(ConfigError, match="unknown tokenizer 'moses'"):
        Bleu(tokenizer="moses")
