"""Kendall's τ between the level of a caption and its score: τ-b, and τ-c for graded judgements."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.correlation.concordance import concordance
from metaeval.stats.correlation.crosstab import Crosstab, crosstab
from metaeval.stats.resampling.items import Floats, Ints, scored_items

FEW_LEVELS = 64  # with more, tables of scores by levels grow heavier than sorting

Variant = Literal["b", "c"]


class Kendall(NamedTuple):
    """What `kendall` returns.

    Attributes
    ----------
    tau
        In [-1, 1]; NaN where it is undefined (all scores or all levels equal, or fewer than two
        items).
    n
        Number of scored items.
    """

    tau: float
    n: int


def kendall(scores: npt.ArrayLike, levels: npt.ArrayLike, variant: Variant = "b") -> Kendall:
    """Kendall's τ-b or τ-c over all pairs of scored items, of the same image or not.

    Parameters
    ----------
    scores, levels
        As in `metaeval.stats.correlation.spearman.spearman`: [n_images, n_sets] with NaN = not
        scored, and [n_sets] or the same shape.
    variant
        "b", or "c" (Stuart's), which can reach 1 although there are more scores than levels: the
        one that graded judgements are published with.

    Notes
    -----
    Definition
        τ-b = (C − D) / √((P − T_s)(P − T_l)): C and D the pairs whose scores are in the order of
        their levels and in the opposite one, P = n(n − 1)/2 all pairs, T_s and T_l the pairs with
        equal scores and with equal levels. τ-c = 2m (C − D) / (n² (m − 1)), m the smaller of the
        numbers of distinct scores and distinct levels.
    Ties
        A pair tied in score or in level is neither concordant nor discordant. τ-b's denominator
        leaves out such pairs, each on its own side; in τ-c's they stay.
    Missing
        An item without a score is left out; the other versions of its image stay.
    Time
        O(n log n + n_values · n_levels): pairs are counted from the table of scores by levels, in
        exact integers. With more than 64 levels, a wavelet matrix counts them (`concordance`).
    Interval
        By resampling images (`graded_statistics`, `WeightedCorrelations`); no random part.
    Source
        M. G. Kendall (1945), The treatment of ties in ranking problems, Biometrika 33; A. Stuart
        (1953), The estimation and comparison of strengths of association in contingency tables,
        Biometrika 40. Equal to `scipy.stats.kendalltau` to 1e-12 (tested).

    Examples
    --------
    >>> from metaeval.stats.correlation.kendall import kendall
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> round(kendall(scores, [0, 1]).tau, 4), round(kendall(scores, [0, 1], "c").tau, 4)
    (0.6025, 0.7778)
    """
    items = scored_items(scores, levels)
    if len(np.unique(items.levels)) > FEW_LEVELS:
        return _kendall_of_many_levels(items.scores, items.levels, variant)
    return kendall_of(crosstab(items.scores, items.levels), variant)


def _kendall_of_many_levels(scores: Floats, levels: Floats, variant: Variant) -> Kendall:
    pairs, n = concordance(scores, levels), len(scores)
    coarsest = min(len(np.unique(scores)), len(np.unique(levels)))
    if coarsest < 2:
        return Kendall(float("nan"), n)
    if variant == "c":
        return Kendall(2 * pairs.surplus / n**2 * (coarsest / (coarsest - 1)), n)
    return Kendall(pairs.surplus / (float(pairs.untied_x) ** 0.5 * float(pairs.untied_y) ** 0.5), n)


def kendall_of(table: Crosstab, variant: Variant = "b") -> Kendall:
    """`kendall` from a table of scores by levels."""
    n, coarsest = int(table.counts.sum()), min(table.counts.shape)
    if coarsest < 2:
        return Kendall(float("nan"), n)
    if variant == "c":
        return Kendall(2 * _surplus(table) / n**2 * (coarsest / (coarsest - 1)), n)
    by_score = n * (n - 1) // 2 - tied_pairs(table.counts.sum(axis=1))
    by_level = n * (n - 1) // 2 - tied_pairs(table.counts.sum(axis=0))
    return Kendall(_surplus(table) / (float(by_score) ** 0.5 * float(by_level) ** 0.5), n)


def _surplus(table: Crosstab) -> int:
    """Concordant minus discordant pairs of a table of scores by levels."""
    counts = np.ascontiguousarray(table.counts.T)  # [level, value]: sums run along rows
    below = np.cumsum(counts, axis=1) - counts  # items of the level with a smaller score
    lower = np.cumsum(below, axis=0) - below  # items of lower levels with a smaller score
    higher = below.sum(axis=0) - below - lower
    return int((counts * (lower - higher)).sum())


def tied_pairs(blocks: Ints) -> int:
    """Pairs of items in the same block, for blocks of the given sizes."""
    return int((blocks * (blocks - 1) // 2).sum())
