"""SCAN's similarity of image and caption (Lee et al., ECCV 2018), as a metric without references.

SCAN-i2t is the mean over the image's regions of the cosine of a region with the words it attends
to, SCAN-t2i the mean over the caption's words of the cosine of a word with the regions it attends
to (`<start>` and `<end>` are words). SCAN-sum, which retrieves best, adds them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Scores
from metaeval.metrics.scan.base import ScanMetric, ScanScorer
from metaeval.metrics.scan.weights import ScanWeights
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn
from metaeval.runs.store import Store


class ScanSimilarity(ScanMetric):
    """SCAN-i2t, SCAN-t2i and their sum. Not a number for images without regions.

    Options as in `ScanMetric`.
    """

    name = "scan"
    languages = frozenset({"en"})
    plain_columns = (
        ScoreColumn("SCAN-i2t", bounds=(-1.0, 1.0), precision=NETWORK_PRECISION),
        ScoreColumn("SCAN-t2i", bounds=(-1.0, 1.0), precision=NETWORK_PRECISION),
        ScoreColumn("SCAN-sum", bounds=(-2.0, 2.0), precision=NETWORK_PRECISION),
    )

    def _scorer(
        self, weights: ScanWeights, dataset: CaptionDataset, store: Store | None
    ) -> SimilarityScorer:
        return SimilarityScorer(self, weights, dataset, store, {"mean": "cosines", "v": 3})


class SimilarityScorer(ScanScorer):
    """SCAN's similarity with the images of a dataset."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 3), np.nan)
        rows = np.flatnonzero(self.usable[image_index])
        if len(rows):
            texts = [captions[k] for k in rows.tolist()]
            scores[rows, :2] = self.grounder.similarity(texts, image_index[rows])
            scores[rows, 2] = scores[rows, 0] + scores[rows, 1]
        return scores
