"""Vectors that are computed once and kept under a digest of what they were computed from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from metaeval.progress import progress_bar
from metaeval.runs.store import MemoryStore, Store

Vectors = npt.NDArray[np.float32]
_CHUNK = 2048  # vectors computed between two writes: what a killed run may lose


class EmbeddingCache:
    """Vectors of one model in the content store.

    Parameters
    ----------
    store
        Where they are kept; `None` keeps them in memory.
    namespace
        Whose vectors these are: model, weights, type, and everything else that changes them.
    """

    def __init__(self, store: Store | None, namespace: str) -> None:
        self._store, self._namespace = store or MemoryStore(), namespace

    def get(
        self,
        keys: Sequence[bytes],
        compute: Callable[[Sequence[int]], Vectors],
        what: str,
        chunk: int = _CHUNK,
    ) -> Vectors:
        """Vectors [n, d] for n keys; `compute(positions)` makes those of unknown keys. `what` names
        the work in the progress bar, `chunk` is how many are computed between two writes.

        A vector of NaN, for something that could not be computed, is kept too.
        """
        known = self._store.get_many(self._namespace, list(dict.fromkeys(keys)))
        first = {key: j for j, key in reversed(list(enumerate(keys)))}
        todo = sorted(j for key, j in first.items() if key not in known)
        with progress_bar(total=len(todo), desc=what, unit="") as bar:
            for start in range(0, len(todo), chunk):
                positions = todo[start : start + chunk]
                vectors = compute(positions)
                new = {keys[j]: vectors[k].tobytes() for k, j in enumerate(positions)}
                self._store.put_many(self._namespace, new)
                known.update(new)
                bar.update(len(positions))
        if not keys:
            return np.empty((0, 0), np.float32)
        return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])


def text_key(text: str) -> bytes:
    """The key of a text."""
    return hashlib.sha256(text.encode()).digest()[:16]
