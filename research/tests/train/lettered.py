"""Word vectors for tests that need some, whatever they are."""

from typing import Any

import numpy as np

from metaeval.text.word_vectors.base import Vectors, WordVectors, unit


class Lettered(WordVectors):
    """Vectors of all words: how often each letter occurs."""

    def identity(self) -> str:
        return "letters"

    def embed(self, words: Any, store: Any = None) -> Vectors:
        rows = np.array([[word.count(chr(97 + k)) for k in range(26)] for word in words], float)
        return unit(rows, np.ones(len(words), np.bool_))
