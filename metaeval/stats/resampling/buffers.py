"""Arrays used again and again: fresh ones of megabytes cost more in page faults than in sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Ints

Array = npt.NDArray[Any]

_BYTES = 2**25  # of an array with a number for each item and replicate: what a cache may hold
_MOST = 128  # replicates at a time: with more, nothing is gained


def replicates_at_a_time(n_items: int) -> int:
    """How many replicates to treat at once, so that time and memory stay in step with the items.

    A multiple of 8 from 8 to 128.
    """
    return max(8, min(_MOST, _BYTES // (8 * max(1, n_items)) // 8 * 8))


class Buffers:
    """Scratch arrays by name. One per thread; what is in one lasts until its name is used again."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def empty(self, name: str, shape: tuple[int, int], dtype: npt.DTypeLike) -> Array:
        """An array of this shape with arbitrary content."""
        size = shape[0] * shape[1]
        array = self._arrays.get(name)
        if array is None or array.size < size or array.dtype != dtype:
            array = self._arrays[name] = np.empty(size, dtype=dtype)
        return array[:size].reshape(shape)

    def take(self, name: str, source: Array, rows: Ints) -> Array:
        """Copies of the given rows of a two-dimensional array."""
        out = self.empty(name, (len(rows), source.shape[1]), source.dtype)
        # "clip" only because "raise" would go through a temporary; no row is out of range.
        return np.take(source, rows, axis=0, out=out, mode="clip")
