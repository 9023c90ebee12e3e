"""How often each score occurs at each level: all that a rank statistic needs to know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, Ints, encode, scored_items


class Crosstab(NamedTuple):
    """Items counted by score and level.

    Attributes
    ----------
    counts
        int64 [n_values, n_levels]: rows by ascending distinct score, columns by ascending level.
        A row with more than one item is a block of ties.
    levels
        float64 [n_levels], the distinct levels.
    """

    counts: Ints
    levels: Floats


def crosstab(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Crosstab:
    """Count the scored items by distinct score and level (see `scored_items` for the shapes).

    Takes O(n log n) time and n_values · n_levels memory: for few levels, which is what graded
    corruptions and human ratings have.

    >>> crosstab([[0.1, 0.4], [0.1, 0.1]], [0, 1]).counts.tolist()
    [[2, 1], [0, 1]]
    """
    items = scored_items(scores, levels)
    values, rows = encode(items.scores)
    distinct, columns = encode(items.levels)
    cells = rows * len(distinct) + columns
    counts = np.bincount(cells, minlength=len(values) * len(distinct)).astype(np.int64)
    return Crosstab(counts.reshape(len(values), len(distinct)), distinct)
