"""Running totals of image weights along an order of items, for many replicates at once.

The one hot loop of the bootstrap. Replicates lie side by side in memory, so that every step is
plain vector arithmetic on rows; and items are stored column-wise in a grid (position k·depth + j of
the order is row j·width + k), so that a running total down the grid adds whole slabs, where
`numpy.cumsum` along the first axis would go one element at a time (seven times slower).
"""

from __future__ import annotations

import numpy as np

from metaeval.stats.resampling.buffers import Array, Buffers
from metaeval.stats.resampling.items import Ints

_DEPTH = 32  # slabs per grid: fewer than 16 or more than 128 are slower


class RunningTotals:
    """The total weight of the first p items of an order, for any p.

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
