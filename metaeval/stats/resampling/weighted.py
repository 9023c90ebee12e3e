"""The sums behind the across-item statistics when every image has a weight.

A bootstrap replicate is a vector of image weights. Items are sorted once; in a replicate, the order
of the items is the same and only the counts change, so each sum below is a few passes over running
totals. All sums are exact integers: no result depends on chunks or threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.bootstrap import Array, Buffers
from metaeval.stats.resampling.items import Floats, Ints, centred_midranks, encode

_DEPTH = 32  # slabs per grid: fewer than 16 or more than 128 are slower


class RunningTotals:
    """The total weight of the first p items of an order, for any p and many replicates at once.

    The one hot loop of the bootstrap. Replicates lie side by side in memory, so that every step is
    plain vector arithmetic on rows; and items are stored column-wise in a grid (position
    k·depth + j of the order is row j·width + k), so that a running total down the grid adds whole
    slabs, where `numpy.cumsum` along the first axis would go one element at a time (seven times
    slower).

    Parameters
    ----------
    images
        int [n]: the image of each item, in the order.
    padding
        The index of a row of weights that is all zero.
    """

    def __init__(self, images: Ints, padding: int) -> None:
        # One padding item comes first, so that "the first 0 items" has a row as well.
        self._width = -(-(len(images) + 1) // _DEPTH)
        self._source = np.full(_DEPTH * self._width, padding, dtype=np.int64)
        self._source[self.rows(np.arange(1, len(images) + 1))] = images

    def rows(self, n_items: Ints) -> Ints:
        """The rows of the result of `of` that hold the totals of the first `n_items` items."""
        block, offset = np.divmod(n_items, _DEPTH)
        return np.asarray(offset * self._width + block, dtype=np.int64)

    def of(self, weights: Array, buffers: Buffers, name: str) -> Array:
        """Totals [rows, r] for weights [n_images + 1, r], whose last row is zero; same dtype."""
        totals = buffers.empty(name, (len(self._source), weights.shape[1]), weights.dtype)
        grid = totals.reshape(_DEPTH, self._width, -1)
        for j, images in enumerate(self._source.reshape(_DEPTH, self._width)):
            np.take(weights, images, axis=0, out=grid[j], mode="clip")
            if j:
                np.add(grid[j], grid[j - 1], out=grid[j])
        ahead = np.zeros_like(grid[0])
        np.cumsum(grid[-1, :-1], axis=0, out=ahead[1:])
        np.add(grid, ahead, out=grid)
        return totals


_BLOCK = 2**18  # numbers gathered at a time: items times replicates


class Sums(NamedTuple):
    """Sums of r replicates, float64. Levels ascend; "items" are weighted.

    Attributes
    ----------
    sizes
        [n_levels, r]: items at each level.
    wins
        [n_levels, n_levels, r]: at [h, g] the pairs in which the item of level h scores higher than
        the item of level g, ties counting one half; filled for h > g.
    ties2, ties3
        [r]: Σ t² and Σ t³ over the distinct scores, t the number of items with the score.
    prefixes
        [n_levels, n_levels − 1, r]: the expected number of items of each level before each boundary
        of the ideal order, under random tie-breaking (see `rho_of_prefixes`).
    """

    sizes: Floats
    wins: Floats
    ties2: Floats
    ties3: Floats
    prefixes: Floats


class RankCorrelations(NamedTuple):
    """What r replicates say of ranks, float64 [r] each; NaN where it is undefined.

    `surplus` is the number of concordant minus that of discordant pairs.
    """

    spearman_rho: Floats
    kendall_tau_b: Floats
    surplus: Floats


def rank_correlations(sums: Sums) -> RankCorrelations:
    """Spearman's ρ and Kendall's τ-b of weighted items from their sums."""
    w, n = sums.sizes, sums.sizes.sum(axis=0)
    rank = centred_midranks(w)
    covariance, surplus = np.zeros_like(n), np.zeros_like(n)
    for h in range(len(w)):
        for g in range(h):
            excess = sums.wins[h, g] - w[h] * w[g] / 2  # half of concordant − discordant pairs
            covariance += (rank[h] - rank[g]) * excess
            surplus += 2 * excess
    score_variance = (n**3 - sums.ties3) / 12  # Σ of squared centred midranks
    level_variance = (n**3 - (w**3).sum(axis=0)) / 12
    score_pairs = (n * n - sums.ties2) / 2  # pairs not tied in score
    level_pairs = (n * n - (w * w).sum(axis=0)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return RankCorrelations(
            covariance / (np.sqrt(score_variance) * np.sqrt(level_variance)),
            surplus / (np.sqrt(score_pairs) * np.sqrt(level_pairs)),
            surplus,
        )


class _Blocks(NamedTuple):
    """The blocks of a level's items with one score: those of one item that no other shares first.

    Attributes
    ----------
    starts, ends
        The rows of the level's totals before and after each block.
    shared
        Of the other blocks, the place of the score among those of several items.
    below
        Of each lower level, the rows of its totals before each block, and after each of the others.
    """

    starts: Ints
    ends: Ints
    shared: Ints
    below: list[Ints]


class WeightedOrder:
    """Items in order of score, ready to be weighted.

    Parameters
    ----------
    scores, image, group
        [n] of each item: the score without NaN, the number of its image, and the place of its level
        among the distinct levels, 0 … n_levels − 1.
    n_images, n_levels
        Numbers of images and levels, with those of which nothing is scored.
    """

    def __init__(
        self, scores: Floats, image: Ints, group: Ints, n_images: int, n_levels: int
    ) -> None:
        values, code = encode(scores)
        order = np.argsort(code, kind="stable")
        image, code, group = image[order], code[order], group[order]
        table = np.bincount(code * n_levels + group, minlength=len(values) * n_levels)
        table = table.reshape(len(values), n_levels)
        several = table.sum(axis=1) > 1
        shared = np.cumsum(several) - 1  # the place of a score among those of several items
        first = np.zeros((len(values) + 1, n_levels), dtype=np.int64)
        np.cumsum(table, axis=0, out=first[1:])  # [score, level]: items below

        self.n_levels, self.n_values, self.n_shared = n_levels, len(values), int(several.sum())
        self.totals = [RunningTotals(image[group == g], n_images) for g in range(n_levels)]
        self.rows = [t.rows(first[:, g]) for g, t in enumerate(self.totals)]
        self.alone_per_image = np.bincount(image[~several[code]], minlength=n_images)
        self.blocks: list[_Blocks] = []
        for h, rows in enumerate(self.rows):
            known = np.flatnonzero(table[:, h])
            known = np.concatenate([known[~several[known]], known[several[known]]])
            ties = known[several[known]]
            ends = np.concatenate([known, ties + 1])
            below = [lower[ends] for lower in self.rows[:h]]
            self.blocks.append(_Blocks(rows[known], rows[known + 1], shared[ties], below))

    @classmethod
    def of_table(cls, scores: Floats, groups: Ints, n_levels: int) -> WeightedOrder:
        """The order of the items of a table [n_images, n_sets], NaN left out, of sets at the levels
        `groups` [n_sets]."""
        image, column = np.nonzero(~np.isnan(scores))
        return cls(scores[image, column], image, groups[column], len(scores), n_levels)

    def sums(self, weights: Array, buffers: Buffers, prefixes: bool = True) -> Sums:
        """The sums for integer weights [n_images + 1, r], whose last row is zero.

        The dtype of the weights has to hold the greatest possible sum; see `sum_type`. Without
        `prefixes`, which only the rank-order ρ needs, those are left empty.
        """
        k, r = self.n_levels, weights.shape[1]
        take = buffers.take
        totals = [t.of(weights, buffers, f"totals {g}") for g, t in enumerate(self.totals)]
        tied = buffers.empty("tied", (self.n_shared, r), weights.dtype)
        tied[:] = 0
        wins = np.zeros((k, k, r))
        size = max(1, _BLOCK // r)  # blocks at a time: what is gathered stays in the cache
        for h, blocks in enumerate(self.blocks):
            n, alone = len(blocks.starts), len(blocks.starts) - len(blocks.shared)
            drawn = buffers.empty("drawn", (n + len(blocks.shared), r), weights.dtype)
            ends = take("ends", totals[h], blocks.ends)
            np.subtract(ends, take("starts", totals[h], blocks.starts), out=drawn[:n])
            drawn[n:] = drawn[alone:n]
            tied[blocks.shared] += drawn[n:]
            np.multiply(drawn[:alone], 2, out=drawn[:alone])
            for start in range(0, len(drawn), size):
                part = drawn[start : start + size]
                for g, below in enumerate(blocks.below):
                    smaller = take("smaller", totals[g], below[start : start + size])
                    wins[h, g] += np.einsum("ir,ir->r", part, smaller)
        squares, cubes = self._tie_sums(weights[:-1], tied, buffers)
        sizes = np.array([t[rows[-1]] for t, rows in zip(totals, self.rows, strict=True)])
        before = self._prefixes(totals, sizes) if prefixes else np.empty((k, 0, r))
        return Sums(sizes.astype(np.float64), wins / 2, squares, cubes, before)

    def _tie_sums(self, weights: Array, tied: Array, buffers: Buffers) -> tuple[Floats, Floats]:
        """Σ t² and Σ t³: an item alone with its score is as often there as its image."""
        alone = self.alone_per_image.astype(weights.dtype)
        power = buffers.empty("power", weights.shape, weights.dtype)
        np.multiply(weights, weights, out=power)
        squares = np.einsum("i,ir->r", alone, power).astype(np.float64)
        np.multiply(power, weights, out=power)
        cubes = np.einsum("i,ir->r", alone, power).astype(np.float64)
        block = buffers.empty("block", tied.shape, np.float64)
        block[:] = tied
        square = buffers.empty("square", tied.shape, np.float64)
        np.multiply(block, block, out=square)
        squares += square.sum(axis=0)
        cubes += np.einsum("br,br->r", square, block)
        return squares, cubes

    def _prefixes(self, totals: list[Array], sizes: Array) -> Floats:
        """Expected items of each level before each boundary, by bisection for the score there."""
        boundaries = np.cumsum(sizes, axis=0)[:-1]  # [boundary, r]
        replicate = np.arange(sizes.shape[1])

        def items(score: Ints) -> Array:
            """Items with a smaller score, [level, boundary, r]."""
            parts = zip(totals, self.rows, strict=True)
            return np.array([total[rows[score], replicate] for total, rows in parts])

        low = np.zeros(boundaries.shape, dtype=np.int64)
        high = np.full(boundaries.shape, self.n_values + 1)
        for _ in range(int(self.n_values).bit_length()):
            middle = (low + high) // 2
            fits = items(middle).sum(axis=0) <= boundaries
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        start = items(low)
        block = items(np.minimum(low + 1, self.n_values)) - start
        taken = boundaries - start.sum(axis=0)
        # Beyond the last score nothing is left, and nothing is taken.
        return np.asarray(start + block * (taken / np.maximum(block.sum(axis=0), 1)))


def pad_weights(weights: Array, dtype: npt.DTypeLike, buffers: Buffers) -> Array:
    """Weights [n_images, r] with the row of zeros below them that `WeightedOrder` needs."""
    full = buffers.empty("weights", (weights.shape[0] + 1, weights.shape[1]), dtype)
    full[:-1], full[-1] = weights, 0
    return full


def sum_type(counts: npt.NDArray[np.integer], groups: Ints) -> type[np.uint32] | type[np.float64]:
    """The narrowest type that holds every sum over these weights exactly: wins, Σ t², Σ t³.

    counts: int [replicates, n_images]; groups: int [n_sets]. Halving the width halves the time;
    and float64, exact up to 2^53, is quicker than an integer of its width.
    """
    drawn = int(counts.sum(axis=1).max(initial=0))
    wins = 2 * (int(np.bincount(groups).max()) * drawn) ** 2  # twice, as ties count one half
    cubes = len(groups) * drawn * int(counts.max(initial=0)) ** 2
    return np.uint32 if max(wins, cubes) <= np.iinfo(np.uint32).max else np.float64


_PAIRS = 2**23  # pairs of a unit and an item that are in memory at a time


def surplus_of_pairs(x: Floats, y: Floats, unit: Ints, weights: npt.NDArray[np.integer]) -> Floats:
    """[r] Concordant minus discordant pairs of items with the values x and y [n], for integer
    weights [r, n_units] of the items' units; exact, in O(n²) time for all weightings together."""
    order = np.argsort(unit, kind="stable")
    x, y = x[order], y[order]
    present, starts = np.unique(unit[order], return_index=True)
    own = list(zip(np.split(x, starts[1:]), np.split(y, starts[1:]), strict=True))
    drawn = weights.T[present].astype(np.float64)
    total, step = np.zeros(len(weights)), max(1, _PAIRS // max(1, len(x)))
    for first in range(0, len(present), step):
        signs = [  # of each item of a unit with every item, summed by units
            (np.sign(a[:, None] - x) * np.sign(b[:, None] - y)).sum(axis=0)
            for a, b in own[first : first + step]
        ]
        between = np.add.reduceat(np.array(signs), starts, axis=1)
        total += np.einsum("ur,ur->r", between @ drawn, drawn[first : first + step])
    return total / 2
