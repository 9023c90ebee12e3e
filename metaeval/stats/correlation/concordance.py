"""Concordant and discordant partners of every item, in O(n log n), for any number of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Ints, encode


class Concordance(NamedTuple):
    """What `concordance` returns; exact integers.

    Attributes
    ----------
    surplus
        Concordant minus discordant pairs.
    untied_x, untied_y
        Pairs with different x, and with different y.
    """

    surplus: int
    untied_x: int
    untied_y: int


def concordance(x: npt.ArrayLike, y: npt.ArrayLike) -> Concordance:
    """Concordant minus discordant pairs of n items without NaN, and the pairs that are not tied.

    >>> concordance([1, 2, 3, 3], [1, 3, 2, 2])
    Concordance(surplus=1, untied_x=5, untied_y=5)
    """
    first, second = encode(x)[1], encode(y)[1]
    partners = concordant_partners(first, second)
    return Concordance(int(partners.sum()) // 2, _untied(first), _untied(second))


def concordant_partners(x: Ints, y: Ints) -> Ints:
    """For each item, Σ over the others of sign(x − x′) · sign(y − y′), int64 [n].

    `x` and `y` are codes 0 … (`encode`). A wavelet matrix answers for all items at once how many of
    the first items in the order of x have a smaller y: one pass over n for each bit of y.

    >>> concordant_partners(np.array([0, 1, 2]), np.array([0, 2, 1])).tolist()
    [2, 0, 0]
    """
    n = len(x)
    if not n:
        return np.empty(0, dtype=np.int64)
    sizes_x, sizes_y = np.bincount(x), np.bincount(y)
    below_x, below_y = np.cumsum(sizes_x) - sizes_x, np.cumsum(sizes_y) - sizes_y
    less_x, less_y = below_x[x], below_y[y]
    most_x, most_y = (below_x + sizes_x)[x], (below_y + sizes_y)[y]
    ends, values = np.concatenate([less_x, most_x]), np.concatenate([y, y])
    # [x below or x at most] × [y below, y at most]
    below = _smaller_before(y[np.argsort(x, kind="stable")], ends, values)
    at_most = _smaller_before(y[np.argsort(x, kind="stable")], ends, values + 1)
    both_below, x_most = below[:n], below[n:]
    y_most, both_most = at_most[:n], at_most[n:]
    x_below_y_above = less_x - y_most
    x_above_y_below = less_y - x_most
    both_above = n - most_x - most_y + both_most
    return both_below - x_below_y_above - x_above_y_below + both_above


def _smaller_before(sequence: Ints, ends: Ints, values: Ints) -> Ints:
    """How many of sequence[:end] are below value, for each (end, value)."""
    bits = max(int(sequence.max()), int(values.max())).bit_length()
    start, end = np.zeros(len(ends), dtype=np.int64), ends.copy()
    smaller = np.zeros(len(ends), dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        ones = (sequence >> bit) & 1
        zeros = np.concatenate([[0], np.cumsum(1 - ones)])
        from_zero, to_zero = zeros[start], zeros[end]
        high = ((values >> bit) & 1).astype(bool)
        smaller += np.where(high, to_zero - from_zero, 0)
        start = np.where(high, zeros[-1] + start - from_zero, from_zero)
        end = np.where(high, zeros[-1] + end - to_zero, to_zero)
        sequence = np.concatenate([sequence[ones == 0], sequence[ones == 1]])
    return smaller


def _untied(codes: Ints) -> int:
    n, sizes = len(codes), np.bincount(codes)
    return n * (n - 1) // 2 - int((sizes * (sizes - 1) // 2).sum())
