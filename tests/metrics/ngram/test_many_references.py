"""One image with thousands of references among images with four: arrays are as large as what there
is, not as the number of images times the most references of any."""

from __future__ import annotations

import tracemalloc
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
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from tests.metrics.ngram.ngram_cases import bound
from tests.metrics.test_controls import plain_copy

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
