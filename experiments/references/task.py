"""How many references a metric needs: `python -m metaeval experiment=references`.

On a captioning dataset the order of graded corruptions, on captions that people judged (PASCAL-50S,
Composite …) the agreement with people, by the number of references, from none on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass
from metaeval.experiments.record import RunRecord
from metaeval.experiments.references.data import CountScores, ReferenceData, reference_data
from metaeval.experiments.text_table import text_table
from metaeval.metrics.base import Metric
from metaeval.options import NonNegativeInt
from metaeval.results.base import Estimate
from metaeval.results.graded import StatisticsSettings
from metaeval.results.metric import MetricResult
from metaeval.results.references import (
    AtReferences,
    ReferenceMeasure,
    ReferencesResult,
    ReferencesStatistics,
)


class ByReferences(MetricExperiment[ReferenceData, list[CountScores]]):
    """Every metric with ever more references.

    Parameters
    ----------
    n_references
        The numbers of references; always an image's first ones. By default from none to all that an
        image has, on PASCAL-50S CHOICE_COUNTS.
    floor
        Put another image's caption below the strongest corruption.
    """

    name = "references"
    title = "How many references does a metric need?"
    question = "How does a metric's agreement grow with the number of references?"
    report = "references"

    def __init__(
        self, n_references: list[NonNegativeInt] | None = None, floor: bool = True
    ) -> None:
        self.n_references = None if n_references is None else sorted(set(n_references))
        self.floor = floor

    def load(self, config: DictConfig) -> ReferenceData:
        data = reference_data(load_dataset(config), config, self.floor)
        if self.n_references is None and data.usual == [0]:
            raise ConfigError(
                f"experiment=references: {data.n_bare:,} of {data.n_images:,} images without "
                "references, and by default a run compares the numbers that all images have; give "
                "the numbers (task.n_references=[0,1,2]), or leave such images out"
            )
        if self.n_references is not None and max(self.n_references, default=0) > data.most:
            raise ConfigError(
                f"task.n_references: {max(self.n_references)} is more than the {data.most} "
                "there are"
            )
        return data

    def counts(self, data: ReferenceData) -> Sequence[int]:
        """The numbers of references, ascending."""
        return data.usual if self.n_references is None else self.n_references

    def describe(self, data: ReferenceData) -> str:
        return data.describe(", ".join(map(str, self.counts(data))))

    def write_versions(self, data: ReferenceData, record: RunRecord) -> None:
        data.write_versions(self.counts(data), record)

    def score(
        self, data: ReferenceData, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[CountScores]:
        return data.score(self.counts(data), list(metrics.values()), record)

    def passes(self, scores: list[CountScores]) -> Sequence[Pass]:
        """A metric that runs with some number of references has run; its record has the others."""
        best: dict[str, Pass] = {}
        for n, scored, _ in scores:
            for each in scored:
                if each.family not in best or each.status == "ok":
                    best[each.family] = Pass(each, f"{n} references")
        return list(best.values())

    def statistics(
        self, data: ReferenceData, scores: list[CountScores], record: RunRecord
    ) -> ReferencesResult:
        stats = record.config.stats
        columns = _columns(scores)
        by_count: dict[str, list[AtReferences]] = {column.name: [] for column in columns}
        for of_count in scores:
            values = data.values(of_count, record)
            for column in columns:
                at = values.get(column.name) or column.without_values(of_count)
                by_count[column.name].append(at)
        return ReferencesResult(
            dataset=data.name,
            metrics=tuple(
                column.result.model_copy(
                    update={
                        "statistics": ReferencesStatistics(
                            by_references=tuple(by_count[column.name])
                        )
                    }
                )
                for column in columns
            ),
            kind=data.kind,
            n_references=tuple(self.counts(data)),
            settings=StatisticsSettings(
                replicates=stats.replicates, confidence=stats.confidence, seed=stats.seed
            ),
        )

    def printout(self, summary: ReferencesResult, record: RunRecord, file: Path) -> str:
        graded = summary.kind == "graded"
        measure: ReferenceMeasure = "rank_order_rho" if graded else "agreement"
        what = "rank-order ρ" if graded else "agreement with people"
        lines = []
        for metric in summary.metrics:
            if metric.column.part_of is None:
                cells = {
                    f"{at.n_references} refs": _four_digits(at.estimate(measure))
                    for at in metric.numbers.by_references
                }
                lines.append({"metric": metric.name, **cells})
        return "\n".join([*text_table(lines, what), f"{file.stem}: {file}"])


class _Column(NamedTuple):
    """A column of the run: the place of its metric and of itself in it, and its result where it
    ran last."""

    metric: int
    place: int
    result: MetricResult[ReferencesStatistics]

    @property
    def name(self) -> str:
        return self.result.name

    def without_values(self, of_count: CountScores) -> AtReferences:
        """The entry for a number of references with which the column has no scores."""
        scored = of_count.scored[self.metric]
        status, reason = scored.status, scored.reason
        if status == "ok":
            names = ", ".join(column.name for column in scored.columns)
            status, reason = "skipped", f"its columns are then {names}"
        return AtReferences(n_references=of_count.n_references, status=status, reason=reason)


def _columns(scores: Sequence[CountScores]) -> list[_Column]:
    """The columns that ran with some number of references, and those of metrics that never ran.

    A metric that cannot be bound has the names of its options, which may be others than those it
    has where it runs: "BERTScore", and "BERTScore (MiniLM)" with the model that is there.
    """
    ran: dict[str, _Column] = {}
    never: dict[str, _Column] = {}
    for of_count in scores:
        for m, scored in enumerate(of_count.scored):
            for c, column in enumerate(scored.columns):
                known = ran if scored.status == "ok" else never
                known[column.name] = _Column(m, c, scored.result(c, None))
    metrics = {column.metric for column in ran.values()}
    others = [column for column in never.values() if column.metric not in metrics]
    return sorted([*ran.values(), *others], key=lambda column: column[:2])


def _four_digits(estimate: Estimate | None) -> str:
    return "–" if estimate is None or estimate.value is None else f"{estimate.value:.4f}"
