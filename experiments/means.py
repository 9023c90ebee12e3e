"""Means of outcomes of items, with intervals, all pairs of metrics, and the best control.

The outcome of an item is a number for each metric: right or wrong, a rank, a share. Units (images)
are resampled, so outcomes of one image stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    ALPHA,
    PairTest,
    against_best_control,
    compare,
    on_common_items,
    resampled_difference,
)

Units = npt.NDArray[np.intp]


class Means:
    """The mean outcome of every column, and the tests between them.

    Parameters
    ----------
    measure
        Key of the measure.
    outcomes
        Column → float64 [items]; NaN where the metric has no score.
    units
        [items] the number of each item's unit, 0 to `counts.shape[1]` - 1.
    counts
        [replicates, units] of `bootstrap_counts`.

    Notes
    -----
    Every difference is on the items that both columns have. Tests are two-sided, by the paired
    bootstrap with a normal law (`paired_difference`), which has no floor by the number of
    replicates, and corrected by Holm's method over all pairs, or over all metrics against the best
    control.
    """

    def __init__(
        self,
        measure: str,
        outcomes: Mapping[str, Floats],
        units: Units,
        counts: Counts,
        *,
        confidence: float = 1 - ALPHA,
        alpha: float = ALPHA,
    ) -> None:
        self.measure, self.outcomes, self.units = measure, outcomes, units
        self.counts, self.confidence, self.alpha = counts.astype(np.float64), confidence, alpha

    def estimate(self, name: str) -> Estimate:
        """The mean of a column, with its percentile interval."""
        value, replicates, n_units, n = self._resampled(self.outcomes[name])
        low, high = percentile_interval(replicates, self.confidence, n_units)
        return Estimate(value=value, low=low, high=high, n=n)

    def difference(self, a: str, b: str) -> PairTest:
        """The test of one pair, before any correction."""
        x, y = on_common_items(self.outcomes[a], self.outcomes[b])
        first, second = self._resampled(x), self._resampled(y)
        return resampled_difference(
            first[0], second[0], first[1], second[1], first[2], confidence=self.confidence
        )

    def comparisons(self, ranked: Sequence[str]) -> Comparisons:
        """All pairs of these columns."""
        tests = {(a, b): self.difference(a, b) for a, b in combinations(ranked, 2)}
        made = compare(tests, "pairs of metrics", alpha=self.alpha)
        pairs = tuple(Comparison.of(each, self.measure) for each in made)
        return Comparisons(measure=self.measure, alpha=self.alpha, pairs=pairs)

    def against_control(
        self, ranked: Sequence[str], controls: Sequence[str]
    ) -> AgainstControl | None:
        """The columns against the best control; `None` without metrics or controls."""
        values = {name: self._resampled(self.outcomes[name])[0] for name in (*ranked, *controls)}
        found = against_best_control(
            {self.measure: values},
            ranked,
            controls,
            lambda hypotheses: [self.difference(a, b) for _, a, b in hypotheses],
            "metrics against the best control",
            alpha=self.alpha,
            gapped=[name for name in ranked if np.isnan(self.outcomes[name]).any()],
            difference=lambda _, a, b: self.difference(a, b).difference,
        )
        if self.measure not in found:
            return None
        return AgainstControl.of(found[self.measure], self.measure, self.alpha)

    def _resampled(self, outcome: Floats) -> tuple[float, Floats, int, int]:
        """The mean, its replicates, and how many units and items took part."""
        scored = ~np.isnan(outcome)
        n_units = self.counts.shape[1]
        total = np.bincount(self.units[scored], outcome[scored], minlength=n_units)
        items = np.bincount(self.units[scored], minlength=n_units).astype(np.float64)
        with np.errstate(invalid="ignore"):
            replicates = (self.counts @ total) / (self.counts @ items)
        value = float(outcome[scored].mean()) if scored.any() else float("nan")
        return value, replicates, int((items > 0).sum()), int(scored.sum())
