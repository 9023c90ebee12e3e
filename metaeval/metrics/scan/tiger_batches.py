"""TIGEr of many captions: those of images with about as many regions are compared together.

So little padding is compared, and a caption's numbers do not depend on how many regions other
images have.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from metaeval.compute.batching import group_rows_by_keys
from metaeval.compute.threads import run_parallel
from metaeval.metrics.scan.tiger_score import MIN_MAX, TAU, Floats, tiger

_STEP = 4  # regions are filled up to a multiple of this
_ROWS = 1024  # captions compared at a time


def compare_groundings(
    references: Floats,
    n_regions: npt.NDArray[np.int64],
    candidates: Floats,
    images: npt.NDArray[np.intp],
    tau: float = TAU,
    gains: str = MIN_MAX,
) -> Floats:
    """TIGEr, RRS and WDS of n captions: float64 [n, 3]; see `tiger_score.tiger`.

    Parameters
    ----------
    references, n_regions
        Of m images: the references' mean grounding vectors [m, r], and how many of the first of
        their numbers are regions [m], at least one.
    candidates, images
        Grounding vectors [n, r] of captions, and their images [n].
    """
    count = n_regions[images]
    level = -(-count // _STEP) * _STEP
    scores = np.empty((len(images), 3))

    def compare(rows: npt.NDArray[np.intp]) -> None:
        most = int(level[rows[0]])
        mask = np.arange(most)[None, :] < count[rows][:, None]
        reference, candidate = references[images[rows]], candidates[rows]
        columns = tiger(_fit(reference, most), _fit(candidate, most), mask, tau, gains)
        scores[rows] = np.stack(columns, axis=1)

    run_parallel([
        partial(compare, rows) for rows in group_rows_by_keys(level, most=_ROWS)
    ])  # fmt: skip
    return scores


def _fit(rows: Floats, width: int) -> Floats:
    """The rows cut off, or filled up with zeros, to a width."""
    return np.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))))
