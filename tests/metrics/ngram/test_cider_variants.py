"""CIDEr (not D) and CIDEr-R against what their authors' programs print, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metaeval.metrics.ngram.cider import Cider, CiderPlain, CiderR
from tests.metrics.ngram.ngram_cases import (
    NASTY,
    Case,
    bound,
    configured,
    scores,
)

CASE = Case(
    (
        (
            "a man swings a bat at a ball",
            "a man with a bat on a field",
            "the crowd watches a baseball game",
        ),
        ("two children stand in a grassy field", "there are two children in the grass"),
        ("a dog runs", "the dog is running very fast over the green grass of the park"),
        ("a a a b",),
    ),
    (
        ("a man swings a bat", "two children in a field", "a dog dog dog runs", "a b"),
        (
            "a man with a bat at a man with a bat",
            "a man",
            "the dog runs on the grass of a field",
            "a a a b",
        ),
        (
            "a crowd watches two dogs",
            "there are children in the grass in the grass",
            "the dog is running very fast",
            "b",
        ),
    ),
)

# What the authors' programs print for CASE, set by set, to 12 places: `CiderScorer` of
# vrama91/cider (pyciderevalcap, its Python 2 names changed to those of 3) and `CiderRScorer` of
# gabrielsantosrv/coco-caption. The program for CIDEr has neither clipping nor length penalty.
PLAIN = [
    [3.173470362584, 3.231004766115, 2.22170774376, 3.61803398875],
    [3.469476184788, 0.0, 1.852740736729, 10.0],
    [0.600780695979, 3.332249043779, 3.558557568573, 2.5],
]
R = [
    [2.686048903041, 3.17868195512, 0.962268354261, 2.217733804698],
    [1.249261782707, 0.0, 1.135269759683, 10.0],
    [0.597452279607, 1.800357855886, 2.901943969188, 2.233993367771],
]


@pytest.mark.parametrize(("metric", "printed"), [(CiderPlain, PLAIN), (CiderR, R)])
def test_equals_the_authors_program(metric: type[CiderPlain], printed: list[list[float]]) -> None:
    mine = scores(metric(tokenizer="whitespace"), CASE)[:, 0]
    # the printed digits
    np.testing.assert_allclose(mine, np.concatenate(printed), rtol=0, atol=6e-13)


def test_the_three_differ() -> None:
    d, plain, r = (
        scores(metric(tokenizer="whitespace"), CASE)[:, 0] for metric in (Cider, CiderPlain, CiderR)
    )
    assert (plain >= d - 1e-12).all()  # nothing is clipped, nothing is charged for length
    assert np.abs(plain - d).max() > 1
    assert np.abs(r - d).max() > 0.5


def test_cider_r_worked_by_hand() -> None:
    """Candidate "sat sat", reference "cat sat", another image with "cat"; N = 2.

    Weighty n-grams of the reference: "sat" (ln 2) and "cat sat" (ln 2). Unigrams: min(2, 1) · 1 /
    (2 · 1) = 1/2; no bigram. One distinct word with |2 - 1| = 1: r = 1/2. Lengths are equal: l = 1.
    """
    case = Case((("cat sat",), ("cat",)), (("sat sat", "cat"),))
    mine = scores(CiderR(tokenizer="whitespace"), case)[0, 0]
    assert mine == pytest.approx(10 / 4 * 0.5 * 0.5**0.8, abs=1e-12)
    longer = Case(case.references, (("sat sat sat", "cat"),))
    mine = scores(CiderR(tokenizer="whitespace"), longer)[0, 0]
    wanted = 10 / 4 / 3 * (1 / 3) ** 0.8 * math.exp(-((3 - 2) ** 2) / 2**2) ** 0.2
    assert mine == pytest.approx(wanted, abs=1e-12)


def test_configuration_and_signature() -> None:
    plain, r, d = (
        bound(configured(n), NASTY.dataset).signatures[0]
        for n in ("cider_plain", "cider_r", "cider")
    )
    assert plain.startswith("cider (not d)|tok:ptb-3.4.1|n:4|clip:no|df:8-images-")
    assert r.startswith("cider-r|tok:ptb-3.4.1|n:4|repetition:0.8|length:0.2|df:8-images-")
    assert d.startswith("cider|tok:ptb-3.4.1|n:4|sigma:6|df:8-images-")  # as ever
