"""The rank-order ρ of each image alone, averaged over the images."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.correlation.ranks import midranks
from metaeval.stats.resampling.items import Floats, Ints, as_table, encode


class RankOrderWithin(NamedTuple):
    """What `rank_order_within` returns.

    Attributes
    ----------
    rho
        Mean over images, in [-1, 1]; NaN without any.
    n
        Images with scored versions of at least two levels.
    """

    rho: float
    n: int


def rank_order_within(scores: npt.ArrayLike, levels: npt.ArrayLike) -> RankOrderWithin:
    """Mean over images of the rank-order ρ among the versions of one image.

    Differences in difficulty between images, which the pooled
    `metaeval.stats.correlation.rank_order` pays for, play no part here.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored.
    levels
        int [n_sets], more is better.

    Notes
    -----
    Definition
        For one image: its scored versions in order of score, their levels against the ideal order
        of these levels; Pearson's correlation of the midranks.
    Ties
        Midranks, which is the expectation under random tie-breaking: an image whose versions all
        score the same counts 0 (Spearman's ρ would be undefined and drop it).
    Missing
        An image counts with the versions that are scored, if these are of at least two levels.
    Seed
        None: no random part.

    Examples
    --------
    >>> from metaeval.stats.correlation.rank_order_within import rank_order_within
    >>> rank_order_within([[0.1, 0.5, 0.9], [0.2, 0.2, 0.8], [0.3, 0.3, 0.3]], [0, 1, 2])
    RankOrderWithin(rho=0.5833333333333334, n=3)
    """
    rhos = rank_orders_within(scores, levels)
    defined = rhos[~np.isnan(rhos)]
    return RankOrderWithin(float(defined.mean()) if len(defined) else float("nan"), len(defined))


def rank_orders_within(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Floats:
    """The rank-order ρ of each image, float64 [n_images]; NaN for an image that does not count.

    Arguments and rules as in `rank_order_within`.
    """
    values, grades = as_table(scores, levels)
    scored = ~np.isnan(values)
    # Images with the same versions missing share their ideal order; usually that is all of them.
    members = np.zeros(len(values), dtype=np.int64)
    for column in scored.T:
        members = encode(2 * members + column)[1]
    rhos = np.full(len(values), np.nan)
    for k in range(int(members.max(initial=-1)) + 1):
        mine = members == k
        pattern = scored[np.argmax(mine)]
        if len(np.unique(grades[pattern])) > 1:
            rhos[mine] = _rhos(values[mine][:, pattern], grades[pattern])
    return rhos


def _rhos(values: Floats, levels: Ints) -> Floats:
    """The ρ of every row of a table without gaps, float64 [n_images]."""
    rank = midranks(levels) - (len(levels) + 1) / 2
    ideal = np.concatenate([[0.0], np.cumsum(np.sort(rank))])  # ideal ranks summed up to a position
    columns = np.ascontiguousarray(values.T)
    covariance = np.zeros(len(values))
    for column, level_rank in zip(columns, rank, strict=True):
        # A version's block of ties takes positions first … last − 1; on average each of them is
        # given the mean ideal rank of the block.
        first = (columns < column).sum(axis=0)
        last = (columns <= column).sum(axis=0)
        covariance += level_rank * (ideal[last] - ideal[first]) / (last - first)
    return covariance / float(rank @ rank)
