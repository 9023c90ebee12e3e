"""Metrics whose score comes from statistics that add up over captions: BLEU, SacreBLEU, METEOR.

Such a metric has two values for a system, and they are not the same number: the mean of the scores
of its sentences, and the score of its *corpus*, made of the sums of their statistics. Everything
else that has a mean only is the mean of sentences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

Statistics = npt.NDArray[np.float64]


class SummableMetric(Metric):
    """A metric that can return the sufficient statistics of a caption's score."""

    @property
    @abstractmethod
    def statistics_names(self) -> tuple[str, ...]:
        """The names of the k statistics, in order."""

    @abstractmethod
    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """Scores [n, len(columns)] from n rows of statistics.

        A row is a caption's own statistics (then this is what `score` gives, to the last bit), or
        with `corpus` the sum over the captions of a system. A row with NaN scores NaN.
        """

    def signature(self, column: ScoreColumn, settings: str) -> str:
        """The signature of a column, with settings as "key:value|key:value"."""
        return f"{(column.signature_name or column.name).lower()}|{settings}"

    @abstractmethod
    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> SummableScorer | Absent: ...


class SummableScorer(ReferenceScorer):
    """A scorer that makes its scores of statistics."""

    metric: SummableMetric

    @property
    def signatures(self) -> tuple[str, ...]:
        settings = "|".join(f"{key}:{value}" for key, value in self.settings.items())
        return tuple(self.metric.signature(column, settings) for column in self.columns)

    @abstractmethod
    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        """Integers [n, k] for n captions, from the arguments of `score`; NaN without a score."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        return self.metric.of_statistics(self.statistics(captions, image_index))


class StatisticsAdapter(Metric):
    """A metric's statistics instead of its scores, for `scoring.score_captions` and its cache."""

    def __init__(self, metric: SummableMetric) -> None:
        self.metric = metric
        self.name = metric.name  # type: ignore[misc]
        self.citation = metric.citation

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        names = self.metric.statistics_names
        return tuple(
            ScoreColumn(f"{self.metric.name} {name}", bounds=(0.0, float("inf"))) for name in names
        )

    def fetch(self, dataset: CaptionDataset) -> None:
        self.metric.fetch(dataset)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        scorer = self.metric.scorer(dataset, store)
        if isinstance(scorer, Absent):
            return scorer
        return _StatisticsScorer(self.columns, cast(SummableScorer, scorer))


class _StatisticsScorer(Scorer):
    """Hands out what a scorer's scores are made of; its identity is that of the scores."""

    def __init__(self, columns: Sequence[ScoreColumn], scorer: SummableScorer) -> None:
        super().__init__(columns, scorer.settings)
        self.batch_size, self.foreign = scorer.batch_size, scorer.foreign
        self._scorer = scorer

    def context(self, index: int) -> bytes:
        return self._scorer.context(index)

    def prepare(self) -> None:
        self._scorer.prepare()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        return self._scorer.statistics(captions, image_index)

    def close(self) -> None:
        self._scorer.close()
