"""What a score difference means: the probability that people prefer the higher score."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    complete_items,
    defined_replicates,
    percentile_intervals,
)
from metaeval.stats.resampling.items import Floats, as_scores, encode, random_folds, require_aligned

_STREAM = 0x150


def isotonic_fit(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The non-decreasing function of least squares: distinct x, ascending, and its values there.

    Ties in x share one value: the mean of their y.

    >>> isotonic_fit(np.array([1.0, 2, 3]), np.array([0.0, 1, 0]))[1].tolist()
    [0.0, 0.5, 0.5]
    """
    from scipy.optimize import isotonic_regression

    values, place = encode(x)
    times = np.bincount(place).astype(np.float64)
    fitted = isotonic_regression(np.bincount(place, y) / times, weights=times).x
    return values, np.asarray(fitted, dtype=np.float64)


def to_rating_scale(
    scores: npt.ArrayLike,
    ratings: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    folds: int = 5,
    seed: int = 0,
) -> Floats:
    """Scores mapped to the ratings' scale by isotonic regression, out of fold by image.

    Parameters
    ----------
    scores
        float64 [n], higher is better; NaN stays NaN.
    ratings
        float64 [n] or [n, raters]: the mean of a row's ratings is fitted; NaN = not rated.
    image
        [n] labels: an item's image is never in the fit that maps it.

    Returns
    -------
    float64 [n]; linear interpolation between fitted points, constant beyond them.

    Examples
    --------
    >>> scores = np.tile([0.1, 0.2, 0.3], 10)
    >>> to_rating_scale(scores, scores * 10, np.repeat(range(10), 3)).round(6)[:3].tolist()
    [1.0, 2.0, 3.0]
    """
    x = as_scores(scores)
    table = np.asarray(ratings, dtype=np.float64)
    if table.shape[:1] != x.shape:
        raise InputError(f"{x.shape} scores for ratings {table.shape}", field="ratings")
    with np.errstate(invalid="ignore"):
        given = ~np.isnan(table)
        y = table if table.ndim == 1 else np.where(given, table, 0).sum(axis=1) / given.sum(axis=1)
    labels, unit = encode(image)
    require_aligned(scores=x, ratings=y, image=unit)
    fold, mapped = random_folds(len(labels), folds, _STREAM, seed)[unit], np.full(len(x), np.nan)
    known = ~(np.isnan(x) | np.isnan(y))
    for k in range(folds):
        train, test = known & (fold != k), ~np.isnan(x) & (fold == k)
        if train.any() and test.any():
            mapped[test] = np.interp(x[test], *isotonic_fit(x[train], y[train]))
    return mapped


_NUMBERS = 2**17  # pairs times replicates fitted at a time: they stay in the cache
_STEPS = 50
_SMALL = 1e-7  # a step, of the slope
_ODDS = math.log(3)  # of a difference that people notice


class PreferenceCurve(NamedTuple):
    """What `preference_curve` returns.

    Attributes
    ----------
    difference
        float64 [points]: score differences from 0 up, in the metric's own unit.
    logistic, low, high
        float64 [points]: P(people prefer the higher score) by the logistic curve, and its
        interval by resampling images.
    isotonic
        float64 [points]: the same by isotonic regression, which assumes only that it does not fall.
    noticed
        The difference that people prefer in three of four cases, by the logistic curve; infinite
        where the curve does not rise. `n` pairs.

    Notes
    -----
    Definition
        Logistic: P = 1 / (1 + exp(−β Δ)) by maximum likelihood; without an intercept, as swapping a
        and b must give 1 − P. Isotonic: least squares over the pairs and their mirror images.
        The noticed difference is log(.75 / .25) / β.
    Ties
        Ties of people count as one half on each side; pairs with Δ = 0 do not change β.
    Unit
        The image.
    Source
        T. Kocmi, V. Zouhar, C. Federmann, M. Post (2024), Navigating the metrics maze, ACL, for the
        question; logistic regression by Newton's method.
    """

    difference: Floats
    logistic: Floats
    low: Floats
    high: Floats
    isotonic: Floats
    noticed: IntervalEstimate


def preference_curve(
    difference: npt.ArrayLike,
    preferred: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    points: int = 41,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> PreferenceCurve:
    """Fit P(people prefer a) as a function of score(a) − score(b), over pairs of one image.

    Parameters
    ----------
    difference
        float64 [pairs]: the score of a minus that of b; NaN = left out.
    preferred
        float64 [pairs] in [0, 1]: 1 where people prefer a, 0 where b, 0.5 where they tie, or the
        share of votes for a; NaN = left out.
    image
        [pairs] labels of the resampling unit.
    counts
        [replicates, n_images] from `bootstrap_counts`, in the order of the sorted labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gap = rng.normal(0, 0.2, 4000)
    >>> preferred = rng.random(4000) < 1 / (1 + np.exp(-5 * gap))
    >>> curve = preference_curve(gap, preferred, np.arange(4000) // 4)
    >>> bool(curve.noticed.low < np.log(3) / 5 < curve.noticed.high)
    True
    """
    columns = {"difference": difference, "preferred": preferred}
    (x, y), unit, counts = complete_items(columns, image, counts, replicates, seed)
    if ((y < 0) | (y > 1)).any():
        raise InputError("a preference is not in [0, 1]", field="preferred")
    largest = float(np.quantile(np.abs(x), 0.99)) if len(x) else 0.0
    grid = np.linspace(0, largest, points)
    ones = np.ones((1, counts.shape[1]))
    slopes = logistic_slopes(x, y, np.concatenate([ones, counts]), unit)
    with np.errstate(invalid="ignore"):
        odds_on_grid = slopes[:, None] * grid
    odds_on_grid[np.isinf(slopes)[:, None] & (grid == 0)] = 0.0  # ∞ · 0
    curves = 1 / (1 + np.exp(-np.clip(odds_on_grid, -700, 700)))
    n_images = len(np.unique(unit))
    low, high = percentile_intervals(curves[1:], confidence, n_images).T
    with np.errstate(divide="ignore", invalid="ignore"):
        noticed = np.where(slopes > 0, _ODDS / slopes, np.where(np.isnan(slopes), np.nan, np.inf))
    ends = _interval_with_infinity(defined_replicates(noticed[1:], n_images), confidence)
    estimate = IntervalEstimate(float(noticed[0]), *ends, len(x))
    return PreferenceCurve(grid, curves[0], low, high, _isotonic(x, y, grid), estimate)


def logistic_slopes(
    x: Floats, y: Floats, weights: npt.ArrayLike, unit: npt.ArrayLike | None = None
) -> Floats:
    """β of each row of weights [r, n] in P(y) = 1/(1 + exp(−β x)), by safeguarded Newton steps.

    With `unit` [n] the weights are those of the units [r, units] that the n pairs belong to.
    NaN where the pairs do not determine it (none, or none with x ≠ 0); ±inf where they are
    perfectly separated.

    >>> x, y = np.array([1.0, 1, 1, 1]), np.array([1.0, 1, 1, 0])
    >>> logistic_slopes(x, y, np.ones((1, 4))).round(6).tolist()  # log 3
    [1.098612]
    """
    rows = np.asarray(weights)
    scale = float(np.abs(x).max(initial=0.0))
    if not scale:
        return np.full(len(rows), np.nan)
    u, own = x / scale, slice(None) if unit is None else np.asarray(unit)
    slopes, chunk, guess = np.empty(len(rows)), max(1, _NUMBERS // len(x)), 0.0
    for start in range(0, len(rows), chunk):
        w = rows[start : start + chunk][:, own].astype(np.float64)
        beta = np.full(len(w), guess)
        target, size = w @ (u * y), w @ np.abs(u)
        # no finite maximum where every pair with a difference has the preference of its sign
        upper = w @ np.maximum(u, 0)
        lower = -(w @ np.maximum(-u, 0))
        edge = 1e-9 * np.maximum(size, 1e-300)
        separated = target >= upper - edge, target <= lower + edge
        finite = ~(separated[0] | separated[1])
        for _ in range(_STEPS):
            p = 1 / (1 + np.exp(-np.clip(beta[:, None] * u, -700, 700)))
            expected = w * p
            gradient = target - expected @ u
            curvature = (expected - expected * p) @ (u * u)
            step = gradient / np.maximum(curvature, 1e-12 * np.maximum(size, 1e-300))
            step = np.clip(step, -5, 5)
            beta = beta + step
            # steps shrink quadratically: the next one would be a rounding
            if (np.abs(step) < _SMALL * np.maximum(1, np.abs(beta)))[finite].all():
                break
        guess = float(np.median(beta[finite])) if finite.any() else 0.0  # others are near
        beta[separated[0]] = np.inf
        beta[separated[1]] = -np.inf
        slopes[start : start + chunk] = np.where(size > 0, beta / scale, np.nan)
    return slopes


def _isotonic(x: Floats, y: Floats, grid: Floats) -> Floats:
    """The isotonic curve on the grid, of the pairs and their mirror images."""
    if not len(x):
        return np.full(len(grid), np.nan)
    both, preferred = np.concatenate([x, -x]), np.concatenate([y, 1 - y])
    return np.interp(grid, *isotonic_fit(both, preferred))


def _interval_with_infinity(values: Floats, confidence: float) -> tuple[float, float]:
    """Percentiles by order, without interpolation: an end may be infinite."""
    ordered = np.sort(values)
    if not len(ordered):
        return math.nan, math.nan
    tail = (1 - confidence) / 2
    low, high = math.floor(tail * (len(ordered) - 1)), math.ceil((1 - tail) * (len(ordered) - 1))
    return float(ordered[low]), float(ordered[high])
