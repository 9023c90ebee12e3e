"""Replicates chunk by chunk, on several threads, in arrays that are used again and again.

No result depends on how many threads there are. Fresh arrays of megabytes cost more in page faults
than in sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.cores import core_count
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


S = TypeVar("S")
T = TypeVar("T")

_MOST_THREADS = 8  # threads: each has buffers of its own, and memory is what they share


def map_chunks(
    chunk: Callable[[S, Buffers], T], chunks: Sequence[S], threads: int | None = None
) -> list[T]:
    """What `chunk` returns for each of the chunks, in their order.

    NumPy's loops let other threads run: two cores take 0.55 to 0.7 of the time of one.

    Parameters
    ----------
    chunk
        Called with a chunk (where it starts) and its thread's buffers, in which nothing that it
        returns may lie.
    threads
        At most so many; by default one per available core, eight at most.
    """
    workers = max(1, min(threads or min(core_count(), _MOST_THREADS), len(chunks)))

    def work(worker: int) -> list[T]:
        buffers = Buffers()
        return [chunk(part, buffers) for part in chunks[worker::workers]]

    if workers == 1:
        return work(0)
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(work, range(workers)))
    return [done[i % workers][i // workers] for i in range(len(chunks))]
