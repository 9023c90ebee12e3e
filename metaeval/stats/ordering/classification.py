"""Binary labels over all captions together: average precision and the area under the ROC curve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats

Interval = tuple[float, float]
_CELLS = 4_000_000  # of the weights that are in memory at once


class Classification(NamedTuple):
    """What `classification` returns; NaN where one of the classes is empty.

    Attributes
    ----------
    n, n_positive
        Captions with a score, and those of them that are positive.
    auroc, auroc_ci
        The probability that a positive caption scores higher than a negative one, ties count half.
    average_precision, average_precision_ci
        The mean precision over the positive captions, at thresholds of descending score.
    """

    n: int
    n_positive: int
    auroc: float
    auroc_ci: Interval
    average_precision: float
    average_precision_ci: Interval


def classification(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    image: npt.ArrayLike,
    counts: Counts | Floats,
    *,
    confidence: float = 0.95,
) -> Classification:
    """How well scores separate positive from negative captions, over all images together.

    Parameters
    ----------
    scores
        float64 [n], higher for positive captions; captions with NaN are left out.
    positive
        bool [n].
    image
        int [n], the number of each caption's image.
    counts
        int [replicates, n_images] from `bootstrap_counts`.

    Notes
    -----
    Ties
        Captions of equal score pass a threshold together: the precision at a threshold counts all
        of them (as scikit-learn's `average_precision_score`).
    Unit
        The image: a replicate repeats all captions of an image.
    Source
        T. Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27; E. M.
        Voorhees and D. K. Harman (2005), TREC, on average precision.

    Examples
    --------
    >>> found = classification([3, 2, 2, 1], [1, 1, 0, 0], [0, 1, 2, 3], np.empty((0, 4)))
    >>> found.auroc, round(found.average_precision, 4)
    (0.875, 0.8333)
    """
    x, label = np.asarray(scores, np.float64), np.asarray(positive, np.bool_)
    unit = np.asarray(image, np.int64)
    scored = ~np.isnan(x)
    x, label, unit = x[scored], label[scored], unit[scored]
    order = np.argsort(-x, kind="stable")
    x, label, unit = x[order], label[order], unit[order]
    ends = np.flatnonzero(np.append(x[1:] != x[:-1], len(x) > 0))  # the last of equal scores
    auroc, precision = _weighted(np.ones((1, len(x))), label, ends)
    per_block = max(1, _CELLS // max(1, len(x)))
    drawn = [
        _weighted(counts[start : start + per_block][:, unit].astype(np.float64), label, ends)
        for start in range(0, len(counts), per_block)
    ]
    none: Floats = np.empty(0)
    columns = (np.concatenate([none, *(d[k] for d in drawn)]) for k in range(2))
    n_units = len(np.unique(unit))
    auroc_ci, precision_ci = (
        (low, high) for low, high in (percentile_interval(c, confidence, n_units) for c in columns)
    )
    return Classification(
        len(x), int(label.sum()), float(auroc[0]), auroc_ci, float(precision[0]), precision_ci
    )


def _weighted(
    weights: Floats, label: npt.NDArray[np.bool_], ends: npt.NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """AUROC and average precision [r] of captions in descending order, with weights [r, n]."""
    true = np.cumsum(weights * label, axis=1)[:, ends]
    false = np.cumsum(weights * ~label, axis=1)[:, ends]
    if not len(ends):
        nothing = np.full(len(weights), np.nan)
        return nothing, nothing
    gained = np.diff(true, axis=1, prepend=0.0)
    lost = np.diff(false, axis=1, prepend=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # pairs of which the positive is higher, and half of those in one threshold
        pairs = (lost * (true - gained / 2)).sum(axis=1)
        auroc = pairs / (true[:, -1] * false[:, -1])
        share = np.where(gained > 0, true / (true + false), 0.0)
        precision = (gained * share).sum(axis=1) / true[:, -1]
    both = (true[:, -1] > 0) & (false[:, -1] > 0)
    return np.where(both, auroc, np.nan), np.where(both, precision, np.nan)
