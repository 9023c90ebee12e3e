"""Does a metric see that a caption was changed? Original against changed, image by image."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.means import resampled_means
from metaeval.stats.significance.paired_differences import paired_difference


class Detection(NamedTuple):
    """What `detection` returns.

    Attributes
    ----------
    n
        Images of which both captions have a score.
    detected, tied
        The share of them in which the original scores higher, and in which both score the same.
    auc, ci
        detected + tied / 2, and its interval; 0.5 = not told apart. NaN without any image.
    p
        Two-sided, of "auc is 0.5".
    cost
        The mean of original minus changed score, in the metric's unit.
    effect
        The cost in standard deviations of the images' differences (Cohen's d_z); NaN without any
        spread.
    """

    n: int
    detected: float
    tied: float
    auc: float
    ci: tuple[float, float]
    p: float
    cost: float
    effect: float


def detection(
    original: npt.ArrayLike,
    changed: npt.ArrayLike,
    counts: Counts,
    *,
    confidence: float = 0.95,
) -> Detection:
    """Compare the scores of original and changed captions within images.

    Parameters
    ----------
    original, changed
        float64 [n_images], higher is better; NaN = not scored, or not changed: the image is left
        out.
    counts
        int [replicates, n_images] from `bootstrap_counts`; of no replicates, interval and p are
        NaN.

    Notes
    -----
    Definition
        AUC within images: the mean over images of 1, ½ or 0 as the original scores higher than,
        the same as or lower than the changed caption. Scores that differ by less than 1e-12 are
        the same.
    Unit
        The image; p by the normal law on its replicates (`paired_difference`).
    Source
        Vargha and Delaney (2000), A critique and improvement of the CL common language effect size
        statistics: A for paired data; J. Cohen (1988), Statistical Power Analysis, 2.3.5.

    Examples
    --------
    >>> result = detection([3.0, 2.0, 1.0, 5.0], [1.0, 2.0, 2.0, np.nan], np.empty((0, 4), int))
    >>> result.n, round(result.detected, 3), round(result.auc, 3), round(result.cost, 3)
    (3, 0.333, 0.5, 0.333)
    """
    gaps: Floats = np.asarray(original, np.float64) - np.asarray(changed, np.float64)
    known = ~np.isnan(gaps)
    n, nan = int(known.sum()), float("nan")
    if not n:
        return Detection(0, nan, nan, nan, (nan, nan), nan, nan, nan)
    wins = won(gaps)
    some = gaps[known]
    auc = float(wins[known].mean())
    replicates = resampled_means(wins, counts)
    low, high = percentile_interval(replicates, confidence)
    test = paired_difference(auc, 0.5, replicates, np.full(len(replicates), 0.5), n, confidence)
    spread = float(some.std(ddof=1)) if n > 1 else 0.0
    return Detection(
        n,
        float((wins[known] == 1).mean()),
        float((wins[known] == 0.5).mean()),
        auc,
        (low, high),
        test.p,
        float(some.mean()),
        float(some.mean()) / spread if spread > 1e-12 else nan,
    )


def won(gaps: Floats) -> Floats:
    """1 where a difference is positive, 0 where negative, ½ where there is none; NaN stays."""
    return np.where(
        np.isnan(gaps), np.nan, 0.5 * (1 + np.sign(np.where(abs(gaps) < 1e-12, 0, gaps)))
    )


def monotone_share(levels: npt.ArrayLike) -> float:
    """The share of images whose scores fall strictly from each level to the next.

    `levels` is float64 [n_levels, n_images], the best level first; images with a NaN are left out.
    NaN without any image.

    >>> monotone_share([[3.0, 3.0, 1.0], [2.0, 3.0, np.nan]])
    0.5
    """
    table: Floats = np.asarray(levels, np.float64)
    table = table[:, ~np.isnan(table).any(axis=0)]
    if not table.size:
        return float("nan")
    return float((np.diff(table, axis=0) < -1e-12).all(axis=0).mean())
