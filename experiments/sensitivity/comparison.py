"""Metrics against the best control in each kind of change, and against one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metaeval.experiments.sensitivity.kinds import MeanAuc, ResampledMean, Sets
from metaeval.experiments.sensitivity.rewrites import Sorts, replicated_rewrites
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.sensitivity import REWRITES
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    resampled_difference,
)

_MEASURE = "mean_auc"


class PairedMeans:
    """Means over groups of sets of two columns on the same images, resampled together.

    Parameters
    ----------
    tables
        Column → float64 [n_images, 1 + n_sets], the human captions first, higher is better.
    groups
        Group → its kinds, each the places of its sets; `REWRITES` has none.
    """

    def __init__(
        self,
        tables: Mapping[str, Floats],
        sets: Sets,
        sorts: Sorts,
        groups: Mapping[str, Sequence[Sequence[int]]],
        counts: Counts,
        confidence: float,
    ) -> None:
        self._tables, self._sets, self._sorts, self._groups = tables, sets, sorts, groups
        self._counts, self._confidence = counts, confidence
        self._whole: dict[str, MeanAuc] = {}

    def of(self, name: str, group: str, other: str | None = None) -> ResampledMean:
        """A column's mean, on the captions that `other` could score, too."""
        table = self._tables[name]
        unknown = np.isnan(self._tables[name if other is None else other])
        masked = bool((unknown & ~np.isnan(table)).any())
        if masked:
            table = np.where(unknown, np.nan, table)
        if group == REWRITES:
            return replicated_rewrites(table, self._sets, self._sorts, self._counts)
        if masked:
            means = MeanAuc(table, self._counts, self._confidence)
        else:
            if name not in self._whole:
                self._whole[name] = MeanAuc(table, self._counts, self._confidence)
            means = self._whole[name]
        return means.replicated(self._groups[group])

    def gapped(self, names: Sequence[str]) -> list[str]:
        """Those that could not score all captions that some other column scored."""
        known = np.logical_or.reduce([~np.isnan(table) for table in self._tables.values()])
        return [name for name in names if (known & np.isnan(self._tables[name])).any()]

    def test(self, group: str, a: str, b: str) -> PairTest:
        """a minus b by resampled images; p by the normal distribution of the replicates."""
        first, second = self.of(a, group, b), self.of(b, group, a)
        if not first.n:
            return PairTest(np.nan, np.nan, np.nan, np.nan, "bootstrap, normal", 0, 1.0)
        return resampled_difference(
            first.value, second.value, first.replicates, second.replicates, first.n,
            confidence=self._confidence,
        )  # fmt: skip


def against_controls(
    means: PairedMeans, groups: Sequence[str], ranked: Sequence[str], controls: Sequence[str],
    alpha: float,
) -> dict[str, AgainstControl]:  # fmt: skip
    """Group → every metric against the best control; one family over metrics and groups."""
    values = {
        group: {name: means.of(name, group).value for name in (*ranked, *controls)}
        for group in groups
    }
    tested = against_best_control(
        values,
        ranked,
        controls,
        lambda pairs: [means.test(*each) for each in pairs],
        "metrics against the best control, over kinds",
        alpha=alpha,
        gapped=means.gapped(ranked),
        difference=lambda group, m, c: means.of(m, group, c).value - means.of(c, group, m).value,
    )
    return {group: AgainstControl.of(of, _MEASURE, alpha) for group, of in tested.items()}


def differences(means: PairedMeans, group: str, ranked: Sequence[str], alpha: float) -> Comparisons:
    """All pairs of metrics in one group."""
    pairs = [(a, b) for k, a in enumerate(ranked) for b in ranked[k + 1 :]]
    tests = {(a, b): means.test(group, a, b) for a, b in pairs}
    tested = compare(tests, "pairs of metrics", alpha=alpha)
    made = tuple(Comparison.of(each, _MEASURE) for each in tested)
    return Comparisons(measure=_MEASURE, alpha=alpha, pairs=made)
