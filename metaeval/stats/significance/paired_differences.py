"""Two metrics on the same images: is their difference real, and how small could it be?"""

import math
from math import copysign, inf, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are slow to import: each is, at its first use

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import pearson
from metaeval.stats.resampling.bootstrap import defined_replicates
from metaeval.stats.resampling.items import Floats, as_scores, require_aligned

_SAME = 1e-12  # what differs by less differs by rounding


class PairedDifference(NamedTuple):
    """What `paired_difference` returns.

    Attributes
    ----------
    difference
        The statistic of the first metric minus that of the second.
    low, high
        The interval of the difference; it contains 0 where p > 1 - confidence.
    error
        Its standard error.
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
    *,
    moved: int | None = None,
) -> PairedDifference:
    """Compare two metrics by replicates over the same images.

    Parameters
    ----------
    a, b
        The statistic of each on all images.
    a_replicates, b_replicates
        float64 [replicates], from the same `bootstrap_counts`.
    n_images
        How many images were resampled; fewer than `MIN_UNITS` have neither interval nor test.
    moved
        In how many of them the two metrics differ; in all by default.

    Notes
    -----
    Definition
        error = standard deviation of the paired replicates · √(n / (n − 1)), which makes it that
        of the t test for a mean over images. The interval is difference ± t · error and p is
        two-sided, both by Student's t with m − 1 degrees of freedom, m = min(n, moved). Where p
        would be below 2^(1 − moved), the smallest that an exchange of the two metrics image by
        image can give, the error is raised until p is that bound; without a difference p is 1. So
        interval and p never contradict each other.
    Unit
        The image.
    Source
        B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, sections 12.2 and
        12.3; the pairing, P. Koehn (2004), Statistical significance tests for machine translation
        evaluation, EMNLP. Level and power: `python -m research.judgments.levels`. Effect: J. Cohen
        (1988), Statistical Power Analysis, section 2.3.5.

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
    difference, nan = a - b, float("nan")
    if math.isnan(difference) or len(gaps) < 2:
        return PairedDifference(difference, nan, nan, nan, nan, nan)
    error = float(gaps.std(ddof=1)) * sqrt(n_images / (n_images - 1))
    moved = n_images if moved is None else moved
    low, high, p = student(difference, error, min(n_images, moved) - 1, confidence, moved)
    effect = difference / (error * sqrt(n_images)) if error > _SAME else (0.0 if p == 1 else nan)
    return PairedDifference(difference, low, high, error, p, effect)


class StudentTest(NamedTuple):
    """An interval by Student's t, and the two-sided p-value that belongs to it."""

    low: float
    high: float
    p: float


def student(
    difference: float, error: float, df: int, confidence: float = 0.95, moved: float = inf
) -> StudentTest:
    """Interval and p of a difference with this standard error and degrees of freedom.

    p is at least 2^(1 − moved), and then the error is what gives this p. A difference that is 0
    up to rounding has p 1.

    >>> [round(value, 3) for value in student(1.0, 0.5, 9)]
    [-0.131, 2.131, 0.077]
    >>> [round(value, 3) for value in student(1.0, 0.0, 9, moved=10)]
    [0.476, 1.524, 0.002]
    """
    df, least = max(df, 1), min(1.0, 2.0 ** (1 - moved))
    size = abs(difference)
    p = 1.0
    if size > _SAME:
        p = 2 * float(scipy.special.stdtr(df, -size / error)) if error > _SAME else 0.0
    if p < least:
        p = least
        error = (
            max(error, size / -float(scipy.special.stdtrit(df, least / 2))) if least < 1 else error
        )
    half = -float(scipy.special.stdtrit(df, (1 - confidence) / 2)) * error
    return StudentTest(difference - half, difference + half, p)


def detectable_difference(error: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a test at level α finds with the given power.

    (z_{1 − α/2} + z_power) · error; the other tail, which adds less than 10^-5 of power at these
    levels, is left out. For the hardest of m pairs under Holm's correction, take α/m.

    >>> round(detectable_difference(0.01), 4)
    0.028
    """
    return (_edge(alpha) + float(scipy.special.ndtri(power))) * error


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
    return float(-scipy.special.ndtri(alpha / 2))


class Williams(NamedTuple):
    """What `williams` returns.

    Attributes
    ----------
    t
        Positive where the first metric correlates more; NaN where the test is undefined.
    df
        Degrees of freedom, n − 3.
    p_two_sided
        p-value of "the two differ".
    difference, error
        r1 − r2, and its standard error, which t is the ratio to.

    Notes
    -----
    Definition
        t = (r1 − r2) √((n−1)(1+r12)) / √(2K(n−1)/(n−3) + (r1+r2)²/4 · (1−r12)³), Student's t with
        n − 3 degrees of freedom; K = 1 − r1² − r2² − r12² + 2·r1·r2·r12, the determinant of the
        3 × 3 correlation matrix.
    Undefined
        NaN with fewer than four items or a correlation that is NaN. Two metrics that are the same
        up to a positive linear map (r12 = 1) do not differ: t = 0, p = 1. t is infinite and p 0
        where the two explain the judgements without rest and pull opposite ways.
    A metric and its negation
        r12 = −1 and r2 = −r1: both roots are 0, and t is their limit, r1 √((n−3) / (1−r1²)), which
        is the t of Pearson's r1 except for n − 3 instead of n − 2: the two differ if, and only if,
        either correlates with the judgements at all.
    Source
        E. J. Williams (1959), The comparison of regression variables, Journal of the Royal
        Statistical Society B 21; in the form of J. H. Steiger (1980), Tests for comparing elements
        of a correlation matrix, Psychological Bulletin 87, equation 7. Recommended for metrics by
        Y. Graham and T. Baldwin (2014), EMNLP.

    Raises InputError for a correlation outside [-1, 1].
    """

    t: float
    df: int
    p_two_sided: float
    difference: float
    error: float


def williams(r1: float, r2: float, r12: float, n: int) -> Williams:
    """Test of H0: ρ1 = ρ2, for two Pearson correlations that share one variable.

    Parameters
    ----------
    r1, r2
        Correlation of each metric with the judgements.
    r12
        Correlation of the two metrics with each other. The more they agree, the smaller a
        difference can be distinguished from chance.
    n
        Number of items, all independent of each other. Items that share an image are not: then
        the test is too sure of itself, and one that resamples images is to be preferred
        (`paired_difference`).

    Examples
    --------
    The example of Silver, Hittner and May's program DEPCOR (2006), which gives t = -1.0767 and
    p = .2843:

    >>> from metaeval.stats.significance.paired_differences import williams
    >>> result = williams(0.3, 0.4, 0.5, 100)
    >>> round(result.t, 4), round(result.p_two_sided, 4)
    (-1.0767, 0.2843)
    """
    for name, r in (("r1", r1), ("r2", r2), ("r12", r12)):
        if abs(r) > 1:
            raise InputError(f"{r} is not in [-1, 1]", field=name)
    df = n - 3
    if n < 4 or np.isnan([r1, r2, r12]).any():
        return Williams(math.nan, df, math.nan, math.nan, math.nan)
    # 1 + r12 is taken out of both roots, and is not divided by where it is 0
    half, mean, shared = (r1 - r2) / 2, (r1 + r2) / 2, 1 + r12
    ratio = mean**2 / shared if shared > _SAME else 0.0
    determinant = max(0.0, (1 - r12) * (1 - 2 * ratio) - 2 * half**2)
    spread = 2 * determinant * (n - 1) / (n - 3) + ratio * (1 - r12) ** 3
    error = sqrt(spread / (n - 1)) if spread > _SAME else 0.0
    if abs(r1 - r2) < _SAME:
        return Williams(0.0, df, 1.0, r1 - r2, error)
    t = 2 * half / error if error else copysign(inf, half)
    return Williams(t, df, float(2 * scipy.special.stdtr(df, -abs(t))), r1 - r2, error)


def williams_test(a: npt.ArrayLike, b: npt.ArrayLike, human: npt.ArrayLike) -> Williams:
    """Williams' test from scores: two metrics [n] and the judgements [n].

    Items without a value in any of the three are left out of all three correlations.

    >>> from metaeval.stats.significance.paired_differences import williams_test
    >>> human = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> round(williams_test([1, 3, 2, 4, 6, 5, 8, 7], [3, 1, 6, 2, 8, 4, 5, 7], human).t, 3)
    2.022
    """
    x, y, z = as_scores(a), as_scores(b), as_scores(human)
    require_aligned(scores=x, others=y, judgements=z)
    complete = ~(np.isnan(x) | np.isnan(y) | np.isnan(z))
    x, y, z = x[complete], y[complete], z[complete]
    return williams(pearson(x, z), pearson(y, z), pearson(x, y), len(x))


def williams_interval(
    a: npt.ArrayLike, b: npt.ArrayLike, human: npt.ArrayLike, confidence: float = 0.95
) -> StudentTest:
    """Williams' test from scores, with the interval of r1 - r2 that belongs to it: the difference
    and Student's t times the standard error of the test. NaN where the test is undefined.

    >>> a, b = [1, 3, 2, 4, 6, 5, 8, 7], [3, 1, 6, 2, 8, 4, 5, 7]
    >>> made = williams_interval(a, b, [1, 2, 3, 4, 5, 6, 7, 8])
    >>> [round(value, 3) for value in made]
    [-0.097, 0.811, 0.099]
    """
    test = williams_test(a, b, human)
    half = -float(scipy.special.stdtrit(test.df, (1 - confidence) / 2)) * test.error
    return StudentTest(test.difference - half, test.difference + half, test.p_two_sided)


def fisher_interval(r: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of Pearson's r of n independent items by Fisher's z: tanh(atanh r ± z/√(n − 3)).

    Source: R. A. Fisher (1921), On the "probable error" of a coefficient of correlation, Metron 1.

    >>> [round(end, 3) for end in fisher_interval(0.5, 28)]
    [0.156, 0.736]
    """
    if abs(r) >= 1:
        return r, r
    half = _edge(1 - confidence) / sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
