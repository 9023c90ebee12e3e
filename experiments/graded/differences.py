"""Which metrics differ: from each other, from the best control, and from step to step."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.results.comparison import AgainstControl, Comparison, Comparisons, Power
from metaeval.results.graded import CEILING, MEASURES
from metaeval.runs.records import ScoreColumn
from metaeval.stats.ordering.graded import ResampledGraded
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    adjusted_in_family,
    against_best_control,
    compare,
    is_significant,
    resampled_difference,
)
from metaeval.stats.significance.paired_differences import (
    detectable_difference,
    images_needed,
    paired_difference,
)

POWER = 0.8


class Comparable(NamedTuple):
    """The measures of one column, and their replicates over the same resampled images.

    `values` maps a measure to its value, `replicates` to float64 [replicates].
    """

    values: Mapping[str, float]
    replicates: Mapping[str, Floats]


class ComparedColumn(NamedTuple):
    """A column that ran.

    Attributes
    ----------
    column, family
        What it is, and the metric that it belongs to.
    scores
        float64 [n_images, n_sets]; NaN = not scored.
    comparable
        Its measures on all its scores.
    """

    column: ScoreColumn
    family: str
    scores: Floats
    comparable: Comparable


# computes the measures of scores [n_images, n_sets]; the flag says whether higher is better
MeasureScores = Callable[[Floats, bool], Comparable]


class CommonItems:
    """Measures of two columns on the items that both have.

    An item is a version of an image. Most columns have all of them, and then nothing is computed.
    """

    def __init__(self, columns: Sequence[ComparedColumn], measure_scores: MeasureScores) -> None:
        self._columns = {c.column.name: c for c in columns}
        self._missing = {c.column.name: np.isnan(c.scores) for c in columns}
        self._measure_scores = measure_scores
        self._made: dict[tuple[str, bytes], Comparable] = {}

    def of(self, a: str, b: str) -> tuple[Comparable, Comparable, int]:
        """The measures of `a` and of `b`, and how many images have an item of both."""
        missing = self._missing[a] | self._missing[b]
        n = int((~missing.all(axis=1)).sum())
        return self._of(a, missing), self._of(b, missing), n

    def _of(self, name: str, missing: npt.NDArray[np.bool_]) -> Comparable:
        entry = self._columns[name]
        if np.array_equal(missing, self._missing[name]):
            return entry.comparable
        key = (name, np.packbits(missing).tobytes())
        if key not in self._made:
            scores = np.where(missing, np.nan, entry.scores)
            self._made[key] = self._measure_scores(scores, entry.column.higher_is_better)
        return self._made[key]


def compare_all_pairs(
    columns: Sequence[ComparedColumn], common: CommonItems, confidence: float
) -> dict[str, Comparisons]:
    """All pairs of the ranked metrics, by each measure.

    p-values are Holm-corrected over the pairs of a measure; `detectable` and `images_needed` are at
    the level of the hardest of the pairs, α/m.
    """
    names = [c.column.name for c in columns if c.column.is_ranked]
    pairs = list(combinations(names, 2))
    alpha = round(1 - confidence, 12)
    family = f"{len(names)} metrics, each pair"
    return {
        measure: _compared(pairs, measure, common, confidence, alpha, family)
        for measure in MEASURES
    }


def against_controls(
    columns: Sequence[ComparedColumn], common: CommonItems, confidence: float
) -> dict[str, AgainstControl]:
    """Every column that is not a control against the best control of each measure.

    The ceiling is not a control to beat. Empty without controls or without other columns.
    """
    controls = [c for c in columns if c.column.control and c.family != CEILING]
    others = [c for c in columns if not c.column.control]
    alpha = round(1 - confidence, 12)
    names = [c.column.name for c in others]
    against: dict[str, AgainstControl] = {}
    for measure in MEASURES:
        values = {c.column.name: c.comparable.values[measure] for c in (*others, *controls)}
        tested = against_best_control(
            {measure: values},
            names,
            [c.column.name for c in controls],
            lambda hypotheses: [_difference(common, *each, confidence) for each in hypotheses],
            f"{len(others)} columns, each against the best control",
            alpha=alpha,
        )
        against |= {key: AgainstControl.of(test, key, alpha) for key, test in tested.items()}
    return against


def _difference(common: CommonItems, measure: str, a: str, b: str, confidence: float) -> PairTest:
    """The test of one pair, before any correction."""
    of_a, of_b, n = common.of(a, b)
    return resampled_difference(
        of_a.values[measure],
        of_b.values[measure],
        of_a.replicates[measure],
        of_b.replicates[measure],
        n,
        confidence=confidence,
    )


def _compared(
    pairs: Sequence[tuple[str, str]],
    measure: str,
    common: CommonItems,
    confidence: float,
    alpha: float,
    family: str,
) -> Comparisons:
    """The comparisons of one family."""
    tests, powers = {}, []
    level = alpha / max(len(pairs), 1)
    for a, b in pairs:
        of_a, of_b, n = common.of(a, b)
        tests[a, b] = _difference(common, measure, a, b, confidence)
        paired = paired_difference(
            of_a.values[measure],
            of_b.values[measure],
            of_a.replicates[measure],
            of_b.replicates[measure],
            n,
            confidence,
        )
        known = not math.isnan(paired.error)
        powers.append(
            Power(
                effect=paired.effect,
                detectable=detectable_difference(paired.error, level, POWER) if known else None,
                images_needed=images_needed(n, paired.difference, paired.error, level, POWER)
                if known
                else None,
            )
        )
    made = compare(tests, family, alpha=alpha)
    return Comparisons(
        measure=measure,
        alpha=alpha,
        pairs=tuple(
            Comparison.of(tested, measure).model_copy(update={"power": power})
            for tested, power in zip(made, powers, strict=True)
        ),
    )


def extreme_steps(
    result: ResampledGraded, n_images: int, confidence: float
) -> tuple[str | None, str | None]:
    """The step between neighbouring levels that a metric sees least, and most.

    A step is named only if its AUC differs significantly from that of *every* other step, after
    Holm's correction over all pairs of steps; otherwise `None`.
    """
    steps = result.record.adjacent_auc
    aucs, resampled = [step.auc.value for step in steps], result.resampled.adjacent_auc
    tests = {
        (i, j): paired_difference(
            aucs[i], aucs[j], resampled[i], resampled[j], n_images, confidence
        )
        for i, j in combinations(range(len(steps)), 2)
    }
    sign = {}
    for (i, j), p in adjusted_in_family({pair: t.p for pair, t in tests.items()}).items():
        sign[i, j] = is_significant(p, 1 - confidence) * np.sign(tests[i, j].difference)
        sign[j, i] = -sign[i, j]

    def extreme(direction: int) -> str | None:
        for i, step in enumerate(steps):
            others = [sign[i, j] for j in range(len(steps)) if j != i]
            if others and all(s == direction for s in others):
                return step.name
        return None

    return extreme(-1), extreme(1)
