"""What LearnToEval sees of an image here: the mean of its regions, instead of ResNet's feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.vision.regions.base import Regions


def mean_regions(regions: Regions) -> npt.NDArray[np.float32]:
    """[n, dim] The mean of each image's regions; zeros where there is none."""
    counts = regions.mask.sum(axis=1)
    sums = (regions.features * regions.mask[..., None]).sum(axis=1, dtype=np.float64)
    means: npt.NDArray[np.float32] = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means
