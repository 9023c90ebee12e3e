"""What all metrics of n-grams have in common: company, changes, captions without a score, size."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge as CocoRouge

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.metrics.controls import LongestCopy
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider, CiderPlain, CiderR
from metaeval.metrics.ngram.rouge import RougeL, RougeN
from metaeval.metrics.ngram.sacrebleu import Chrf, SacreBleu, Ter
from tests.metrics.ngram.ngram_cases import (
    NASTY,
    Case,
    assert_alone_as_together,
    assert_unchanged_by_scoring,
    bound,
    coco_sample,
    configured,
    prepared,
)
from tests.metrics.ngram.test_sacrebleu import INSTALLED
from tests.metrics.test_controls import plain_copy

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
    [  # of "" and spaces with a reference, of "a dog" and "" without, of "" with an empty reference
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
    scores = scorer.score(["", "   ", "a dog", "", ""], np.array([0, 0, 1, 1, 2]))
    columns = len(scorer.columns)
    np.testing.assert_array_equal(scores, np.repeat(np.array(expected)[:, None], columns, axis=1))
    assert scorer.score([], np.array([], dtype=np.intp)).shape == (0, columns)


IMAGES, MANY = 1000, 5000
TESTED = 40  # images whose scores are computed once more; the first is the one with many


@pytest.fixture(scope="module")
def dataset() -> CaptionDataset:
    words = np.array([f"w{i}" for i in range(2000)])
    rng = np.random.default_rng(0)
    references = tuple(
        tuple(" ".join(row) for row in rng.choice(words, (MANY if image == 0 else 4, 10)))
        for image in range(IMAGES)
    )
    human = tuple(" ".join([*group[1].split()[2:], "w1", "w2"]) for group in references)
    ids = tuple(range(IMAGES))
    return CaptionDataset("many", ids, human, references, ids, human)


def coco(scorer: Any) -> Any:
    """pycocoevalcap's scores [tested images, columns]; its CIDEr needs all images for its idf."""

    def scores(dataset: CaptionDataset) -> np.ndarray:
        n = IMAGES if isinstance(scorer, CocoCider) else TESTED
        each = scorer.compute_score(
            {i: list(dataset.references[i]) for i in range(n)},
            {i: [dataset.human[i]] for i in range(n)},
        )[1]
        return np.asarray(each, dtype=np.float64).reshape(-1, n).T[:TESTED]

    return scores


def copies(dataset: CaptionDataset) -> np.ndarray:
    pairs = zip(dataset.human[:TESTED], dataset.references, strict=False)
    return np.array([[plain_copy(*pair)] for pair in pairs])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Bleu(tokenizer="whitespace"), coco(CocoBleu(4))),
        (RougeL(tokenizer="whitespace"), coco(CocoRouge())),
        (Cider(tokenizer="whitespace"), coco(CocoCider())),
        (LongestCopy("whitespace"), copies),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_image_with_thousands_of_references_costs_what_it_holds(
    metric: Metric, expected: Any, dataset: CaptionDataset
) -> None:
    """50 MB are allowed: the references, their words and n-grams take up to 30. Padded to the most
    references of any image, the lengths of BLEU alone took 64 MB, the places of ROUGE-L's words
    1,755, the words of the longest copy 244, and CIDEr's n-grams gigabytes."""
    tracemalloc.start()
    scorer = bound(metric, dataset)
    scorer.prepare()
    scores = scorer.score(dataset.human, np.arange(IMAGES))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
    right = expected(dataset)
    np.testing.assert_allclose(scores[:TESTED], right, rtol=0, atol=1e-9)
    assert scores[0, 0] > 0
