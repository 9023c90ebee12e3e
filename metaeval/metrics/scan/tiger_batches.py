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


def tiger_of(
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
    found = np.empty((len(images), 3))

    def work(mine: npt.NDArray[np.intp]) -> None:
        most = int(level[mine[0]])
        mask = np.arange(most)[None, :] < count[mine][:, None]
        reference, candidate = references[images[mine]], candidates[mine]
        scores = tiger(_filled(reference, most), _filled(candidate, most), mask, tau, gains)
        found[mine] = np.stack(scores, axis=1)

    run_parallel([
        partial(work, group[start : start + _ROWS])
        for group in group_rows_by_keys(level)
        for start in range(0, len(group), _ROWS)
    ])  # fmt: skip
    return found


def _filled(rows: Floats, width: int) -> Floats:
    """The rows cut off, or filled up with zeros, to a width."""
    return np.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))))
