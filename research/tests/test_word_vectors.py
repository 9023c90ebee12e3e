"""Word vectors learned from captions, against the definition."""

import math
from pathlib import Path

import numpy as np

from metaeval.text.word_vectors.base import VectorFile
from research.word_vectors import learn_vectors, write_vectors

CAPTIONS = ["a red dog runs", "A red cat runs.", "the big bus stops", "the big car stops"] * 3


def test_vectors_are_those_of_the_definition() -> None:
    """With all dimensions but one, U S Uᵀ is nearly the matrix, which is built here in full."""
    words, vectors = learn_vectors(CAPTIONS, dimension=100)
    assert words == ["big", "bus", "car", "cat", "dog", "red", "runs", "stops", "the"]
    n = len(words)
    assert vectors.shape == (n, n - 1)  # "a" has only one letter
    counts = np.zeros((n, n))
    for text in CAPTIONS:
        own = [words.index(w.strip(".").lower()) for w in text.split() if w.lower() != "a"]
        for i in own:
            for j in own:
                counts[i, j] += i != j
    p, word = counts / counts.sum(), counts.sum(axis=1) / counts.sum()
    context = counts.sum(axis=0) ** 0.75 / (counts.sum(axis=0) ** 0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(0, np.log(p / np.outer(word, context)))
    u, s, _ = np.linalg.svd(expected)
    # Gram matrices do not depend on the signs of the axes
    np.testing.assert_allclose(vectors @ vectors.T, (u[:, :-1] * s[:-1]) @ u[:, :-1].T, atol=1e-9)
    assert math.isclose(counts[words.index("red"), words.index("runs")], 6)


def test_words_in_like_company_are_alike_and_the_file_is_read(tmp_path: Path) -> None:
    words, vectors = learn_vectors(CAPTIONS, dimension=4)
    np.testing.assert_allclose(vectors, learn_vectors(CAPTIONS, dimension=4)[1], atol=1e-12)
    path = tmp_path / "vectors.txt"
    write_vectors(path, words, vectors)
    read = VectorFile(path, format="text", cache=tmp_path).embed(["dog", "cat", "bus", "zebra"])
    assert read.known.tolist() == [True, True, True, False]
    dog, cat, bus = read.rows[:3]
    assert dog @ cat > 0.9 > 0.1 > dog @ bus
