"""Bootstrap replicates that a run before has computed, looked up by what they are computed from.

They are most of what a repeated run still has to do: a sweep of nine rates whose scores are all in
the cache takes less than half of the time (docs/sweeps.md). The numbers are those of
`replicate_statistics` to the last bit.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

import metaeval.stats
from metaeval.runs.digests import digest, file_sha256
from metaeval.runs.store import Store
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.replicates import Replicates, replicate_statistics


class KeptReplicates:
    """`replicate_statistics` for one choice of resampled images, through a store.

    Parameters
    ----------
    store
        Where they are kept: 8 bytes a replicate and statistic.
    counts
        [replicates, n_images] from `bootstrap_counts`.
    """

    def __init__(self, store: Store, counts: Counts) -> None:
        self._store, self._counts = store, counts
        self._drawn = _digest(counts)  # once: they are megabytes

    def __call__(
        self,
        scores: npt.NDArray[np.float64],
        levels: npt.NDArray[np.int64],
    ) -> Replicates:
        """The replicates of scores [n_images, n_sets] and the levels of the sets."""
        if not len(self._counts):
            return replicate_statistics(scores, levels, self._counts)
        namespace = f"bootstrap of statistics {_code()}"
        key = digest(self._drawn + _digest(scores) + _digest(levels))
        rows = 6 + len(np.unique(levels)) - 1  # six statistics, and an AUC for each step
        known = self._store.get_many(namespace, [key]).get(key, b"")
        if len(known) == 8 * rows * len(self._counts):
            return _unpacked(np.frombuffer(bytearray(known)).reshape(rows, -1))
        computed = replicate_statistics(scores, levels, self._counts)
        packed = np.vstack([np.atleast_2d(part) for part in computed])
        self._store.put_many(namespace, {key: packed.astype(np.float64).tobytes()})
        return computed


def _unpacked(rows: npt.NDArray[np.float64]) -> Replicates:
    rank_order, spearman, tau = rows[:3]
    accuracy, inversions, monotone = rows[-3:]
    return Replicates(rank_order, spearman, tau, rows[3:-3], accuracy, inversions, monotone)


def _digest(array: npt.NDArray[np.generic]) -> bytes:
    head = f"{array.dtype} {array.shape} ".encode()
    return digest(head + array.tobytes())


@cache
def _code() -> str:
    """The statistics' own source and numpy's version: whatever changes there is computed anew."""
    sources = sorted(Path(metaeval.stats.__path__[0]).rglob("*.py"))
    content = [np.__version__, *(f"{source.name} {file_sha256(source)}" for source in sources)]
    return digest("\n".join(content)).hex()
