"""Midranks: the ranks 1 … n, equal values sharing the mean of theirs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats


def midranks(values: npt.ArrayLike) -> Floats:
    """Rank the values of a one-dimensional array without NaN, ascending; ties get their mean rank.

    >>> midranks([0.3, 0.1, 0.3, 0.9]).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(counts) - (counts - 1) / 2
    return means[inverse.reshape(-1)]
