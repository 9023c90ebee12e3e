"""Monotone rate: how often is the whole series of versions in the right order?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.ordering.pairwise import pair_counts
from metaeval.stats.resampling.items import as_table


class Monotone(NamedTuple):
    """What `monotone` returns.

    Attributes
    ----------
    rate
        Share of complete images whose versions are all strictly in order; NaN without any.
    n
        Number of complete images: those with a score for every version.
    """

    rate: float
    n: int


class MonotoneFlags(NamedTuple):
    """bool [n_images] each: all versions strictly in order; all versions scored."""

    monotone: npt.NDArray[np.bool_]
    complete: npt.NDArray[np.bool_]


def monotone(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Monotone:
    """Share of images in which every version scores higher than every version below its level.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored.
    levels
        int [n_sets], more is better. Versions at equal levels may come in any order.

    Notes
    -----
    Ties
        Strict: one tie between two levels and the image is not monotone.
    Missing
        An image with an unscored version is left out. (Fewer versions are easier to get right, so
        incomplete images would raise the rate.)
    Chance
        1/n_sets! for distinct levels: 0.0417 with four sets.
    Interval
        By resampling images (`graded_statistics`). No random part.

    Examples
    --------
    >>> from metaeval.stats.ordering.monotone import monotone
    >>> monotone([[0.1, 0.5, 0.9], [0.2, 0.2, 0.8]], [0, 1, 2])
    Monotone(rate=0.5, n=2)
    """
    flags = monotone_flags(scores, levels)
    n = int(flags.complete.sum())
    return Monotone(int(flags.monotone.sum()) / n if n else float("nan"), n)


def monotone_flags(scores: npt.ArrayLike, levels: npt.ArrayLike) -> MonotoneFlags:
    """Which images are monotone and which complete; arguments as in `monotone`."""
    values, grades = as_table(scores, levels)
    counts = pair_counts(values, grades)
    # An order needs two different levels.
    several = len(np.unique(grades)) > 1
    complete = np.asarray(~np.isnan(values).any(axis=1) & several)
    return MonotoneFlags(complete & (counts.tied + counts.inverted == 0), complete)
