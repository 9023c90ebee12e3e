"""Which metrics differ: from each other, from the best control, and from step to step."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from metaeval.experiments.measure import (
    Outcomes,
    ResampledValue,
    Statistic,
    level_of,
    measure,
    once_each,
)
from metaeval.results.comparison import AgainstControl, Comparisons, Power
from metaeval.results.graded import CEILING, MEASURES
from metaeval.results.resampled import Resampled
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn
from metaeval.stats.ordering.graded import ResampledGraded
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import on_common_items, resampled_difference
from metaeval.stats.significance.paired_differences import (
    detectable_difference,
    images_needed,
    paired_difference,
)

POWER = 0.8


Comparable = Mapping[str, ResampledValue]  # measure → its value, of the same resampled images


class ComparedColumn(NamedTuple):
    """A column that ran.

    Attributes
    ----------
    column, family
        What it is, and the metric that it belongs to.
    scores
        float64 [n_images, n_sets], higher is better; NaN = not scored.
    comparable
        Its measures on all its scores.
    """

    column: ScoreColumn
    family: str
    scores: Floats
    comparable: Comparable


class OrderStatistic(Statistic):
    """One of the measures of scores [n_images, n_sets]; the units are images with a score.

    `compute` gives all measures of a table.
    """

    span = math.inf

    def __init__(self, measure: str, compute: Callable[[Floats], Comparable]) -> None:
        self.measure, self.compute = measure, compute

    def of(self, column: Floats) -> ResampledValue:
        return self.compute(column)[self.measure]


def compare_columns(
    columns: Sequence[ComparedColumn], compute: Callable[[Floats], Comparable], confidence: float
) -> tuple[dict[str, Comparisons], dict[str, AgainstControl], list[Resampled]]:
    """All pairs of the ranked metrics with their power, every other column against the best
    control, by each measure, and the replicates.

    Parts and networks without training are compared with controls, too. The ceiling is not a
    control to beat.
    """
    compute = once_each(compute, [(c.scores, c.comparable) for c in columns])
    tables = {c.column.name: c.scores for c in columns}
    ceiling = next((c.scores for c in columns if c.family == CEILING), None)
    outcomes = {
        key: Outcomes(Measure(key, key), tables, statistic, family=key, ceiling=ceiling)
        for key in MEASURES
        for statistic in [OrderStatistic(key, compute)]
    }
    pairs = measure(
        [each._replace(family="") for each in outcomes.values()],
        [c.column for c in columns],
        confidence,
    )
    controls = measure(
        [each._replace(pairs=False) for each in outcomes.values()],
        [replace(c.column, part_of=None, untrained=False) for c in columns if c.family != CEILING],
        confidence,
    )
    comparisons = {
        key: _with_power(made, outcomes[key], confidence) for key, made in pairs.comparisons.items()
    }
    return comparisons, controls.controls, controls.resampled


def _with_power(comparisons: Comparisons, outcomes: Outcomes, confidence: float) -> Comparisons:
    """The pairs with what they could show, at the level of the hardest of them, α/m."""
    level = comparisons.alpha / max(len(comparisons.pairs), 1)
    pairs = []
    for pair in comparisons.pairs:
        common = on_common_items(outcomes.columns[pair.a], outcomes.columns[pair.b])
        a, b = map(outcomes.statistic.known, common)
        n = a.n_units
        paired = paired_difference(a.value, b.value, a.replicates, b.replicates, n, confidence)
        power = Power(
            effect=paired.effect,
            detectable=detectable_difference(paired.error, level, POWER),
            images_needed=None
            if math.isnan(paired.error)
            else images_needed(n, paired.difference, paired.error, level, POWER),
        )
        pairs.append(pair.model_copy(update={"power": power}))
    return comparisons.model_copy(update={"pairs": tuple(pairs)})


def extreme_steps(
    result: ResampledGraded, n_images: int, confidence: float
) -> tuple[str | None, str | None]:
    """The step between neighbouring levels that a metric sees least, and most.

    A step is named only if its AUC differs significantly from that of *every* other step, after
    Holm's correction over all pairs of steps; otherwise `None`.
    """
    steps = [(s.name, s.auc.value) for s in result.record.adjacent_auc]
    drawn = zip(steps, result.resampled.adjacent_auc, strict=True)
    tests = {
        (a, b): resampled_difference(x, y, of_a, of_b, n_images, confidence=confidence)
        for ((a, x), of_a), ((b, y), of_b) in combinations(drawn, 2)
    }
    made = Comparisons.tested(tests, "auc", "steps", level_of(confidence))
    names = [name for name, _ in steps] if tests else []

    def extreme(*, lowest: bool) -> str | None:
        return next((n for n in names if not made.not_below(n, names, lowest=lowest)), None)

    return extreme(lowest=True), extreme(lowest=False)
