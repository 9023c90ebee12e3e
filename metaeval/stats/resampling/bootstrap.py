"""The bootstrap over images: which images each replicate holds, and the percentile interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats

# Fewer units give neither an interval nor a test: resampling few units understates the spread. With
# a normal quantile, the 95 % interval of a mean of n units holds the truth with the probability
# P(|t(n - 1)| < 1.96 sqrt((n - 1) / n)), which is 90 % from n = 10 on.
# `benchmarks.judgments.few_images` prints coverage and level by simulation.
MIN_UNITS = 10
_STREAM = 0xB007  # keeps the resampling apart from the tie-breaking under the same seed

Counts = npt.NDArray[np.integer]


def bootstrap_counts(n_images: int, replicates: int, seed: int) -> Counts:
    """How often each image is drawn into each bootstrap replicate.

    A replicate draws `n_images` images with replacement: its counts are multinomial. Draw them once
    and hand them to every metric: then replicate k holds the same images for all, and the
    difference of two metrics can be resampled too.

    Parameters
    ----------
    n_images, replicates
        Sizes; 0 replicates are allowed and leave intervals undefined.
    seed
        Seeds one generator for all replicates. The first k replicates do not depend on how many
        follow.

    Returns
    -------
    int8 [replicates, n_images]; every row sums up to `n_images`. In memory the replicates of one
    image lie side by side.

    Notes
    -----
    The image is the unit because its captions share references, difficulty and objects: resampling
    captions one by one would give intervals that are too short.

    Source: B. Efron (1979), Bootstrap methods: another look at the jackknife, Annals of Statistics
    7; resampling clusters: A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their
    Application, section 3.8.

    Examples
    --------
    >>> bootstrap_counts(4, 1000, seed=0).sum(axis=1).tolist() == [4] * 1000
    True
    """
    if n_images < 1 or replicates < 0:
        raise InputError(f"cannot resample {n_images} images {replicates} times")
    rng = np.random.default_rng([_STREAM, seed])
    # An image that is drawn more than 127 times has a probability below 10^-200.
    counts = np.empty((n_images, replicates), dtype=np.int8)
    step = 64  # a strided write per replicate would touch every cache line of `counts`
    for start in range(0, replicates, step):
        stop = min(start + step, replicates)
        rows = [
            np.bincount(rng.integers(n_images, size=n_images), minlength=n_images)
            for _ in range(start, stop)
        ]
        counts[:, start:stop] = np.array(rows, dtype=np.int8).T
    return counts.T


class IntervalEstimate(NamedTuple):
    """A statistic with the ends of its confidence interval; NaN where one is undefined."""

    value: float
    low: float
    high: float


def interval_estimate(
    value: float, replicates: npt.ArrayLike, confidence: float, n_units: int
) -> IntervalEstimate:
    """A statistic with the `percentile_interval` of its replicates.

    >>> interval_estimate(50.0, range(101), 0.5, 30)
    IntervalEstimate(value=50.0, low=25.0, high=75.0)
    """
    return IntervalEstimate(value, *percentile_interval(replicates, confidence, n_units))


def percentile_interval(replicates: npt.ArrayLike, confidence: float, n_units: int) -> list[float]:
    """The central `confidence` share of the `defined_replicates`, [low, high].

    Without any the interval is [NaN, NaN]. Quantiles are interpolated linearly.

    >>> percentile_interval(range(101), 0.5, 30), percentile_interval(range(101), 0.5, 9)
    ([25.0, 75.0], [nan, nan])
    """
    if not 0 < confidence < 1:
        raise InputError(f"{confidence} is not in (0, 1)", field="confidence")
    values = defined_replicates(replicates, n_units)
    if not len(values):
        return [float("nan"), float("nan")]
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return [float(low), float(high)]


def defined_replicates(replicates: npt.ArrayLike, n_units: int) -> Floats:
    """The replicates [r] that intervals and tests are made of.

    Those in which the statistic is defined, not NaN (all scores equal, say); and none at all of
    fewer than `MIN_UNITS` units (images) that have a value.

    >>> defined_replicates([0.5, float("nan")], 10).tolist(), defined_replicates([0.5], 9).tolist()
    ([0.5], [])
    """
    values: Floats = np.asarray(replicates, dtype=np.float64)
    return values[~np.isnan(values)] if n_units >= MIN_UNITS else values[:0]
