"""Two metrics on the same resampled images: is their difference real, and how small could it be?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import defined_replicates, percentile_interval
from metaeval.stats.resampling.items import Floats


class PairedDifference(NamedTuple):
    """What `paired_difference` returns.

    Attributes
    ----------
    difference
        The statistic of the first metric minus that of the second.
    low, high
        The percentile interval of the difference.
    error
        Its standard error: the standard deviation of the paired replicates.
    p
        Two-sided p-value of "the two are equal".
    effect
        The difference in standard deviations of one image, difference / (error · √n): Cohen's d_z,
        exactly so for a mean over images.
    """

    difference: float
    low: float
    high: float
    error: float
    p: float
    effect: float


def paired_difference(
    a: float,
    b: float,
    a_replicates: npt.ArrayLike,
    b_replicates: npt.ArrayLike,
    n_images: int,
    confidence: float = 0.95,
) -> PairedDifference:
    """Compare two metrics by replicates over the same images.

    Parameters
    ----------
    a, b
        The statistic of each on all images.
    a_replicates, b_replicates
        float64 [replicates], from the same `bootstrap_counts`.
    n_images
        How many images were resampled; fewer than `MIN_UNITS` are not tested.

    Notes
    -----
    Definition
        p = 2 Φ(−|difference| / error). The share of replicates beyond zero, which
        `paired_bootstrap` takes, cannot fall below 1/replicates, too much for Holm's correction
        over a hundred pairs; the normal law has no such floor. p is never below 2^(1 − n_images),
        the smallest that an exchange of the two metrics image by image can give. Without any
        spread the p-value is that bound, or 1 where the difference is 0 as well.
    Unit
        The image.
    Source
        B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, section 12.3; the
        pairing, P. Koehn (2004), Statistical significance tests for machine translation
        evaluation, EMNLP. Effect: J. Cohen (1988), Statistical Power Analysis, section 2.3.5.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0.5, 0.1, 2000); y = x - 0.2 + rng.normal(0, 0.05, 2000)
    >>> result = paired_difference(0.5, 0.3, x, y, 400)
    >>> round(result.difference, 2), round(result.error, 2), result.p < 0.001
    (0.2, 0.05, True)
    """
    gaps: Floats = np.asarray(a_replicates, np.float64) - np.asarray(b_replicates, np.float64)
    gaps = defined_replicates(gaps, n_images)
    low, high = percentile_interval(gaps, confidence, n_images)
    difference, nan = a - b, float("nan")
    if math.isnan(difference) or len(gaps) < 2:
        return PairedDifference(difference, low, high, nan, nan, nan)
    error = float(gaps.std(ddof=1))
    smallest = min(1.0, 2.0 ** (1 - n_images))
    if error > 1e-12:
        p = max(2 * float(ndtr(-abs(difference) / error)), smallest)
        effect = difference / (error * math.sqrt(n_images))
    else:
        p, effect = (smallest, nan) if abs(difference) > 1e-12 else (1.0, 0.0)
    return PairedDifference(difference, low, high, error, min(p, 1.0), effect)


def detectable_difference(error: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a test at level α finds with the given power.

    (z_{1 − α/2} + z_power) · error; the other tail, which adds less than 10^-5 of power at these
    levels, is left out. For the hardest of m pairs under Holm's correction, take α/m.

    >>> round(detectable_difference(0.01), 4)
    0.028
    """
    return (_edge(alpha) + float(ndtri(power))) * error


def images_needed(
    n_images: int, difference: float, error: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """How many images would show a difference of this size with the given power.

    The error falls with the root of the number of images. Infinite where the difference is 0.

    >>> images_needed(100, 0.014, 0.01)
    401.0
    """
    if difference == 0:
        return math.inf
    ratio = detectable_difference(error, alpha, power) / difference
    return float(math.ceil(n_images * ratio**2))


def _edge(alpha: float) -> float:
    """The quantile z_{1 − α/2} of the normal law."""
    if not 0 < alpha < 1:
        raise InputError(f"{alpha} is not in (0, 1)", field="alpha")
    return float(-ndtri(alpha / 2))
