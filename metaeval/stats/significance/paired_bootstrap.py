"""The paired bootstrap: the difference of two metrics over the same resampled images."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import NAMES, WeightedCorrelations
from metaeval.stats.resampling.bootstrap import (
    Counts,
    bootstrap_counts,
    defined_replicates,
    percentile_interval,
)
from metaeval.stats.resampling.items import Floats, Ints, as_scores, encode
from metaeval.stats.resampling.means import resampled_sums


class Paired(NamedTuple):
    """What the paired bootstraps return.

    Attributes
    ----------
    difference
        The statistic of the first minus that of the second, on the images as they are.
    low, high
        The percentile interval of the difference.
    p_greater
        One-sided p-value of "the first is greater".
    p_two_sided
        p-value of "the two differ".
    """

    difference: float
    low: float
    high: float
    p_greater: float
    p_two_sided: float


def paired_bootstrap(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    human: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    *,
    statistic: str = "kendall_tau_c",
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Paired:
    """Interval and p-value of the difference of two metrics' correlations with the judgements.

    Parameters
    ----------
    a, b, human
        float64 [n]. An item without any of the three is left out of both correlations.
    units
        [n] labels of what is drawn as one, the image of each item; by default each item on its own.
    statistic
        One of `correlations.NAMES`.
    counts
        [replicates, n_units] from `bootstrap_counts`, columns in the order of the sorted labels:
        the same for all pairs of metrics. By default drawn from `replicates` and `seed`.

    Notes
    -----
    Definition
        p_greater = (1 + replicates with a difference ≤ 0) / (1 + replicates), and two-sided twice
        the smaller tail, at most 1. Replicates that leave the statistic undefined are left out.
    Unit
        The image: its captions share references and difficulty. Of fewer than `MIN_UNITS` with all
        three there is neither interval nor test.
    Source
        P. Koehn (2004), Statistical significance tests for machine translation evaluation, EMNLP;
        D. Deutsch, R. Dror, D. Roth (2021), TACL 9.

    Examples
    --------
    >>> from metaeval.stats.significance.paired_bootstrap import paired_bootstrap
    >>> human = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> good, poor = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [5, 2, 8, 1, 4, 9, 7, 3, 10, 6]
    >>> result = paired_bootstrap(good, poor, human)
    >>> round(result.difference, 4), result.low > 0
    (0.65, True)
    """
    if statistic not in NAMES:
        raise InputError(f"unknown statistic '{statistic}': {', '.join(NAMES)}", field="statistic")
    x, y, z = as_scores(a), as_scores(b), as_scores(human)
    unit, n_units = _units(units, len(x))
    if counts is None:
        counts = bootstrap_counts(max(n_units, 1), replicates, seed)
    incomplete = np.isnan(x) | np.isnan(y) | np.isnan(z)
    z = np.where(incomplete, np.nan, z)  # an item without one of the three leaves on both sides
    once = np.ones((1, n_units), dtype=np.int64)
    observed, resampled = [], []
    for scores in (x, y):
        weighted = WeightedCorrelations(scores, z, unit, n_units, names=(statistic,))
        observed.append(float(getattr(weighted.of(once), statistic)[0]))
        resampled.append(getattr(weighted.of(counts), statistic))
    n = len(np.unique(unit[~incomplete]))
    return difference_of(observed[0], observed[1], resampled[0], resampled[1], confidence, n)


def bootstrap_of_means(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    *,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Paired:
    """Interval and p-value of the difference of two systems' mean scores on the same items.

    Parameters and definitions as in `paired_bootstrap`; the mean is over all items of the drawn
    units.

    >>> from metaeval.stats.significance.paired_bootstrap import bootstrap_of_means
    >>> result = bootstrap_of_means([0.5, 0.7, 0.9, 0.6] * 3, [0.4, 0.7, 0.5, 0.3] * 3)
    >>> round(result.difference, 4), result.low > 0
    (0.2, True)
    """
    gaps = as_scores(a) - as_scores(b)
    unit, n_units = _units(units, len(gaps))
    scored = ~np.isnan(gaps)
    totals = np.bincount(unit[scored], gaps[scored], minlength=n_units)
    sizes = np.bincount(unit[scored], minlength=n_units).astype(np.float64)
    counts = bootstrap_counts(max(n_units, 1), replicates, seed)
    if not scored.any():
        return difference_of(float("nan"), 0.0, np.empty(0), np.empty(0), confidence, 0)
    sums = resampled_sums(np.stack([totals, sizes], axis=1), counts)
    with np.errstate(invalid="ignore"):
        means = sums[:, 0] / sums[:, 1]
    mean = float(totals.sum() / sizes.sum())
    n = len(np.unique(unit[scored]))
    return difference_of(mean, 0.0, means, np.zeros_like(means), confidence, n)


def difference_of(
    a: float,
    b: float,
    a_replicates: npt.ArrayLike,
    b_replicates: npt.ArrayLike,
    confidence: float,
    n_units: int,
) -> Paired:
    """The result from two statistics and their replicates over the same `n_units` images.

    >>> difference_of(0.5, 0.4, [0.4, 0.5, 0.6], [0.3, 0.5, 0.3], 0.5, 30)
    Paired(difference=0.09999999999999998, low=0.05000000000000002, high=0.2, p_greater=0.5, \
p_two_sided=1.0)
    """
    gaps: Floats = np.asarray(a_replicates, np.float64) - np.asarray(b_replicates, np.float64)
    gaps = defined_replicates(gaps, n_units)
    low, high = percentile_interval(gaps, confidence, n_units)
    if np.isnan(a - b) or not len(gaps):
        return Paired(a - b, low, high, float("nan"), float("nan"))
    n = 1 + len(gaps)
    not_greater = (1 + int((gaps <= 0).sum())) / n
    not_less = (1 + int((gaps >= 0).sum())) / n
    return Paired(a - b, low, high, not_greater, min(1.0, 2 * min(not_greater, not_less)))


def _units(units: npt.ArrayLike | None, n: int) -> tuple[Ints, int]:
    labels = np.arange(n) if units is None else np.asarray(units)
    if labels.shape != (n,):
        raise InputError(f"units of shape {labels.shape} for {n} items", field="units")
    distinct, unit = encode(labels)
    return unit, len(distinct)
