"""By how much a metric gets an image's versions wrong.

Tie rule: a tie is an inversion of size 0. Missing scores: a pair with one is left out. Unit: one
image; nothing is resampled and nothing is random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats


def worst_inversion(
    scores: Floats,
    levels: Sequence[int],
    applied: npt.NDArray[np.bool_] | None = None,
    *,
    higher_is_better: bool = True,
) -> Floats:
    """Per image, the most by which a worse version outscores a better one.

    `scores` is [s, n], one row per version, of level `levels[s]` (0 = worst). Negative where all
    versions are in order (then how far the closest two are apart), -inf where an image has no pair
    to compare. Versions that are not `applied` [s, n] are left out: an unchanged caption is not
    worse than the original.

    >>> worst_inversion(np.array([[0.5, 0.1], [0.2, 0.4]]), [0, 1]).round(3).tolist()
    [0.3, -0.3]
    """
    values = np.asarray(scores if higher_is_better else -np.asarray(scores), dtype=np.float64)
    if applied is not None:
        values = np.where(applied, values, np.nan)
    worst = np.full(values.shape[1], -np.inf)
    for a, lower in enumerate(levels):
        for b, upper in enumerate(levels):
            if lower < upper:
                worst = np.fmax(worst, values[a] - values[b])
    return worst


def worst_first(severity: Floats) -> npt.NDArray[np.intp]:
    """Positions by severity, the greatest first; equal ones in their own order."""
    return np.argsort(-severity, kind="stable")
