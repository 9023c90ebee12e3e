"""The bootstrap over images: which images each replicate holds, and the percentile interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats

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
    value: float, replicates: npt.ArrayLike, confidence: float
) -> IntervalEstimate:
    """A statistic with the `percentile_interval` of its replicates.

    >>> interval_estimate(50.0, range(101), 0.5)
    IntervalEstimate(value=50.0, low=25.0, high=75.0)
    """
    return IntervalEstimate(value, *percentile_interval(replicates, confidence))


def percentile_interval(replicates: npt.ArrayLike, confidence: float) -> list[float]:
    """The central `confidence` share of bootstrap replicates, [low, high].

    Replicates in which the statistic is undefined (NaN: all scores equal, say) are left out;
    without any other the interval is [NaN, NaN]. Quantiles are interpolated linearly.

    >>> percentile_interval(range(101), 0.5)
    [25.0, 75.0]
    """
    if not 0 < confidence < 1:
        raise InputError(f"{confidence} is not in (0, 1)", field="confidence")
    values: Floats = np.asarray(replicates, dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return [float("nan"), float("nan")]
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return [float(low), float(high)]
