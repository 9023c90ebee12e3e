"""Adversarial refinement: drop images until no control is right more often than wrong.

After C.-Y. Hsieh et al. (2023), SugarCrepe, NeurIPS, who balance the gaps of two models at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats

_STREAM = 0x4EF2  # keeps the choice of images apart from the resampling under the same seed


def balanced(gaps: Floats, bins: int, seed: int) -> npt.NDArray[np.bool_]:
    """Which images stay, [n], for controls that give the human caption `gaps` [n, n_controls] more.

    Each control's gaps are cut into `bins` equal sizes up to its greatest, with their signs; 0 is a
    bin of its own. The images of a cell of this grid and those of its mirror image (all controls
    wrong by as much) stay in equal numbers, drawn at random. So of what stays, the AUC of every
    control is exactly 0.5. Images that a control cannot score go.
    """
    rng = np.random.default_rng([_STREAM, seed])
    stays = np.zeros(len(gaps), dtype=bool)
    known = ~np.isnan(gaps).any(axis=1)
    if not known.any():
        return stays
    greatest = np.abs(gaps[known]).max(axis=0)
    size = np.ceil(np.abs(gaps[known]) / np.where(greatest > 0, greatest, 1) * bins - 1e-9)
    cells = (np.sign(gaps[known]) * size).astype(int)
    images = np.flatnonzero(known)
    of_cell: dict[tuple[int, ...], list[int]] = {}
    for image, cell in zip(images.tolist(), map(tuple, cells.tolist()), strict=True):
        of_cell.setdefault(cell, []).append(image)
    for cell in sorted(of_cell):
        mirrored = tuple(-place for place in cell)
        if cell == mirrored:
            stays[of_cell[cell]] = True
        elif cell < mirrored and mirrored in of_cell:
            n = min(len(of_cell[cell]), len(of_cell[mirrored]))
            for side in (cell, mirrored):
                stays[rng.permutation(of_cell[side])[:n]] = True
    return stays
