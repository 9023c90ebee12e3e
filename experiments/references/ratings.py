"""Agreement with people's ratings with so many references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from omegaconf import DictConfig

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.judgments.agreement import of_view
from metaeval.experiments.judgments.sample import (
    SYMBOL,
    Columns,
    JudgmentSettings,
    View,
    quoted_statistic,
    sample_of,
)
from metaeval.results.references import AtReferences, ReferenceCorrelations
from metaeval.scoring import MetricScores


def rated_agreement(
    judged: Judgments, n_references: int, scored: Sequence[MetricScores], config: DictConfig
) -> dict[str, AtReferences]:
    """Column → its correlations with the ratings, in every dimension; of those that ran.

    `agreement` is the protocol's correlation in the first dimension.
    """
    stats = config.stats
    settings = JudgmentSettings(
        replicates=stats.replicates, confidence=stats.confidence, seed=stats.seed,
        permutations=0, swap="both", alpha=1 - stats.confidence, fitted=False,
    )  # fmt: skip
    sample, statistic = sample_of(judged, settings), quoted_statistic(judged)
    everything = View("all", np.ones(len(judged), dtype=np.bool_))
    values = {}
    for column in Columns.of(scored).all:
        of_dimension = {
            name: of_view(column, given, everything, sample.counts, statistic, stats.confidence)
            for name, given in sample.ratings.items()
        }
        first = of_dimension[judged.dimensions[0]]
        values[column.name] = AtReferences(
            n_references=n_references,
            status="ok",
            agreement=first[f"{statistic}_all"],
            ratings={
                name: ReferenceCorrelations(
                    n=c["pearson_all"].n or 0,
                    **{each: c[f"{each}_all"].value for each in SYMBOL},
                )
                for name, c in of_dimension.items()
            },
        )
    return values
