"""How much of an order is decided by ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from metaeval.stats.correlation.crosstab import Crosstab, crosstab
from metaeval.stats.correlation.kendall import tied_pairs


class Ties(NamedTuple):
    """What `ties` returns.

    Attributes
    ----------
    items
        Share of scored items that have their score in common with at least one other item, in
        [0, 1]; NaN without items.
    pairs
        Share of tied pairs among all pairs of scored items; NaN with fewer than two items.
    """

    items: float
    pairs: float


def ties(scores: npt.ArrayLike) -> Ties:
    """The tie fraction of scores of any shape; NaN = not scored, left out.

    Two scores are tied if they are the same float64: no tolerance. Resampling images would itself
    create ties, so the tie fraction has no bootstrap interval.

    Examples
    --------
    >>> from metaeval.stats.ordering.ties import ties
    >>> ties([[0.0, 0.0], [0.0, 0.7]])
    Ties(items=0.75, pairs=0.5)
    """
    return tie_shares(crosstab(scores, 0))


def tie_shares(table: Crosstab) -> Ties:
    """The tie fraction from a table of scores by levels."""
    blocks = table.counts.sum(axis=1)
    n = int(blocks.sum())
    nan = float("nan")
    return Ties(
        int(blocks[blocks > 1].sum()) / n if n else nan,
        tied_pairs(blocks) / (n * (n - 1) // 2) if n > 1 else nan,
    )
