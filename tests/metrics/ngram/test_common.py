"""What all metrics of n-grams have in common: no company, no change, captions without a score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider, CiderPlain, CiderR
from metaeval.metrics.ngram.rouge import RougeL, RougeN
from metaeval.metrics.ngram.sacrebleu import Chrf, SacreBleu, Ter
from tests.metrics.ngram.ngram_cases import (
    NASTY,
    Case,
    assert_alone_as_together,
    assert_unchanged_by_scoring,
    coco_sample,
    configured,
    prepared,
)
from tests.metrics.ngram.test_sacrebleu import INSTALLED

WHITESPACE = [
    Bleu("whitespace", unsmoothed=True),
    *(kind(tokenizer="whitespace") for kind in (Cider, CiderPlain, CiderR, RougeL)),
]
RAW = [RougeN(), SacreBleu(), Chrf(), Ter()]


def name_of(metric: Any) -> str | None:
    return getattr(metric, "name", None)


@pytest.mark.parametrize("metric", [*WHITESPACE, *RAW], ids=name_of)
def test_alone_as_together_on_nasty_captions(metric: Metric) -> None:
    assert_alone_as_together(metric, NASTY)


@pytest.mark.coco
@pytest.mark.parametrize(
    "metric", [Bleu(unsmoothed=True), Cider(), RougeL(), SacreBleu()], ids=name_of
)
def test_alone_as_together_on_coco(metric: Metric, coco_root: Path) -> None:
    assert_alone_as_together(metric, coco_sample(coco_root, images=60))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("bleu", "cider", "cider_plain", "cider_r", "rouge_l")),
        *((name, {}) for name in ("chrf", "ter")),
        ("rouge_n", {"stem": True}),
        *(("sacrebleu", {"tokenizer": tokenizer}) for tokenizer in INSTALLED),
    ],
)
def test_scoring_leaves_the_metric_as_it_was(name: str, options: dict[str, Any]) -> None:
    assert_unchanged_by_scoring(configured(name, **options), NASTY)


NAN = np.nan


@pytest.mark.parametrize(
    ("metric", "expected"),
    [  # of "" and "!" with a reference, of "a dog" and "" without, of "" with an empty reference
        (WHITESPACE[0], [0, 0, NAN, NAN, 0]),
        *((metric, [0, 0, NAN, NAN, 0]) for metric in WHITESPACE[1:4]),
        (WHITESPACE[4], [0, 0, NAN, NAN, 1]),  # an empty word against an empty word
        (RAW[0], [0, 0, NAN, NAN, 0]),
        (RAW[1], [0, 0, NAN, NAN, 0]),
        (RAW[2], [0, 0, NAN, NAN, 0]),
        (RAW[3], [1, 1, NAN, NAN, 0]),
    ],
    ids=name_of,
)
def test_nothing_to_score(metric: Metric, expected: Sequence[float]) -> None:
    case = Case((("a dog",), (), ("",), ("two cats",)), (("",) * 4,))
    scorer = prepared(metric, case)
    scores = scorer.score(["", "!", "a dog", "", ""], np.array([0, 0, 1, 1, 2]))
    columns = len(scorer.columns)
    np.testing.assert_array_equal(scores, np.repeat(np.array(expected)[:, None], columns, axis=1))
    assert scorer.score([], np.array([], dtype=np.intp)).shape == (0, columns)
