"""The parts of a metric's variance: between images, between levels, and the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import as_table, scaled


class VarianceParts(NamedTuple):
    """What `variance_parts` returns: three shares of the same sum of squares, which add up to 1.

    Attributes
    ----------
    image
        Share of differences between images that all versions have: offset. It lowers the pooled
        rank-order ρ, but not statistics within an image.
    level
        Share of differences between levels, averaged over images: the effect of interest.
    rest
        The remaining share: images in which the levels are ordered differently, and noise.
    n
        Complete images. With fewer than two, or equal scores throughout, the shares are NaN.
    """

    image: float
    level: float
    rest: float
    n: int


def variance_parts(scores: npt.ArrayLike, levels: npt.ArrayLike) -> VarianceParts:
    """Split the sum of squares of a table of scores into image, level and rest.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored.
    levels
        int [n_sets]. Each set is a column of its own; of equal levels too.

    Notes
    -----
    Definition
        Two-way analysis of variance without replication. With k sets, n images, grand mean m, means
        m_i of image i and m_s of set s: image = k Σ (m_i − m)², level = n Σ (m_s − m)², and the
        rest is what is missing to Σ (x_is − m)². No iteration: a closed form.
    Missing
        A set without any score is left out, and then each image without a score for every version,
        so that the parts are orthogonal.
    Source
        R. A. Fisher (1925), Statistical Methods for Research Workers; H. Scheffé (1959), The
        Analysis of Variance, section 4.2.

    Examples
    --------
    >>> from metaeval.stats.ordering.variance_parts import variance_parts
    >>> parts = variance_parts([[0.0, 1.0], [4.0, 7.0]], [0, 1])
    >>> [round(share, 4) for share in (parts.image, parts.level, parts.rest)]
    [0.8333, 0.1333, 0.0333]
    """
    values, _ = as_table(scores, levels)
    values = values[:, ~np.isnan(values).all(axis=0)]
    values = values[~np.isnan(values).any(axis=1)]
    n, k = values.shape
    nan = float("nan")
    if n < 2 or k < 2:
        return VarianceParts(nan, nan, nan, n)
    values = scaled(values.reshape(-1)).reshape(n, k)
    values = values - values.mean()
    of_images, of_sets = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    image, level = k * float((of_images**2).sum()), n * float((of_sets**2).sum())
    rest = float(((values - of_images - of_sets) ** 2).sum())
    total = image + level + rest
    if not total > 0:
        return VarianceParts(nan, nan, nan, n)
    return VarianceParts(image / total, level / total, rest / total, n)
