"""Pearson's correlation between scores and judgements (or levels)."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from metaeval.stats.resampling.items import centred, scored_items


class Pearson(NamedTuple):
    """What `pearson` returns.

    Attributes
    ----------
    r
        In [-1, 1]; NaN where it is undefined: fewer than two items, or one side constant.
    n
        Number of scored items.
    """

    r: float
    n: int


def pearson(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Pearson:
    """Pearson's r: how well a straight line predicts one side from the other.

    Parameters
    ----------
    scores, levels
        As in `metaeval.stats.correlation.spearman.spearman`: any shape with NaN = not scored, and
        the same shape or one that broadcasts to it.

    Notes
    -----
    Definition
        cov(x, y) / (σ_x σ_y) over all scored items.
    Ties
        Play no part: values count, not ranks.
    Missing
        An item without a score or without a judgement is left out.
    Interval
        By resampling images (`correlations.WeightedCorrelations`); no random part.
    Source
        K. Pearson (1895), Note on regression and inheritance in the case of two parents,
        Proceedings of the Royal Society of London 58. Equal to `scipy.stats.pearsonr` to 1e-12
        (tested).

    Examples
    --------
    >>> from metaeval.stats.correlation.pearson import pearson
    >>> round(pearson([0.1, 0.2, 0.4, 0.3], [1, 2, 3, 4]).r, 4)
    0.8
    """
    x, y = scored_items(scores, levels)
    n = len(x)
    # A constant has a spread of exactly zero only if its mean comes out exact: compare instead.
    if n < 2 or (x == x[0]).all() or (y == y[0]).all():
        return Pearson(float("nan"), n)
    x, y = centred(x), centred(y)
    r = float((x * y).sum()) / (float((x * x).sum()) ** 0.5 * float((y * y).sum()) ** 0.5)
    return Pearson(max(-1.0, min(1.0, r)), n)
