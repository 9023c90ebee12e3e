"""Monotone maps fitted on other images: scores brought to the scale of the ratings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats, as_scores, encode, random_folds, require_aligned

_STREAM = 0x150


def isotonic_fit(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The non-decreasing function of least squares: distinct x, ascending, and its values there.

    Ties in x share one value: the weighted mean of their y.

    >>> isotonic_fit(np.array([1.0, 2, 3]), np.array([0.0, 1, 0]), np.ones(3))[1].tolist()
    [0.0, 0.5, 0.5]
    """
    from scipy.optimize import isotonic_regression

    values, place = encode(x)
    total = np.bincount(place, weights, minlength=len(values))
    used = total > 0
    mean = np.bincount(place, weights * y, minlength=len(values))[used] / total[used]
    fitted = isotonic_regression(mean, weights=total[used]).x
    return np.asarray(values[used], dtype=np.float64), np.asarray(fitted, dtype=np.float64)


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
            mapped[test] = np.interp(
                x[test], *isotonic_fit(x[train], y[train], np.ones(train.sum()))
            )
    return mapped
