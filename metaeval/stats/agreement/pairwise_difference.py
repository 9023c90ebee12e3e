"""PDP: does the size of a score difference within an image follow the size people see?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats, as_scores, encode, require_aligned, scaled
from metaeval.stats.resampling.means import resampled_sums


class DifferencePearson(NamedTuple):
    """What `pairwise_difference_pearson` returns.

    Attributes
    ----------
    r
        In [-1, 1]; NaN where either side has no differences within an image.
    low, high
        Percentile interval by resampling images.
    n_pairs, n_images
        How many pairs, and images with at least one pair.
    """

    r: float
    low: float
    high: float
    n_pairs: int
    n_images: int


def pairwise_difference_pearson(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> DifferencePearson:
    """Pearson's r over all differences between two captions of the same image.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with NaN in either is left out.
    image
        [n] labels: which captions are compared with each other.
    counts
        [replicates, n_images] from `bootstrap_counts`, in the order of the sorted labels.

    Notes
    -----
    Definition
        Over all ordered pairs (i, j) of captions of one image, r of (s_i − s_j) with (h_i − h_j).
        As Σ (s_i − s_j)(h_i − h_j) = 2 n Σ (s_i − s̄)(h_i − h̄) within an image of n captions, no
        pair is enumerated.
    Ties
        A difference of 0 is a value like any other.
    Unit
        The image.
    Source
        DiIanni and Deutsch (2025), EMNLP, arXiv 2509.25546. Sensitive to outliers.

    Examples
    --------
    >>> result = pairwise_difference_pearson([1, 2, 7, 9], [1, 2, 3, 5], ["x", "x", "y", "y"])
    >>> round(result.r, 4), result.n_pairs
    (1.0, 2)
    """
    x, y = as_scores(scores), as_scores(human)
    labels, unit = encode(image)
    require_aligned(scores=x, human=y, image=unit)
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, unit = x[known], y[known], unit[known]
    size = np.bincount(unit, minlength=len(labels)).astype(np.float64)

    def centred(values: Floats) -> Floats:
        means = np.bincount(unit, values, minlength=len(labels)) / np.maximum(size, 1)
        return np.asarray(values - means[unit], dtype=np.float64)

    a, b = centred(scaled(x)), centred(scaled(y))
    products = [size * np.bincount(unit, p, minlength=len(labels)) for p in (a * b, a * a, b * b)]
    table = np.stack(products, axis=1)
    pairs = int((size * (size - 1)).sum()) // 2
    with_pair = int((size > 1).sum())
    if not pairs:
        nan = float("nan")
        return DifferencePearson(nan, nan, nan, 0, 0)
    if counts is None:
        counts = bootstrap_counts(len(labels), replicates, seed)
    drawn = _ratio(resampled_sums(table, counts))
    low, high = percentile_interval(drawn, confidence, with_pair)
    r = float(_ratio(table.sum(axis=0, keepdims=True))[0])
    return DifferencePearson(r, low, high, pairs, with_pair)


def _ratio(sums: Floats) -> Floats:
    xy, xx, yy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where((xx > 0) & (yy > 0), xy / (np.sqrt(xx) * np.sqrt(yy)), np.nan)
    return np.asarray(np.clip(r, -1, 1), dtype=np.float64)
