"""The start of a word embedding, against principal components by another way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import Vectors, WordVectors
from metaeval.training.embedding_init import start_embedding

WORDS = Vocabulary((*SPECIAL, "ant", "bee", "cat", "dog", "emu", "fox", "gnu", "zzz"))


class Some(WordVectors):
    """Seven words with a vector of six numbers; "zzz" has none."""

    def identity(self) -> str:
        return "some"

    def embed(self, words: Sequence[str], store: object = None) -> Vectors:
        known = np.array([word != "zzz" for word in words])
        rows = np.random.default_rng(3).normal(size=(len(words), 6)) * [5, 3, 2, 1, 0.5, 0.2]
        return Vectors(rows * known[:, None], known)


@pytest.mark.parametrize("width", [2, 4, 6])
def test_the_distances_are_those_of_the_first_components(width: int) -> None:
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(len(WORDS), width).double()
    before = embedding.weight.detach().clone()
    assert start_embedding(embedding, Some(), WORDS, spread=2.0) == 7
    after = embedding.weight.detach()
    kept = [0, 1, 2, 3, len(WORDS) - 1]
    assert torch.equal(after[kept], before[kept])
    found = after[4:-1].numpy()
    rows = Some().embed(WORDS.words[4:]).rows[:7]
    # the inner products of the projections: eigenvectors of the Gram matrix, no SVD of the rows
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    gram = (vectors[:, -width:] * values[-width:]) @ vectors[:, -width:].T
    # exact in float64, up to the scale that gives the standard deviation 2
    scale = np.trace(found @ found.T) / np.trace(gram)
    assert found @ found.T == pytest.approx(scale * gram, abs=1e-9)
    assert found.std() == pytest.approx(2.0)


def test_a_wide_embedding_is_filled_up_and_the_sign_is_settled() -> None:
    embedding = torch.nn.Embedding(len(WORDS), 9)
    start_embedding(embedding, Some(), WORDS, spread=1.0)
    assert not embedding.weight[4:-1, 6:].any()
    again = torch.nn.Embedding(len(WORDS), 9)
    start_embedding(again, Some(), WORDS, spread=1.0)
    assert torch.equal(again.weight[4:-1], embedding.weight[4:-1])


def test_without_any_vector_nothing_changes() -> None:
    embedding = torch.nn.Embedding(5, 3)
    before = embedding.weight.detach().clone()
    assert start_embedding(embedding, Some(), Vocabulary((*SPECIAL, "zzz")), spread=1.0) == 0
    assert torch.equal(embedding.weight, before)
