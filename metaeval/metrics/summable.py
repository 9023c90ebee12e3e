"""Metrics whose score comes from statistics that add up over captions: BLEU, SacreBLEU, METEOR.

Such a metric has two values for a system, and they are not the same number: the mean of the scores
of its sentences, and the score of its *corpus*, made of the sums of their statistics. Everything
else that has a mean only is the mean of sentences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scores

Statistics = npt.NDArray[np.float64]


class Additive(Metric):
    """A metric that can tell the sufficient statistics of a caption's score."""

    @property
    @abstractmethod
    def statistics_names(self) -> tuple[str, ...]:
        """The names of the k statistics, in order."""

    @abstractmethod
    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        """Whole numbers [n, k] for n captions, asked as `score` is; NaN where there is no score."""

    @abstractmethod
    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """Scores [n, len(columns)] from n rows of statistics.

        A row is a caption's own statistics (then this is what `score` gives, to the last bit), or
        with `corpus` the sum over the captions of a system. A row with NaN scores NaN.
        """

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        return self.of_statistics(self.statistics(captions, image_index))


class Sufficient(Metric):
    """A metric's statistics in place of its scores, for `scoring.score_captions` and its cache.

    Parameters
    ----------
    metric
        The metric that is asked; its signature is that of its statistics too.
    """

    bounds = (0.0, float("inf"))

    def __init__(self, metric: Additive) -> None:
        self.metric = metric
        self.name = metric.name  # type: ignore[misc]
        self.columns = tuple(f"{metric.name} {name}" for name in metric.statistics_names)
        self.batch_size = metric.batch_size

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        self.metric.store = self.store
        return self.metric.missing(dataset)

    def identify(self, dataset: CaptionDataset) -> None:
        self.metric.identify(dataset)

    def prepare(self, dataset: CaptionDataset) -> None:
        self.metric.prepare(dataset)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        return self.metric.statistics(captions, image_index)

    def settings(self) -> Mapping[str, Any]:
        return self.metric.settings()

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        return self.metric.context(dataset, index)

    def close(self) -> None:
        self.metric.close()
