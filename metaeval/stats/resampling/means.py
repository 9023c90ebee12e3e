"""The mean over images of a per-image statistic, in every bootstrap replicate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.chunks import replicates_at_a_time
from metaeval.stats.resampling.items import Floats

_SCALE = 2.0**30  # sums of whole multiples of 2^-30 are exact in float64, in any order


def resampled_sums(values: Floats, counts: Counts, *, exact: bool = False) -> Floats:
    """The sums [replicates, k] of values [n_images, k] over the images that each replicate drew.

    `counts` is int [replicates, n_images] from `bootstrap_counts`. `exact` says that float64 holds
    every such sum of these values exactly: they may then be added in any order, which is quicker.
    """
    by_image = counts.T  # in memory the replicates of an image lie side by side
    sums = np.empty((len(counts), values.shape[1]))
    size = replicates_at_a_time(len(values))
    for start in range(0, len(counts), size):
        part = slice(start, start + size)
        weights = by_image[:, part].astype(np.float64)
        if exact:
            sums[part] = weights.T @ values
            continue
        for k, column in enumerate(values.T):
            # einsum, not @: the order of its sums does not depend on threads
            sums[part, k] = np.einsum("i,ir->r", column, weights)
    return sums


def resampled_means(values: npt.ArrayLike, counts: Counts) -> Floats:
    """The mean of one value per image over the images that each replicate drew.

    Parameters
    ----------
    values
        float64 [n_images], or [n_images, k] for k means at once, in [-1, 1]; NaN = the image has no
        value and is left out.
    counts
        int [replicates, n_images] from `bootstrap_counts`.

    Returns
    -------
    float64 [replicates], or [replicates, k]; NaN where a replicate drew no image with a value.
    Values are rounded to 2^-30, which makes every sum exact: the result depends on no order of
    additions.

    Examples
    --------
    >>> resampled_means([0.5, -0.5, float("nan")], np.array([[2, 0, 1], [1, 1, 1], [0, 0, 3]]))
    array([0.5, 0. , nan])
    """
    means: Floats = np.asarray(values, dtype=np.float64)
    if counts.ndim != 2 or means.ndim not in (1, 2) or means.shape[:1] != counts.shape[1:]:
        raise InputError(f"{means.shape} values for counts of shape {counts.shape}", field="values")
    table = means.reshape(len(means), -1)
    known = ~np.isnan(table)
    addends = np.hstack([np.rint(np.where(known, table, 0.0) * _SCALE), known])
    total, n = np.hsplit(resampled_sums(addends, counts, exact=True), 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / _SCALE / n).reshape(len(counts), *means.shape[1:])
