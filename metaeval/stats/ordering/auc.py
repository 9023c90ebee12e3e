"""AUC of adjacent levels: does the metric distinguish one degree of corruption from the next?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import as_scores, scored_items


def auc(lower: npt.ArrayLike, upper: npt.ArrayLike) -> float:
    """Probability in [0, 1] that a random item of `upper` scores higher than one of `lower`; NaN
    where one side has no scored item.

    Parameters
    ----------
    lower, upper
        Scores of any shape; NaN = not scored, left out. Items of all images are compared with each
        other, not only versions of the same image (that is `metaeval.stats.ordering.pairwise`).

    Notes
    -----
    Definition
        U / (n_lower · n_upper) with the Mann–Whitney statistic U.
    Ties
        A tie counts one half.
    Interval
        By resampling images (`graded_statistics`), which keeps the two versions of an image
        together; DeLong's interval would take the two sides as independent. No random part.
    Source
        H. B. Mann and D. R. Whitney (1947), Annals of Mathematical Statistics 18; J. A. Hanley and
        B. J. McNeil (1982), Radiology 143. Equal to `scipy.stats.mannwhitneyu` (tested).

    Examples
    --------
    >>> from metaeval.stats.ordering.auc import auc
    >>> auc(lower=[0.1, 0.2, 0.4], upper=[0.5, 0.4])
    0.9166666666666666
    """
    low, high = np.sort(scored_items(lower, 0).scores), np.sort(scored_items(upper, 0).scores)
    if not len(low) or not len(high):
        return float("nan")
    below = np.searchsorted(low, high, side="left").sum()
    not_above = np.searchsorted(low, high, side="right").sum()
    return int(below + not_above) / (2 * len(low) * len(high))


def adjacent_auc(scores: npt.ArrayLike, levels: npt.ArrayLike) -> list[float]:
    """`auc` of each level with the next higher one, ascending; sets at equal levels are pooled.

    Takes scores and levels as `metaeval.stats.correlation.spearman.spearman` does. A level none of
    whose items is scored stays in its place, with an AUC of NaN on both sides.
    """
    values = as_scores(scores)
    grades = np.broadcast_to(np.asarray(levels), values.shape)
    parts = [values[grades == level] for level in np.unique(np.asarray(levels))]
    return [auc(low, high) for low, high in pairwise(parts)]
