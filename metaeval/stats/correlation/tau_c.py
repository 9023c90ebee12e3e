"""Kendall's τ-c (Stuart's): the τ of tables that are not square, used for graded judgements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.correlation.crosstab import Crosstab, crosstab
from metaeval.stats.resampling.items import scored_items

_FEW = 64  # levels; beyond it scipy's merge sort is faster than the table


class KendallC(NamedTuple):
    """What `kendall_c` returns.

    Attributes
    ----------
    tau_c
        In [-1, 1]; NaN where it is undefined: fewer than two items, or one side constant.
    n
        Number of scored items.
    """

    tau_c: float
    n: int


def kendall_c(scores: npt.ArrayLike, levels: npt.ArrayLike) -> KendallC:
    """Kendall's τ-c over all pairs of scored items, of the same image or not.

    Parameters
    ----------
    scores, levels
        As in `metaeval.stats.correlation.spearman.spearman`.

    Notes
    -----
    Definition
        2m (C − D) / (n² (m − 1)): C and D the pairs whose scores are in the order of their levels
        and in the opposite one, m the smaller of the numbers of distinct scores and distinct
        levels. Unlike τ-b it can reach 1 although there are more scores than levels.
    Ties
        A pair tied in score or in level counts neither way, and stays in the denominator.
    Missing
        An item without a score is left out.
    Time
        O(n log n + n_values · n_levels), counted in exact integers; with more than 64 levels,
        scipy counts the pairs.
    Source
        A. Stuart (1953), The estimation and comparison of strengths of association in contingency
        tables, Biometrika 40. Equal to `scipy.stats.kendalltau(…, variant="c")` to 1e-12 (tested).

    Examples
    --------
    >>> from metaeval.stats.correlation.tau_c import kendall_c
    >>> round(kendall_c([[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]], [0, 1]).tau_c, 4)
    0.7778
    """
    items = scored_items(scores, levels)
    if len(np.unique(items.levels)) > _FEW:
        from scipy.stats import kendalltau  # slow to import, rarely needed

        tau = kendalltau(items.scores, items.levels, variant="c").statistic
        return KendallC(float(tau), len(items.scores))
    return tau_c(crosstab(items.scores, items.levels))


def tau_c(table: Crosstab) -> KendallC:
    """τ-c from a table of scores by levels."""
    n, m = int(table.counts.sum()), min(table.counts.shape)
    if m < 2:
        return KendallC(float("nan"), n)
    return KendallC(2 * surplus(table) / n**2 * (m / (m - 1)), n)


def surplus(table: Crosstab) -> int:
    """Concordant minus discordant pairs of a table of scores by levels."""
    counts = np.ascontiguousarray(table.counts.T)  # [level, value]: sums run along rows
    below = np.cumsum(counts, axis=1) - counts  # items of the level with a smaller score
    lower = np.cumsum(below, axis=0) - below  # items of lower levels with a smaller score
    higher = below.sum(axis=0) - below - lower
    return int((counts * (lower - higher)).sum())
