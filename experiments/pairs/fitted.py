"""The fitted control of pairs: which caption is true, by its text alone."""

from __future__ import annotations

import numpy as np

from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments.fitted import predictions, text_features
from metaeval.experiments.pairs.statistics import PairScores


def fitted_text(pairs: CaptionPairs, seed: int) -> PairScores:
    """How true each caption looks without image and references, fitted on other images' pairs.

    A control of the references or of the image alone has nothing to tell: both captions of a pair
    have the same, and so the same prediction.
    """
    roles = [[p.true for p in pairs.pairs], [p.false for p in pairs.pairs]]
    if pairs.triplets:
        roles.append([p.paraphrase or "" for p in pairs.pairs])
    captions = [caption for role in roles for caption in role]
    place = np.tile(np.asarray(pairs.image_index, dtype=np.intp), len(roles))
    photograph = np.unique([p.image for p in pairs.pairs], return_inverse=True)[1]
    target = np.repeat([1.0, 0.0, 1.0][: len(roles)], len(pairs))
    features = text_features(pairs.dataset, captions, place)
    values = np.split(
        predictions(features, target, np.tile(photograph, len(roles)), seed), len(roles)
    )
    return PairScores(values[0], values[1], values[2] if pairs.triplets else None)
