"""Means of many sets with every kind of change counting the same, and the order of severities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from metaeval.corruptions.base import SEVERITIES
from metaeval.results.base import Estimate
from metaeval.results.run import CorruptionInfo
from metaeval.stats.ordering.detection import central_intervals, drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats

Sets = Sequence[CorruptionInfo]


def summarised(sets: Sets) -> list[int]:
    """The places of the sets that summaries count: no experimental ones, and not without images."""
    return [k for k, entry in enumerate(sets) if entry.n_applied and not entry.experimental]


def by_kind(sets: Sets, places: Iterable[int]) -> dict[str, list[int]]:
    """Kind → its places, in order."""
    groups: dict[str, list[int]] = {}
    for k in places:
        groups.setdefault(sets[k].kind, []).append(k)
    return groups


class ResampledMean(NamedTuple):
    """A mean, its replicates [n_replicates] over resampled images, and the images that count."""

    value: float
    replicates: Floats
    n: int

    def estimate(self, confidence: float) -> Estimate:
        """With its percentile interval; without a value where no image counts."""
        if not self.n:
            return Estimate(value=None, n=0)
        low, high = central_intervals(self.replicates[:, None], confidence, self.n)[0]
        return Estimate(value=self.value, low=low, high=high, n=self.n)


class MeanAuc:
    """Means of AUC over sets and kinds, with whole images resampled.

    `table` is float64 [n_images, 1 + n_sets], the human captions first, higher is better. A set
    without a score in a replicate is left out of its kind there.
    """

    def __init__(self, table: Floats, counts: Counts, confidence: float) -> None:
        wins = won(table[:, [0]] - table[:, 1:])
        known = ~np.isnan(wins)
        values = np.where(known, wins, 0.0)
        sums, sizes = drawn_sums([values, known], counts)
        self._n = known
        self._confidence = confidence
        with np.errstate(invalid="ignore", divide="ignore"):
            self._point = values.sum(axis=0) / known.sum(axis=0)
            self._replicates = sums / sizes

    def over_kinds(self, groups: Iterable[Sequence[int]]) -> Estimate:
        """The mean over kinds of the mean over the sets of each."""
        return self.replicated(groups).estimate(self._confidence)

    def replicated(self, groups: Iterable[Sequence[int]]) -> ResampledMean:
        """The same with its replicates."""
        places = [list(group) for group in groups]
        if not places:
            return ResampledMean(np.nan, np.full(len(self._replicates), np.nan), 0)
        point = _mean_of([_mean_of(self._point[None, g], 1) for g in places], 0)
        replicates = _mean_of([_mean_of(self._replicates[:, g], 1) for g in places], 0)
        n = int(self._n[:, [k for g in places for k in g]].any(axis=1).sum())
        return ResampledMean(float(point[0]), replicates, n)


def _mean_of(values: object, axis: int) -> Floats:
    """The mean without NaN; NaN where all are."""
    table = np.asarray(values, np.float64)
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(known, table, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return means


def severity_order(table: Floats, sets: Sets) -> Floats:
    """[n_images] How often the milder of two changes that harm has the higher score, equal scores
    one half; NaN without a pair.

    Pairs are of the same image and of different severity. Per image and kind of the milder change
    the mean over pairs; then the mean over kinds.
    """
    places = [k for k in summarised(sets) if sets[k].expected == "lower" and sets[k].severity]
    rank: dict[str | None, int] = {severity: r for r, severity in enumerate(SEVERITIES)}
    per_kind = []
    for milder in by_kind(sets, places).values():
        total, n = np.zeros(len(table)), np.zeros(len(table))
        for k in milder:
            worse = [j for j in places if rank[sets[j].severity] > rank[sets[k].severity]]
            if worse:
                wins = won(table[:, [k + 1]] - table[:, [j + 1 for j in worse]])
                total += np.nansum(wins, axis=1)
                n += (~np.isnan(wins)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            per_kind.append(total / n)
    return _mean_of(per_kind, 0) if per_kind else np.full(len(table), np.nan)


def mean_of_images(values: Floats, counts: Counts, confidence: float) -> Estimate:
    """The mean of values in [0, 1] over images, NaN left out, with its interval."""
    return replicated_mean(values, counts).estimate(confidence)


def replicated_mean(values: Floats, counts: Counts) -> ResampledMean:
    """The mean of values in [0, 1] over images, NaN left out, with its replicates."""
    known = ~np.isnan(values)
    if not known.any():
        return ResampledMean(np.nan, np.full(len(counts), np.nan), 0)
    whole = np.rint(np.where(known, values, 0.0) * 2**20) / 2**20  # so that drawn sums are exact
    total, n = drawn_sums([whole[:, None], known[:, None]], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = (total / n)[:, 0]
    return ResampledMean(float(whole[known].mean()), replicates, int(known.sum()))


def severities(sets: Sets) -> list[str]:
    """The severities of the sets that harm, mildest first."""
    present = {sets[k].severity for k in summarised(sets) if sets[k].expected == "lower"}
    return [severity for severity in SEVERITIES if severity in present]
