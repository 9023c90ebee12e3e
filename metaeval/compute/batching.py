"""Rows of equal sizes, to be computed together without padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.intp]


def group_rows_by_keys(*keys: npt.NDArray[np.int64], most: int | None = None) -> list[Rows]:
    """The numbers of the rows that agree in all keys, group by group.

    `keys` are integers [n] each; groups ascend by the first key, then by the next; the rows of a
    group ascend. A group of more than `most` rows comes in parts of that many.
    """
    order = np.lexsort(keys[::-1])
    sorted_keys = np.stack(keys)[:, order]
    changes = np.flatnonzero((sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)) + 1
    groups = np.split(order, changes) if len(order) else []
    if most is None:
        return groups
    return [rows[start : start + most] for rows in groups for start in range(0, len(rows), most)]


def group_rows_by_length(lengths: Sequence[int] | npt.NDArray[Any]) -> Iterator[tuple[int, Rows]]:
    """Each length, ascending, with the numbers of the rows that have it, ascending."""
    known = np.asarray(lengths, dtype=np.int64)
    for rows in group_rows_by_keys(known):
        yield int(known[rows[0]]), rows


def fill_rows(rows: Rows, size: int) -> Rows:
    """The rows, and the first of them again until there are `size`: a batch of a fixed shape."""
    return np.concatenate([rows, np.repeat(rows[:1], size - len(rows))])
