"""Rank correlations of weighted items where both sides have many distinct values.

`weighted.WeightedOrder` makes tables of scores by levels, which suits few levels. Here concordant
pairs are counted as merge sort counts inversions, in O(n log n): items are sorted once, and a
weighting only changes the numbers that are summed. All sums are exact integers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, Ints, encode

_BLOCK = 64  # items whose pairs are counted by a matrix product
_WEIGHTINGS = 32  # at a time: what is gathered stays in the cache
_EXACT = 2**31

Array = npt.NDArray[Any]


class PairSums(NamedTuple):
    """What `WeightedPairs.of` returns, float64 [r] each; NaN where undefined or not asked for.

    `surplus` is the number of concordant minus that of discordant pairs, `coarsest` the smaller of
    the numbers of distinct values with weight.
    """

    spearman_rho: Floats
    kendall_tau_b: Floats
    surplus: Floats
    n: Floats
    coarsest: Floats


class _Merge(NamedTuple):
    """One level of the merge: every right half against its left half.

    `left` are positions in order of (block, y), `right` positions in order. `below` and `at_most`
    say after how many of `left` the y of each right item is reached and passed; `start` and `end`
    are the bounds of each block in `left`, `first` the first right item of each block.
    """

    left: Ints
    right: Ints
    below: Ints
    at_most: Ints
    start: Ints
    end: Ints
    first: Ints


class WeightedPairs:
    """Items with two values each, ready to be weighted.

    Parameters
    ----------
    x, y
        float64 [n], without NaN.
    unit
        int [n]: the column of the weights that each item's weight comes from.
    """

    def __init__(self, x: Floats, y: Floats, unit: Ints) -> None:
        code_x = encode(x)[1]
        values_y, code_y = encode(y)
        order = np.lexsort((code_y, code_x))
        self._unit, self._x, self._y = unit[order], code_x[order], code_y[order]
        self._n_y = len(values_y)
        self._x_starts = np.flatnonzero(np.diff(self._x, prepend=-1))
        pair = self._x * self._n_y + self._y
        self._xy_starts = np.flatnonzero(np.diff(pair, prepend=-1))
        self._by_y = np.argsort(self._y, kind="stable")
        self._y_starts = np.flatnonzero(np.diff(self._y[self._by_y], prepend=-1))
        self._merges = [self._merge(size) for size in self._sizes()]
        self._signs = self._block_signs()

    def _sizes(self) -> list[int]:
        sizes, size = [], _BLOCK
        while size < len(self._x):
            sizes.append(size)
            size *= 2
        return sizes

    def _merge(self, size: int) -> _Merge:
        place = np.arange(len(self._y))
        is_left = (place // size) % 2 == 0
        left, right = place[is_left], place[~is_left]
        step = self._n_y + 1
        left = left[np.lexsort((self._y[left], left // (2 * size)))]
        keys = left // (2 * size) * step + self._y[left]
        block = right // (2 * size)
        wanted = block * step + self._y[right]
        blocks = np.arange(int(block.max(initial=-1)) + 1)
        return _Merge(
            left, right,
            np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right"),
            np.searchsorted(keys, blocks * step), np.searchsorted(keys, (blocks + 1) * step),
            np.searchsorted(block, blocks),
        )  # fmt: skip

    def _block_signs(self) -> npt.NDArray[np.float32]:
        """sign(y_j − y_i) of the items i before j of each block, [blocks, j, i]."""
        blocks = -(-len(self._y) // _BLOCK)
        padded = np.full(blocks * _BLOCK, -1, dtype=np.int64)
        padded[: len(self._y)] = self._y
        y = padded.reshape(blocks, _BLOCK)
        signs = np.sign(y[:, :, None] - y[:, None, :])
        # padding has no weight: its signs do not matter
        lower: npt.NDArray[np.float32] = np.tril(signs, -1).astype(np.float32)
        return lower

    def of(
        self, weights: npt.NDArray[np.integer], *, ranks: bool = True, pairs: bool = True
    ) -> PairSums:
        """Spearman's ρ (`ranks`) and Kendall's sums (`pairs`) for integer weights [r, n_units]."""
        parts = [
            self._few(weights[start : start + _WEIGHTINGS], ranks, pairs)
            for start in range(0, max(len(weights), 1), _WEIGHTINGS)
        ]
        return PairSums(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _few(self, weights: npt.NDArray[np.integer], ranks: bool, pairs: bool) -> PairSums:
        heaviest = int(weights.sum(axis=1, dtype=np.int64).max(initial=0))
        per_unit = int(np.bincount(self._unit).max(initial=1))
        small = (heaviest * per_unit) ** 2 < _EXACT
        w = np.ascontiguousarray(weights.T).astype(np.int32 if small else np.float64)[self._unit]
        w_by_y = w[self._by_y]
        of_x = np.add.reduceat(w, self._x_starts, axis=0).astype(np.float64)
        of_y = np.add.reduceat(w_by_y, self._y_starts, axis=0).astype(np.float64)
        n = of_x.sum(axis=0)
        coarsest = np.minimum((of_x > 0).sum(axis=0), (of_y > 0).sum(axis=0)).astype(np.float64)
        undefined = np.full(len(n), np.nan)
        rho = self._spearman(w, of_x, of_y, n) if ranks else undefined
        if not pairs:
            return PairSums(rho, undefined, undefined, n, coarsest)
        squares_x, squares_y = (np.einsum("gr,gr->r", g, g) for g in (of_x, of_y))
        of_xy = np.add.reduceat(w, self._xy_starts, axis=0).astype(np.float64)
        squares_xy = np.einsum("gr,gr->r", of_xy, of_xy)
        # in order of (x, y), pairs tied in x alone were counted as concordant
        surplus = self._ordered(w) - (squares_x - squares_xy) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            untied = np.sqrt((n * n - squares_x) / 2) * np.sqrt((n * n - squares_y) / 2)
            tau = np.where(untied > 0, surplus / untied, np.nan)
        return PairSums(rho, tau, surplus, n, coarsest)

    def _ordered(self, w: Array) -> Floats:
        """Σ over items i before j of w_i w_j sign(y_j − y_i), [r]."""
        r = w.shape[1]
        blocks = len(self._signs)
        padded = np.zeros((blocks * _BLOCK, r), dtype=np.float32)
        padded[: len(w)] = w
        cube = padded.reshape(blocks, _BLOCK, r)
        # exact: a row sums up to at most 64 weights below 2^18
        inner = np.matmul(self._signs, cube).astype(np.float64)
        total = np.einsum("bir,bir->r", inner, cube)
        for merge in self._merges:
            running = np.zeros((len(merge.left) + 1, r), dtype=w.dtype)
            np.cumsum(w[merge.left], axis=0, out=running[1:])
            right = w[merge.right]
            reached = running[merge.below]
            reached += running[merge.at_most]
            total += np.einsum("ir,ir->r", right, reached)
            of_block = np.add.reduceat(right, merge.first, axis=0)
            bounds = running[merge.start] + running[merge.end]
            total -= np.einsum("br,br->r", of_block, bounds)
        return np.asarray(total, dtype=np.float64)

    def _spearman(self, w: Array, of_x: Floats, of_y: Floats, n: Floats) -> Floats:
        rank_x, rank_y = (np.cumsum(g, axis=0) - g / 2 - n / 2 for g in (of_x, of_y))
        product = rank_x[self._x]
        product *= rank_y[self._y]
        covariance = np.einsum("ir,ir->r", product, w)
        spread = [np.einsum("gr,gr,gr->r", g, k, k) for g, k in ((of_x, rank_x), (of_y, rank_y))]
        with np.errstate(invalid="ignore", divide="ignore"):
            size = np.sqrt(spread[0]) * np.sqrt(spread[1])
            return np.asarray(np.where(size > 0, covariance / size, np.nan))
