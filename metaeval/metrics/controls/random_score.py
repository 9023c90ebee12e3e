"""A random score: what chance gets, ties of equal captions included."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store


class RandomScore(Metric):
    """A number in [0, 1) that depends on the seed, the image's id and the caption alone.

    Equal captions of an image get equal scores, as they do from any metric.
    """

    name = "random_score"
    needs = frozenset()
    columns = (ScoreColumn("Random score", control=True),)

    def __init__(self, seed: int = 0) -> None:
        self.seed = int(seed)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> RandomScorer:
        return RandomScorer(self, dataset)


class RandomScorer(Scorer):
    """The random scores of a dataset's captions."""

    batch_size = 50_000

    def __init__(self, metric: RandomScore, dataset: CaptionDataset) -> None:
        super().__init__(metric.columns, {"seed": metric.seed, "v": 1})
        self._seed, self._ids = metric.seed, dataset.image_ids

    def context(self, index: int) -> bytes:
        return repr(self._ids[index]).encode()

    def prepare(self) -> None:
        """Nothing depends on references or images."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.empty((len(captions), 1))
        for j, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            content = f"{self._seed}\0{self._ids[image]!r}\0{caption}".encode()
            digest = hashlib.sha256(content).digest()
            scores[j] = (int.from_bytes(digest[:8], "big") >> 11) / 2**53
        return scores
