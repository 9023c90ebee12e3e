"""The scores of systems, with intervals, and the tests between neighbours in a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments.captioners.scores import by_image_and_set, record_of
from metaeval.scoring import Family
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm
from metaeval.stats.significance.system_scores import (
    OfSums,
    SystemDifference,
    compare_systems,
    mean_of_sums,
    parts_of_means,
    resampled_scores,
    system_score,
)

MEAN, CORPUS = "mean of sentences", "corpus"


@dataclass(frozen=True, slots=True)
class Scale:
    """One way to give systems a score, for the c columns of a metric that share it.

    `parts` is float64 [n_images, n_systems, k], `of_sums` what their sums make, `labels` [c] the
    names of the scores in tables.
    """

    family: Family
    aggregate: str
    labels: tuple[str, ...]
    parts: Floats
    of_sums: OfSums


def scales(
    family: Family,
    scores: Floats,
    machines: pd.DataFrame,
    images: pd.Index[Any],
    systems: list[str],
) -> list[Scale]:
    """The corpus scores, if the metric has them, and the means of sentences."""
    columns = tuple(column.name for column in family.scored.columns)
    n, s, _ = scores.shape
    means = np.stack([parts_of_means(scores[:, k]) for k in range(s)], axis=1).reshape(n, s, -1)
    if family.statistics is None or family.corpus is None:
        return [Scale(family, MEAN, columns, means, mean_of_sums)]
    parts = by_image_and_set(family.statistics, machines, images, systems)
    return [
        Scale(family, CORPUS, tuple(f"{c} ({CORPUS})" for c in columns), parts, family.corpus),
        Scale(family, MEAN, tuple(f"{c} ({MEAN})" for c in columns), means, mean_of_sums),
    ]


def absent(family: Family, column: int) -> dict[str, Any]:
    """The record of a metric that did not run."""
    name = family.scored.columns[column].name
    return record_of(family, column, name, MEAN, n=0, n_nan=0, systems={}, ranking=[])


def system_records(
    scale: Scale, systems: list[str], counts: Counts, config: DictConfig, permutations: int
) -> tuple[list[dict[str, Any]], Floats]:
    """The records of a scale's scores, and the scores in each replicate of the images.

    These are float64 [c, systems, replicates].
    """
    columns = scale.family.scored.columns
    names = range(len(systems))
    points = np.array([system_score(scale.parts[:, s], scale.of_sums) for s in names]).T
    drawn = np.array([resampled_scores(scale.parts[:, s], scale.of_sums, counts).T for s in names])
    sentences = scale.family.scored.scores
    assert sentences is not None
    orders = [
        _ranking(scores, column.higher_is_better)
        for scores, column in zip(points, columns, strict=True)
    ]
    pairs = sorted({pair for order in orders for pair in pairwise(order)})
    compared = compare_systems(
        [(scale.parts[:, a], scale.parts[:, b]) for a, b in pairs],
        scale.of_sums,
        counts,
        permutations=permutations,
        confidence=config.stats.confidence,
        seed=config.stats.seed,
    )
    differences = dict(zip(pairs, compared, strict=True))
    records = []
    for c, (label, order) in enumerate(zip(scale.labels, orders, strict=True)):
        ranking = [systems[s] for s in order]
        tests = [differences[pair][c] for pair in pairwise(order)]
        there = ~np.isnan(scale.parts[:, :, c if scale.aggregate == MEAN else 0])
        records.append(
            record_of(
                scale.family,
                c,
                label,
                scale.aggregate,
                n=len(sentences),
                n_nan=int(np.isnan(sentences[:, c]).sum()),
                systems={
                    systems[s]: {
                        "n": int(there[:, s].sum()),
                        "score": points[c, s],
                        "score_ci": percentile_interval(drawn[s, c], config.stats.confidence),
                    }
                    for s in names
                },
                ranking=ranking,
                neighbours=_neighbours(tests, ranking),
            )
        )
    return records, np.swapaxes(drawn, 0, 1)


def _ranking(points: Floats, higher: bool) -> list[int]:
    """The systems that have a score, best first; equal ones in the order they were given."""
    known = np.flatnonzero(~np.isnan(points))
    values = points[known] if higher else -points[known]
    return [int(s) for s in known[np.argsort(-values, kind="stable")]]


def _neighbours(
    differences: Sequence[SystemDifference], ranking: Sequence[str]
) -> list[dict[str, Any]]:
    """The tests between neighbours of a ranking; Holm's family is that ranking's neighbours."""
    bootstrap = holm([d.p_bootstrap for d in differences])
    permutation = holm([d.p_permutation for d in differences])
    return [
        {
            "better": ranking[k],
            "worse": ranking[k + 1],
            "n_images": d.n_images,
            "difference": d.difference,
            "difference_ci": [d.low, d.high],
            "p_permutation": d.p_permutation,
            "p_permutation_holm": permutation[k],
            "p_bootstrap": d.p_bootstrap,
            "p_bootstrap_holm": bootstrap[k],
        }
        for k, d in enumerate(differences)
    ]
