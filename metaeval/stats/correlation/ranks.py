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
    _, inverse, sizes = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(sizes) - (sizes - 1) / 2
    return means[inverse.reshape(-1)]


def centred_midranks(sizes: Floats) -> Floats:
    """The midrank of each block of ties less the mean of all ranks.

    `sizes` is [n_blocks] or [n_blocks, r], the items of each block in ascending order of the
    blocks, for r tables at once; so is the result.

    >>> centred_midranks(np.array([1.0, 2.0, 1.0])).tolist()
    [-1.5, 0.0, 1.5]
    """
    return np.cumsum(sizes, axis=0) - (sizes - 1) / 2 - (sizes.sum(axis=0) + 1) / 2
