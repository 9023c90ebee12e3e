"""Adversarial refinement: drop pairs until a control is right as often as wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.experiments.pairs.outcomes import Groups
from metaeval.stats.resampling.items import Floats

_STREAM = 0x4EF1  # keeps the choice of pairs apart from the resampling under the same seed


def refined(gap: Floats, groups: Groups, bins: int, seed: int) -> npt.NDArray[np.bool_]:
    """Which pairs stay, [n], for a control that gives the true caption `gap` more than the false.

    Notes
    -----
    Definition
        Within each kind the sizes |gap| up to the greatest are cut into equal bins. A bin and its
        mirror image (the pairs in which the control is wrong by as much) keep equally many pairs,
        as many as the smaller of the two has, drawn at random. So the control's gap contains
        no information about the truth, except for what differs within a bin. Pairs that the control
        ties stay all; those that it cannot score go.
    Source
        The adversarial refinement of C.-Y. Hsieh et al. (2023), SugarCrepe, NeurIPS: there by the
        gaps of two models at once, here by that of one control.
    """
    rng = np.random.default_rng([_STREAM, seed])
    stays: npt.NDArray[np.bool_] = gap == 0
    for kind in range(len(groups.kinds)):
        of_kind = (groups.kind == kind) & ~np.isnan(gap) & (gap != 0)
        size = np.abs(gap)
        greatest = size[of_kind].max(initial=0)
        if not greatest:
            continue
        # (0, 1/bins], (1/bins, 2/bins], … of the greatest
        place = np.where(of_kind, np.ceil(size / greatest * bins - 1e-9), 0)
        for number in np.unique(place[of_kind]):
            there = of_kind & (place == number)
            right, wrong = np.flatnonzero(there & (gap > 0)), np.flatnonzero(there & (gap < 0))
            n = min(len(right), len(wrong))
            for side in (right, wrong):
                stays[rng.permutation(side)[:n]] = True
    return stays
