"""What a word embedding starts from: vectors that know already which words are similar."""

from __future__ import annotations

import numpy as np
import torch

from metaeval.runs.store import Store
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import WordVectors


def start_embedding(
    embedding: torch.nn.Embedding,
    vectors: WordVectors,
    vocabulary: Vocabulary,
    spread: float,
    store: Store | None = None,
) -> int:
    """Set the embedding of every word that has a vector to that vector, reduced to fit.

    The vectors of all known words are centred and reduced to their first principal components
    (with zeros behind where they are fewer than the embedding's numbers), and scaled as a whole, so
    that their numbers have the standard deviation `spread`. Words without a vector and the four
    special ones keep what they have. Returns how many words were set.
    """
    embedded = vectors.embed(vocabulary.words[len(SPECIAL) :], store)
    rows = embedded.rows[embedded.known]
    if not len(rows):
        return 0
    weight = embedding.weight
    centred = rows - rows.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    # an axis may point either way: its largest component decides
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    reduced = centred @ (axes * signs[:, None])[: weight.shape[1]].T
    if (deviation := reduced.std()) > 0:
        reduced *= spread / deviation
    places = torch.from_numpy(len(SPECIAL) + np.flatnonzero(embedded.known)).to(weight.device)
    with torch.no_grad():
        weight[places] = 0.0
        weight[places, : reduced.shape[1]] = torch.from_numpy(reduced).to(weight)
    return len(rows)
