"""What a SCAN network starts from: word vectors that know what words mean."""

from __future__ import annotations

import numpy as np
import torch

from metaeval.cache import Store
from metaeval.data.vectors import WordVectors
from metaeval.models.scan import Scan
from metaeval.models.vocabulary import SPECIAL, Vocabulary

_SPREAD = 0.1  # the standard deviation of the numbers, near that of SCAN's own uniform ±0.1


def start_from(
    model: Scan, vectors: WordVectors, vocabulary: Vocabulary, store: Store | None = None
) -> int:
    """Set the embedding of every word that has a vector to that vector, reduced to fit.

    The vectors of all known words are centred and reduced to their first principal components
    (with zeros behind where they are fewer than the embedding's numbers), and scaled as a whole.
    Words without a vector and the four special ones keep what they have. Returns how many words
    were set.
    """
    found = vectors.embed(vocabulary.words[len(SPECIAL) :], store)
    rows = found.rows[found.known]
    if not len(rows):
        return 0
    centred = rows - rows.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    # an axis may point either way: its largest component decides
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    reduced = centred @ (axes * signs[:, None])[: model.shape.word].T
    reduced *= _SPREAD / reduced.std()
    weight = model.text.embed.weight
    places = len(SPECIAL) + np.flatnonzero(found.known)
    with torch.no_grad():
        weight[torch.from_numpy(places)] = 0.0
        weight[torch.from_numpy(places), : reduced.shape[1]] = torch.from_numpy(reduced).to(weight)
    return len(rows)
