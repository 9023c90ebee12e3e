"""The fitted control of sensitivity: is a caption changed for the worse, by its text alone?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.fitted import predictions, text_features
from metaeval.experiments.sensitivity.kinds import Sets
from metaeval.stats.resampling.items import Floats


def fitted_text(
    dataset: CaptionDataset,
    texts: npt.NDArray[np.object_],
    applied: npt.NDArray[np.bool_],
    sets: Sets,
    seed: int,
) -> Floats:
    """[n_images, 1 + n_sets] How harmless each caption looks without image and references, fitted
    on the captions of other images; NaN where nothing was changed.

    The targets are 0 for a changed caption that should score lower and 1 for a harmless one and
    for the human caption, which counts once for each of the image's harmful ones. A control of the
    references or of the image alone has nothing to tell: all captions of an image have the same.
    """
    image, place = np.nonzero(applied)
    harmful = np.array([False, *(entry.expected == "lower" for entry in sets)])
    captions = [str(texts[i, k]) for i, k in zip(image.tolist(), place.tolist(), strict=True)]
    features = text_features(dataset, captions, image)
    human = np.flatnonzero(place == 0)
    times = (applied & harmful).sum(axis=1)[image[human]] - 1
    rows = np.concatenate([np.arange(len(image)), np.repeat(human, np.maximum(times, 0))])
    target = np.where(harmful[place], 0.0, 1.0)
    values = predictions(features[rows], target[rows], image[rows], seed)
    table = np.full(applied.shape, np.nan)
    table[image, place] = values[: len(image)]
    return table
