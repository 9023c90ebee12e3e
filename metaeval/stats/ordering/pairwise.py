"""Pairwise accuracy: of two versions of one caption, does the better one score higher?"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Ints, as_table


class Pairwise(NamedTuple):
    """What `pairwise` returns: three shares of the same pairs, which add up to 1.

    Attributes
    ----------
    accuracy
        Share of pairs in which the version of the higher level has the higher score.
    ties
        Share of pairs with equal scores.
    inversions
        Share of pairs in the wrong order: the inversion rate.
    n
        Number of pairs; with 0 the shares are NaN.
    """

    accuracy: float
    ties: float
    inversions: float
    n: int


class PairCounts(NamedTuple):
    """Pairs of versions per image, int64 [n_images] each."""

    correct: Ints
    tied: Ints
    inverted: Ints


def pairwise(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Pairwise:
    """Compare the versions of each image with each other, and pool the pairs of all images.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored.
    levels
        int [n_sets], more is better. Versions at equal levels are not compared.

    Notes
    -----
    Ties
        Exactly equal scores; counted apart, neither correct nor inverted.
    Missing
        The pairs that touch an unscored version are left out, the other pairs of the image stay.
    Interval
        By resampling images (`graded_statistics`): the pairs of one image stay together.
    Source
        The two-alternative forced choice of PASCAL-50S (R. Vedantam, C. L. Zitnick, D. Parikh
        (2015), CIDEr, CVPR), with known degrees of corruption in the place of judges.

    Examples
    --------
    >>> from metaeval.stats.ordering.pairwise import pairwise
    >>> pairwise([[0.1, 0.5], [0.2, 0.2], [0.4, 0.3], [0.1, 0.9]], [0, 1])
    Pairwise(accuracy=0.5, ties=0.25, inversions=0.25, n=4)
    """
    counts = pair_counts(scores, levels)
    correct, tied, inverted = (int(part.sum()) for part in counts)
    n = correct + tied + inverted
    if n == 0:
        return Pairwise(float("nan"), float("nan"), float("nan"), 0)
    return Pairwise(correct / n, tied / n, inverted / n, n)


def pair_counts(scores: npt.ArrayLike, levels: npt.ArrayLike) -> PairCounts:
    """Correct, tied and inverted pairs of each image; arguments as in `pairwise`."""
    values, grades = as_table(scores, levels)
    counts = PairCounts(*np.zeros((3, len(values)), dtype=np.int64))
    columns = np.ascontiguousarray(values.T)
    for a, b in combinations(range(len(grades)), 2):
        if grades[a] == grades[b]:
            continue
        low, high = (columns[a], columns[b]) if grades[a] < grades[b] else (columns[b], columns[a])
        # Comparisons with NaN are false, so pairs that touch an unscored version count nowhere.
        counts.correct[:] += low < high
        counts.tied[:] += low == high
        counts.inverted[:] += low > high
    return counts
