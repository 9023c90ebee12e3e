"""Bags of content words, as VIFIDEL's reference scorer makes them, and numbers for the words.

The scorer counts words with scikit-learn's CountVectorizer(stop_words="english"): lower case,
runs of at least two word characters, without the 318 words of scikit-learn's list (which also
holds next, top, front, side, back, fire, two …). Labels of objects go the same way, so a label of
two words (dining table, stop-sign) counts as two words.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import numpy as np
import numpy.typing as npt

from metaeval.runs.store import Store
from metaeval.text.word_vectors.base import WordVectors

Squares = npt.NDArray[np.float64]
Bag = tuple[tuple[int, int], ...]  # (number of a word, how often), words in alphabetical order

_WORD = re.compile(r"(?u)\b\w\w+\b")


def stop_words() -> frozenset[str]:
    """scikit-learn's English list."""
    package = find_spec("sklearn")  # which takes a second to import, all for one list
    folder = Path((package.submodule_search_locations or ["."])[0] if package else ".")
    file = folder / "feature_extraction" / "_stop_words.py"
    if not file.is_file():  # another release may have it elsewhere
        return frozenset(import_module("sklearn.feature_extraction.text").ENGLISH_STOP_WORDS)
    return frozenset(run_path(str(file))["ENGLISH_STOP_WORDS"])


def stop_words_identity() -> str:
    """How many stop words, and a checksum of them, for signatures."""
    listed = sorted(stop_words())
    return f"sklearn-{len(listed)}-{hashlib.sha256(' '.join(listed).encode()).hexdigest()[:8]}"


class Lexicon:
    """The content words met so far: their numbers, and their vectors."""

    def __init__(self, vectors: WordVectors, store: Store | None = None) -> None:
        self._source, self._store = vectors, store
        self._stop = stop_words()
        self._number: dict[str, int] = {}
        self._split: dict[str, Counter[str]] = {}
        self.words: list[str] = []
        self.known = np.empty(0, dtype=np.bool_)
        self.rows = np.empty((0, 0))

    def count(self, text: str) -> Counter[str]:
        """The content words of a text, known or not; do not change it."""
        if (counts := self._split.get(text)) is None:
            words = _WORD.findall(text.lower())
            counts = self._split[text] = Counter(w for w in words if w not in self._stop)
        return counts

    def learn(self, texts: Iterable[str]) -> None:
        """Number the words of texts, in alphabetical order, and look their vectors up."""
        met = {word for text in texts for word in self.count(text)}
        new = sorted(met - self._number.keys())
        if not new:
            return
        vectors = self._source.embed(new, self._store)
        self._number.update((word, len(self.words) + i) for i, word in enumerate(new))
        self.words += new
        self.known = np.concatenate([self.known, vectors.known])
        self.rows = np.concatenate([self.rows.reshape(-1, vectors.rows.shape[1]), vectors.rows])

    def count_labels(self, labels: Mapping[str, int]) -> dict[str, int]:
        """The content words of objects' labels, a word as often as the labels that hold it."""
        words: Counter[str] = Counter()
        for label, often in labels.items():
            for word, n in self.count(label).items():
                words[word] += n * often
        return words

    def unknown(self, counts: Mapping[str, int]) -> list[str]:
        """The words that have no vector, in alphabetical order."""
        return [word for word in sorted(counts) if not self.known[self._number[word]]]

    def bag(self, counts: Mapping[str, int]) -> Bag:
        """The words that have a vector, in alphabetical order, with their counts."""
        return tuple(
            (number, n)
            for word, n in sorted(counts.items())
            if self.known[number := self._number[word]]
        )

    def squared_distances(self, left: Sequence[int], right: Sequence[int]) -> Squares:
        """[len(left), len(right)] Between words by number: 2 - 2 cos, in [0, 4].

        Added up in one order for every pair, so that a number does not depend on the others
        computed for; a matrix product would.
        """
        a, b = self.rows[np.asarray(left, dtype=int)], self.rows[np.asarray(right, dtype=int)]
        squares: Squares = np.maximum(2 - 2 * np.einsum("id,jd->ij", a, b), 0)
        i, j = np.nonzero(squares < 1e-3)  # where the subtraction has lost its digits
        squares[i, j] = ((a[i] - b[j]) ** 2).sum(axis=1)
        return squares
