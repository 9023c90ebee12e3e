"""How metrics agree on captioners' captions, with each other and on people's captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments.captioners.systems import ScoredSystems, by_image_and_set
from metaeval.results.base import Estimate
from metaeval.results.measured import Extra
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import SystemScores
from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats

Row = dict[str, Any]


class SentenceScores(NamedTuple):
    """A column of sentence scores, float64 [systems, images], and the metric that it is of."""

    column: ScoreColumn
    values: Floats
    family: str

    @property
    def upward(self) -> Floats:
        """The values, more being better."""
        return _upward(self.column, self.values)


def agreement_matrices(
    systems: Sequence[ScoredSystems],
    sentences: Sequence[SentenceScores],
    counts: Counts,
    confidence: float,
) -> list[Extra]:
    """Kendall's τ-b between all metrics (parts left out) in three ways: docs/captioners.md.

    `counts` [replicates, images] drew the replicates of the systems' scores. None without a score.
    """
    systems = [score for score in systems if score.column.part_of is None]
    sentences = [score for score in sentences if score.column.part_of is None]
    if not sentences:
        return []
    points = answers(np.array([_upward(s.column, s.points[:, None]) for s in systems])).tau()
    drawn = answers(np.array([_upward(s.column, s.drawn) for s in systems])).tau_of_each()
    within = answers(np.array([score.upward for score in sentences]))
    n_images = counts.shape[1]

    def matrix(
        level: str, on: str, names: Sequence[str], tau: Floats, replicates: Floats | None
    ) -> Extra:
        records = []
        for i, name in enumerate(names):
            record: Row = {"metric": name}
            for j, other in enumerate(names):
                low, high = None, None
                if replicates is not None:
                    low, high = percentile_interval(replicates[i, j], confidence, n_images)
                record[other] = Estimate(value=tau[i, j], low=low, high=high)
            records.append(record)
        title = f"Agreement of metrics on {on}: Kendall's τ-b"
        return Extra.of(
            f"agreement-{level}", title, records, kind="matrix", folded=level != "within-image"
        )

    whole, names = [s.column.name for s in systems], [s.column.name for s in sentences]
    every = kendall_matrix([score.upward for score in sentences])
    return [
        matrix(
            "within-image",
            "captions of one image",
            names,
            within.tau(),
            within.tau_resampled(counts),
        ),
        matrix("systems", "the order of systems", whole, points, drawn),
        matrix("captions", "the order of all captions", names, every, None),
    ]


def mean_with_others(matrix: Extra, metric: str) -> float | None:
    """The mean τ-b of a metric with the other ones; `None` where none is defined."""
    for record in matrix.records:
        if record["metric"] == metric:
            names = [other["metric"] for other in matrix.records if other["metric"] != metric]
            known = [record[name] for name in names if record[name] is not None]
            return sum(known) / len(known) if known else None
    return None


def disagreements(
    sentences: Sequence[SentenceScores], images: pd.Index[Any]
) -> tuple[list[str], pd.DataFrame]:
    """Which columns vote, and the metrics' disagreement on every image.

    Each metric has one vote: its first headline column.
    """
    votes: dict[str, SentenceScores] = {}
    for score in sentences:
        if score.column.part_of is None and score.column.headline:
            votes.setdefault(score.family, score)
    values = np.full(len(images), np.nan)
    if votes:
        values = disagreement(np.array([score.upward for score in votes.values()]))
    names = [score.column.name for score in votes.values()]
    return names, pd.DataFrame({"image_id": images, "disagreement": values})


def against_human(
    family: SystemScores,
    captions: pd.DataFrame,
    images: pd.Index[int | str],
    sets: list[str],
    counts: Counts,
    config: DictConfig,
) -> Iterator[Row]:
    """Each system (level 0) against Human (level 1, the last set) by each column, on the images
    that both have: the two-level protocol of González-Chávez et al., section 4.2."""
    if family.scored.scores is None:
        return
    scores = by_image_and_set(family.scored.scores, captions, images, sets)
    for c, column in enumerate(family.scored.columns):
        for s, name in enumerate(sets[:-1]):
            pair = scores[:, [s, -1], c]
            pair = np.where(np.isnan(pair).any(axis=1, keepdims=True), np.nan, pair)
            record = graded_statistics(
                pair,
                [0, 1],
                [name, sets[-1]],
                higher_is_better=column.higher_is_better,
                counts=counts,
                confidence=config.stats.confidence,
                tie_seeds=config.stats.tie_seeds,
                seed=config.stats.seed,
            )
            system, human = record.sets.values()
            low, high = record.rank_order_rho_bounds
            yield {
                "metric": column.name,
                "part_of": column.part_of,
                "system": name,
                "n": int((~np.isnan(pair[:, 0])).sum()),
                "mean": system.mean,
                "human_mean": human.mean,
                "rank_order_rho": Estimate.of(record.rank_order_rho),
                "rank_order_rho_tie_mean": record.rank_order_rho_tie_mean,
                "rank_order_rho_tie_std": record.rank_order_rho_tie_std,
                "rank_order_rho_least": low,
                "rank_order_rho_greatest": high,
                "rank_order_rho_within": Estimate.of(record.rank_order_rho_within),
                "spearman_rho": Estimate.of(record.spearman_rho),
                "kendall_tau_b": Estimate.of(record.kendall_tau_b),
                "tie_fraction": record.tie_fraction,
                "pairwise_accuracy": Estimate.of(record.pairwise_accuracy),
                "pairwise_ties": record.pairwise_ties,
                "auc": Estimate.of(record.adjacent_auc[0].auc),
                "inversion_rate": Estimate.of(record.inversion_rate),
                "variance_image": record.variance.image,
                "variance_level": record.variance.level,
                "variance_rest": record.variance.rest,
            }


def human_matrix(rows: Sequence[Mapping[str, Any]]) -> Extra:
    """Rank-order ρ against Human, a row a metric and a column a system; parts left out."""
    records: dict[str, Row] = {}
    for row in rows:
        if row["part_of"] is None:
            record = records.setdefault(row["metric"], {"metric": row["metric"]})
            record[row["system"]] = row["rank_order_rho"]
    title = "Rank-order ρ against Human: above 0, people are ranked higher"
    return Extra.of("human", title, records.values(), kind="matrix")


def _upward(column: ScoreColumn, values: Floats) -> Floats:
    return values if column.higher_is_better else -values
