"""What experiments on pairs of captions of an image have in common."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence

from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.captions import record_counts
from metaeval.experiments.forced_choice.scores import ChoiceScores, pairs_to_score, score_choices
from metaeval.experiments.record import RunRecord
from metaeval.metrics.base import Metric
from metaeval.results.run import DatasetInfo


class ChoiceExperiment(MetricExperiment[ForcedChoice, ChoiceScores], ABC):
    """Both captions of every pair are scored against the image's references."""

    def to_score(self, data: ForcedChoice, record: RunRecord) -> Iterable[ToScore]:
        return pairs_to_score(data, record.config.seed)

    def score(
        self, data: ForcedChoice, metrics: Mapping[str, Metric], record: RunRecord
    ) -> ChoiceScores:
        return score_choices(data, list(metrics.values()), record.config, record.out)

    def passes(self, scores: ChoiceScores) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores.results]


def pairs_info(data: ForcedChoice, n_references: Sequence[int]) -> DatasetInfo:
    """The entry of a dataset of pairs in `run.json`."""
    return DatasetInfo(
        name=data.name,
        n_images=len(set(data.image)),
        n_references=tuple(n_references),
        sources=dict(data.sources),
        notes=tuple(data.notes),
        records=record_counts(data.records),
    )
