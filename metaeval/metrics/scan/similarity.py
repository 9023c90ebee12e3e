"""SCAN's similarity of image and caption (Lee et al., ECCV 2018), as a metric without references.

SCAN-i2t is the mean over the image's regions of the cosine of a region with the words it attends
to, SCAN-t2i the mean over the caption's words of the cosine of a word with the regions it attends
to (`<start>` and `<end>` are words). SCAN-sum, which retrieves best, adds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Scores
from metaeval.metrics.scan.base import ScanMetric


class ScanSimilarity(ScanMetric):
    """SCAN-i2t, SCAN-t2i and their sum. Not a number for images without regions.

    Options as in `ScanMetric`.
    """

    name = "scan"
    titles = ("SCAN-i2t", "SCAN-t2i", "SCAN-sum")
    bounds = (-2.0, 2.0)

    def settings(self) -> Mapping[str, Any]:
        return {**super().settings(), "mean": "cosines", "v": 3}

    def prepare(self, dataset: CaptionDataset) -> None:
        self._grounder = self._load()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 3), np.nan)
        usable = ~self._seen & (self._ready().n_regions > 0)
        rows = np.flatnonzero(usable[image_index])
        if len(rows):
            texts = [captions[k] for k in rows.tolist()]
            scores[rows, :2] = self._ready().similarity(texts, image_index[rows])
            scores[rows, 2] = scores[rows, 0] + scores[rows, 1]
        return scores
