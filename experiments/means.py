"""Statistics of items, with intervals, all pairs of metrics, and the best control.

Units (images) are resampled, so items of one image stay together.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    ALPHA,
    PairTest,
    TestedDifference,
    against_best_control,
    is_undecidable,
    on_common_items,
    replicates_needed,
    resampled_difference,
    smallest_p,
)

Units = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


TOO_FEW = (
    "No difference can be significant with {:,} permutations for {:,} pair{} of metrics; use "
    "task.permutations={} or more."
)


def too_few_draws(n_ranked: int, permutations: int, alpha: float) -> str:
    """A caveat where so few permutations cannot find any pair of metrics significant, or ""."""
    pairs = n_ranked * (n_ranked - 1) // 2
    if not is_undecidable(smallest_p(permutations), pairs, alpha):
        return ""
    needed = replicates_needed(pairs, alpha=alpha)
    return TOO_FEW.format(permutations, pairs, "" if pairs == 1 else "s", needed)


class ResampledValue(NamedTuple):
    """A statistic, its replicates, and how many units and items took part."""

    value: float
    replicates: Floats
    n_units: int
    n: int


class Resampled(ABC):
    """A statistic of every column, and the tests between columns.

    Parameters
    ----------
    measure
        Key of the measure.
    columns
        Column → float64 [items]; NaN where the metric has no score.
    method
        Of `resampled_difference`: "normal" has no floor by the number of replicates.

    Notes
    -----
    Every difference is on the items that both columns have. Tests are two-sided, by the paired
    bootstrap, and corrected by Holm's method over all pairs, or over all metrics against the best
    control.
    """

    def __init__(
        self,
        measure: str,
        columns: Mapping[str, Floats],
        *,
        confidence: float = 1 - ALPHA,
        alpha: float = ALPHA,
        method: Literal["normal", "bootstrap"] = "normal",
    ) -> None:
        self.measure, self.columns = measure, columns
        self.confidence, self.alpha, self.method = confidence, alpha, method
        self._known: dict[bytes, ResampledValue] = {}

    @abstractmethod
    def resampled(self, column: Floats) -> ResampledValue:
        """The statistic of scores or outcomes [items]."""

    def of(self, column: Floats) -> ResampledValue:
        """As `resampled`; equal columns are computed once."""
        key = column.tobytes()
        if key not in self._known:
            self._known[key] = self.resampled(column)
        return self._known[key]

    def estimate(self, name: str) -> Estimate:
        """The statistic of a column, with its percentile interval."""
        made = self.of(self.columns[name])
        return Estimate.resampled(
            made.value, made.replicates, self.confidence, made.n_units, made.n
        )

    def difference(self, a: str, b: str) -> PairTest:
        """The test of one pair, before any correction."""
        first, second = map(self.of, on_common_items(self.columns[a], self.columns[b]))
        return resampled_difference(
            first.value,
            second.value,
            first.replicates,
            second.replicates,
            first.n_units,
            method=self.method,
            confidence=self.confidence,
        )

    def comparisons(self, ranked: Sequence[str]) -> Comparisons:
        """All pairs of these columns."""
        tests = {(a, b): self.difference(a, b) for a, b in combinations(ranked, 2)}
        return Comparisons.tested(tests, self.measure, "pairs of metrics", self.alpha)

    def against_control(
        self, ranked: Sequence[str], controls: Sequence[str]
    ) -> AgainstControl | None:
        """The columns against the best control; `None` without metrics or controls."""
        values = {name: self.of(self.columns[name]).value for name in (*ranked, *controls)}
        found = against_best_control(
            {self.measure: values},
            ranked,
            controls,
            lambda hypotheses: [self.difference(a, b) for _, a, b in hypotheses],
            "metrics against the best control",
            alpha=self.alpha,
            gapped=[name for name in ranked if np.isnan(self.columns[name]).any()],
            difference=lambda _, a, b: self.difference(a, b).difference,
        )
        if self.measure not in found:
            return None
        return AgainstControl.of(found[self.measure], self.measure, self.alpha)


class Means(Resampled):
    """The mean outcome of every column: right or wrong, a rank, a share.

    `units` [items] is the number of each item's unit, from 0 to `counts.shape[1]` - 1; `counts`
    [replicates, units] are those of `bootstrap_counts`. Other parameters as in `Resampled`.
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
        super().__init__(measure, outcomes, confidence=confidence, alpha=alpha)
        self.units, self.counts = units, counts.astype(np.float64)

    def resampled(self, column: Floats) -> ResampledValue:
        """The mean."""
        scored = ~np.isnan(column)
        n_units = self.counts.shape[1]
        total = np.bincount(self.units[scored], column[scored], minlength=n_units)
        items = np.bincount(self.units[scored], minlength=n_units).astype(np.float64)
        with np.errstate(invalid="ignore"):
            replicates = (self.counts @ total) / (self.counts @ items)
        value = float(column[scored].mean()) if scored.any() else float("nan")
        return ResampledValue(value, replicates, int((items > 0).sum()), int(scored.sum()))


class GroupMeans(Resampled):
    """The mean over groups of items of the mean outcome in each; `groups` are bool [items].

    Other parameters as in `Means`, whose statistic this is with one group.
    """

    def __init__(
        self,
        measure: str,
        outcomes: Mapping[str, Floats],
        groups: Sequence[Mask],
        units: Units,
        counts: Counts,
        *,
        confidence: float = 1 - ALPHA,
        alpha: float = ALPHA,
        method: Literal["normal", "bootstrap"] = "normal",
    ) -> None:
        super().__init__(measure, outcomes, confidence=confidence, alpha=alpha, method=method)
        self.groups, self.means = groups, Means(measure, outcomes, units, counts)

    def resampled(self, column: Floats) -> ResampledValue:
        """The mean of the groups' means."""
        parts = [self.means.resampled(np.where(group, column, np.nan)) for group in self.groups]
        return ResampledValue(
            float(np.mean([part.value for part in parts])),
            np.mean([part.replicates for part in parts], axis=0),
            min(part.n_units for part in parts),
            sum(part.n for part in parts),
        )


def merged(
    measure: str, alpha: float, n: Sequence[int], *families: Sequence[TestedDifference]
) -> Comparisons:
    """Comparisons with several tests a pair: the difference of the first, the first interval.

    `n` are the common items of each pair; every one of `families` has the same pairs in the same
    order, tested by another method.
    """
    pairs = []
    for common, tested in zip(n, zip(*families, strict=True), strict=True):
        made = [Comparison.of(each, measure) for each in tested]
        intervals = [each.difference.interval for each in made]
        low, high = next((ends for ends in intervals if ends is not None), (None, None))
        value = made[0].difference.value
        pairs.append(
            Comparison(
                a=made[0].a,
                b=made[0].b,
                measure=measure,
                difference=Estimate(value=value, low=low, high=high),
                tests=tuple(test for each in made for test in each.tests),
                n=common,
            )
        )
    return Comparisons(measure=measure, alpha=alpha, pairs=tuple(pairs))
