"""The result of `experiment=references`: each metric by the number of references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.graded import StatisticsSettings
from metaeval.results.metric import Status
from metaeval.results.run import RunResult

ReferenceMeasure = Literal[
    "rank_order_rho", "rank_order_rho_within", "pairwise_accuracy", "agreement"
]


class ReferenceCorrelations(Model):
    """Correlations with the ratings of one dimension, of the `n` rows that have a score."""

    n: int
    pearson: Number
    spearman: Number
    kendall_tau_b: Number
    kendall_tau_c: Number


class AtReferences(Model):
    """One metric with `n_references` references.

    Attributes
    ----------
    status, reason
        Whether it ran with this number, and if not, why.
    rank_order_rho, rank_order_rho_within, pairwise_accuracy
        Of graded captions, as in `GradedStatistics`.
    agreement, categories
        Of a forced choice: agreement with people, mean of the categories, and each category. Of
        ratings `agreement` is the protocol's correlation in the first dimension.
    ratings
        Of ratings: dimension → all correlations.
    """

    n_references: int
    status: Status
    reason: str | None = None
    rank_order_rho: Estimate | None = None
    rank_order_rho_within: Estimate | None = None
    pairwise_accuracy: Estimate | None = None
    agreement: Estimate | None = None
    categories: Mapping[str, Number] | None = None
    ratings: Mapping[str, ReferenceCorrelations] | None = None

    def estimate(self, measure: ReferenceMeasure) -> Estimate | None:
        """The measure of that name; `None` where the metric has none."""
        return {
            "rank_order_rho": self.rank_order_rho,
            "rank_order_rho_within": self.rank_order_rho_within,
            "pairwise_accuracy": self.pairwise_accuracy,
            "agreement": self.agreement,
        }[measure]


class ReferencesStatistics(Model):
    """One metric by the number of references, ascending."""

    by_references: tuple[AtReferences, ...]


class ReferencesResult(RunResult[ReferencesStatistics]):
    """The result of a run with ever more references.

    `kind` is "graded" (order of corrupted captions), "choice" (agreement with people who chose one
    of two captions) or "ratings" (correlation with people's ratings); `n_references` are the
    numbers, ascending.
    """

    experiment: Literal["references"] = "references"
    kind: Literal["graded", "choice", "ratings"]
    n_references: tuple[int, ...]
    settings: StatisticsSettings
