"""Kendall's τ-b between the level of a caption and its score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.correlation.crosstab import Crosstab, crosstab
from metaeval.stats.resampling.items import scored_items

_FEW = 64  # levels; beyond it the table of values × levels grows heavier than scipy's merge sort


class Kendall(NamedTuple):
    """What `kendall` returns.

    Attributes
    ----------
    tau_b
        In [-1, 1]; NaN where it is undefined (all scores or all levels equal, or fewer than two
        items).
    n
        Number of scored items.
    """

    tau_b: float
    n: int


def kendall(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Kendall:
    """Kendall's τ-b over all pairs of scored items, of the same image or not.

    Parameters
    ----------
    scores, levels
        As in `metaeval.stats.correlation.spearman.spearman`: [n_images, n_sets] with NaN = not
        scored, and [n_sets] or the same shape.

    Notes
    -----
    Definition
        (C − D) / √((P − T_s)(P − T_l)): C and D the pairs whose scores are in the order of their
        levels and in the opposite one, P = n(n − 1)/2 all pairs, T_s and T_l the pairs with equal
        scores and with equal levels.
    Ties
        A pair tied in score or in level is neither concordant nor discordant; the denominator
        leaves out such pairs, each on its own side.
    Missing
        An item without a score is left out; the other versions of its image stay.
    Time
        O(n log n + n_values · n_levels): pairs are counted from the table of scores by levels, in
        exact integers. With more than 64 levels, scipy counts them.
    Interval
        By resampling images (`graded_statistics`); no random part.
    Source
        M. G. Kendall (1945), The treatment of ties in ranking problems, Biometrika 33. Equal to
        `scipy.stats.kendalltau` to 1e-12 (tested).

    Examples
    --------
    >>> from metaeval.stats.correlation.kendall import kendall
    >>> round(kendall([[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]], [0, 1]).tau_b, 4)
    0.6025
    """
    items = scored_items(scores, levels)
    if len(np.unique(items.levels)) > _FEW:
        from scipy.stats import kendalltau  # slow to import, rarely needed

        return Kendall(float(kendalltau(items.scores, items.levels).statistic), len(items.scores))
    return tau_b(crosstab(items.scores, items.levels))


def tau_b(table: Crosstab) -> Kendall:
    """τ-b from a table of scores by levels."""
    counts = np.ascontiguousarray(table.counts.T)  # [level, value]: sums run along rows
    n = int(counts.sum())
    below = np.cumsum(counts, axis=1) - counts  # items of the level with a smaller score
    lower = np.cumsum(below, axis=0) - below  # items of lower levels with a smaller score
    higher = below.sum(axis=0) - below - lower
    surplus = int((counts * (lower - higher)).sum())  # concordant − discordant
    by_score = n * (n - 1) // 2 - tied_pairs(counts.sum(axis=0))
    by_level = n * (n - 1) // 2 - tied_pairs(counts.sum(axis=1))
    if by_score == 0 or by_level == 0:
        return Kendall(float("nan"), n)
    return Kendall(surplus / (float(by_score) ** 0.5 * float(by_level) ** 0.5), n)


def tied_pairs(blocks: npt.NDArray[np.int64]) -> int:
    """Pairs of items in the same block, for blocks of the given sizes."""
    return int((blocks * (blocks - 1) // 2).sum())
