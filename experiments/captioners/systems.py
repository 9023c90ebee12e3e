"""The scores of systems, with intervals, and the tests between neighbours in a ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments.captioners.scores import by_image_and_set
from metaeval.results.base import Estimate
from metaeval.results.captioners import CORPUS, MEAN, Aggregate, CaptionersStatistics
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.scoring import SystemScores
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import PairTest, TestedDifference, compare, smallest_p
from metaeval.stats.significance.paired_bootstrap import (
    OfSums,
    SystemDifference,
    compare_systems,
    mean_of_sums,
    parts_of_means,
    resampled_scores,
    system_score,
)

_MEASURE, _FAMILY = "score", "neighbours in the ranking"


@dataclass(frozen=True, slots=True)
class Scale:
    """One way to give systems a score, for the c columns of a metric that share it.

    `parts` is float64 [n_images, n_systems, k], `of_sums` what their sums make, `labels` [c] the
    names of the scores in tables.
    """

    family: SystemScores
    aggregate: Aggregate
    labels: tuple[str, ...]
    parts: Floats
    of_sums: OfSums


def scales(
    family: SystemScores,
    scores: Floats,
    machines: pd.DataFrame,
    images: pd.Index[int | str],
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


def system_results(
    scale: Scale, systems: list[str], counts: Counts, config: DictConfig, permutations: int
) -> tuple[list[MetricResult[CaptionersStatistics]], Floats]:
    """The results of a scale's scores, and the scores in each replicate of the images.

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
    results = []
    for c, (label, order) in enumerate(zip(scale.labels, orders, strict=True)):
        ranking = tuple(systems[s] for s in order)
        there = ~np.isnan(scale.parts[:, :, c if scale.aggregate == MEAN else 0])
        estimates = {}
        for s in names:
            n = int(there[:, s].sum())
            low, high = percentile_interval(drawn[s, c], config.stats.confidence, n)
            estimates[systems[s]] = Estimate(value=points[c, s], low=low, high=high, n=n)
        tests = [differences[pair][c] for pair in pairwise(order)]
        numbers = CaptionersStatistics(
            sentence_column=scale.family.scored.columns[c].name,
            aggregate=scale.aggregate,
            n=len(sentences),
            n_nan=int(np.isnan(sentences[:, c]).sum()),
            systems=estimates,
            ranking=ranking,
            neighbours=_neighbours(
                dict(zip(pairwise(ranking), tests, strict=True)),
                smallest_p(permutations),
                smallest_p(config.stats.replicates, 2),
                1 - config.stats.confidence,
            ),
        )
        results.append(_named(scale, c, label, numbers))
    return results, np.swapaxes(drawn, 0, 1)


def _named(
    scale: Scale, column: int, label: str, numbers: CaptionersStatistics
) -> MetricResult[CaptionersStatistics]:
    """The result of a score under its name in tables.

    Headlines are the scores that stand for their metrics where rankings are counted: no parts and
    no controls; the corpus score where there is one; of several orders what the metric declares.
    """
    result = scale.family.scored.result(column, numbers)
    declared = result.column
    headline = (
        declared.headline
        and declared.part_of is None
        and not declared.control
        and (scale.aggregate == CORPUS or scale.family.corpus is None)
    )
    return result.model_copy(update={"column": replace(declared, name=label, headline=headline)})


def _ranking(points: Floats, higher: bool) -> list[int]:
    """The systems that have a score, best first; equal ones in the order they were given."""
    known = np.flatnonzero(~np.isnan(points))
    values = points[known] if higher else -points[known]
    return [int(s) for s in known[np.argsort(-values, kind="stable")]]


def _neighbours(
    differences: Mapping[tuple[str, str], SystemDifference],
    least_permutation: float,
    least_bootstrap: float,
    alpha: float,
) -> Comparisons:
    """The tests between neighbours of a ranking; Holm's family is that ranking's neighbours.

    `least_permutation` and `least_bootstrap` are the smallest p-values that the tests can give.
    """

    def tested(
        p: Callable[[SystemDifference], float], method: str, least: float
    ) -> list[TestedDifference]:
        tests = {
            pair: PairTest(d.difference, d.low, d.high, p(d), method, d.n_images, least)
            for pair, d in differences.items()
        }
        return compare(tests, _FAMILY, alpha=alpha)

    by_swaps = tested(lambda d: d.p_permutation, "permutation", least_permutation)
    by_resampling = tested(lambda d: d.p_bootstrap, "bootstrap", least_bootstrap)
    pairs = []
    for one, two in zip(by_swaps, by_resampling, strict=True):
        first, second = Comparison.of(one, _MEASURE), Comparison.of(two, _MEASURE)
        pairs.append(first.model_copy(update={"tests": (*first.tests, *second.tests)}))
    return Comparisons(measure=_MEASURE, alpha=alpha, pairs=tuple(pairs))
