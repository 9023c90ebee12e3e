"""What a SCAN network starts from: word vectors that know what words mean."""

from __future__ import annotations

from metaeval.metrics.scan.network import Scan
from metaeval.runs.store import Store
from metaeval.text.vocabulary import Vocabulary
from metaeval.text.word_vectors.base import WordVectors
from metaeval.training.embedding_init import start_embedding

_SPREAD = 0.1  # the standard deviation of the numbers, near that of SCAN's own uniform ±0.1


def start_from(
    model: Scan, vectors: WordVectors, vocabulary: Vocabulary, store: Store | None = None
) -> int:
    """Set the embedding of every word that has a vector (`start_embedding`); how many were set."""
    return start_embedding(model.text.embed, vectors, vocabulary, _SPREAD, store)
