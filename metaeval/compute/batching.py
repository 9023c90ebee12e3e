"""Rows of one kind, to be computed together: sizes that are equal need no padding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def group_rows_by_keys(*keys: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
    """The numbers of the rows that agree in all keys, kind by kind.

    `keys` are integers [n] each; kinds ascend by the first key, then by the next; the rows of a
    kind ascend.
    """
    order = np.lexsort(keys[::-1])
    sorted_keys = np.stack(keys)[:, order]
    changes = np.flatnonzero((sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)) + 1
    return np.split(order, changes) if len(order) else []
