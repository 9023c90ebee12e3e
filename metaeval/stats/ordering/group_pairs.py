"""The pairs of items of one group (an image): all of them, or of large groups a random part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metaeval.stats.resampling.items import Ints

MOST_PAIRS = 2_000_000  # a share of so many has a standard error of at most 0.04 %
_STREAM = 0x9A125  # keeps the draw apart from other uses of the same seed


class GroupPairs(NamedTuple):
    """What `group_pairs` returns.

    Attributes
    ----------
    first, second
        int [p]: the positions of the items of each pair, the earlier one first.
    total
        How many pairs there are; more than p where some were drawn.
    """

    first: Ints
    second: Ints
    total: int


def group_pairs(group: Ints, most: int = MOST_PAIRS) -> GroupPairs:
    """The pairs of items with the same group, [n] codes 0 …

    Where there are more than `most` in all, the largest groups have an equal number of pairs each,
    drawn at random with replacement; the smaller ones have all of theirs. The draw depends on the
    groups alone.

    >>> [x.tolist() for x in group_pairs(np.array([1, 0, 1, 1]))[:2]]
    [[0, 0, 2], [2, 3, 3]]
    >>> len(group_pairs(np.zeros(100, dtype=np.int64), most=50).first)
    50
    """
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    pairs = sizes * (sizes - 1) // 2
    total = int(pairs.sum())
    drawn = pairs > _limit(np.sort(pairs), most)
    # item i of a group is paired with those after it: i is repeated, its partners are counted off
    items = np.flatnonzero(~drawn[group[order]])
    ends = np.repeat(np.cumsum(sizes), sizes)
    partners = (ends - np.arange(len(order)) - 1)[items]
    first = np.repeat(items, partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    if drawn.any():
        rng = np.random.default_rng(_STREAM)
        each = (most - len(first)) // int(drawn.sum())
        starts, of = (np.cumsum(sizes) - sizes)[drawn][:, None], sizes[drawn][:, None]
        one = rng.integers(of, size=(len(of), each))
        other = rng.integers(of - 1, size=(len(of), each))
        other += other >= one
        low, high = np.minimum(one, other) + starts, np.maximum(one, other) + starts
        first, second = np.append(first, low), np.append(second, high)
    return GroupPairs(order[first], order[second], total)


def _limit(ascending: Ints, most: int) -> int:
    """The most pairs that a group may have for its own not to be drawn."""
    before = np.cumsum(ascending) - ascending
    share = (most - before) // np.arange(len(ascending), 0, -1)
    above = np.flatnonzero(ascending > share)
    return int(share[above[0]]) if len(above) else int(ascending.max(initial=0))
