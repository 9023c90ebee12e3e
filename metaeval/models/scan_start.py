"""What a SCAN network starts from: word vectors that know what words mean."""

from __future__ import annotations

from metaeval.cache import Store
from metaeval.data.vectors import WordVectors
from metaeval.models.scan import Scan
from metaeval.models.vocabulary import Vocabulary
from metaeval.models.word_start import start_embedding

_SPREAD = 0.1  # the standard deviation of the numbers, near that of SCAN's own uniform ±0.1


def start_from(
    model: Scan, vectors: WordVectors, vocabulary: Vocabulary, store: Store | None = None
) -> int:
    """Set the embedding of every word that has a vector (`start_embedding`); how many were set."""
    return start_embedding(model.text.embed, vectors, vocabulary, _SPREAD, store)
