"""Similarity of captions and the start of a word embedding, each worked out another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.metrics.scan.training import draw_negatives, hardest_negatives, triplet_loss
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import Vectors, WordVectors
from metaeval.training.caption_similarity import CaptionSimilarity
from metaeval.training.dataset import EncodedCaptions
from metaeval.training.embedding_init import start_embedding

WORDS = {"cat": [1.0, 0.0], "kitten": [0.8, 0.6], "bus": [-1.0, 0.0]}


class Plane(WordVectors):
    def identity(self) -> str:
        return "plane"

    def embed(self, words: Any, store: Any = None) -> Vectors:
        known = np.array([word in WORDS for word in words])
        return Vectors(np.array([WORDS.get(word, [0.0, 0.0]) for word in words]), known)


def likeness(captions: list[list[str]]) -> CaptionSimilarity:
    words = Vocabulary((*SPECIAL, "a", "bus", "cat", "kitten"))
    return CaptionSimilarity(EncodedCaptions.of(captions, words), Plane(), words)


def test_likeness_by_hand() -> None:
    captions = [["a cat", "the kitten"], ["bus bus", "a bus"], ["a", "cat"]]
    found = likeness(captions).of(np.arange(6))
    # each of the three vectors less their mean: (.267, .2) of them; "a" and "the" have no vector
    centre = np.mean(list(WORDS.values()), axis=0)
    n_with = {"cat": 2, "kitten": 1, "bus": 2}  # of six captions
    own = {w: (np.array(v) - centre) * np.log(7 / (n_with[w] + 1)) for w, v in WORDS.items()}
    sums = np.array([own["cat"], own["kitten"], 2 * own["bus"], own["bus"], [0, 0], own["cat"]])
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
    rows = unit - unit.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    images = rows.reshape(3, 2, 2).sum(axis=1).repeat(2, axis=0)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    np.testing.assert_allclose(found, images @ rows.T, rtol=0, atol=1e-6)  # float32
    assert found[0, 5] > 0.5 > 0 > found[0, 2]  # a cat is like cat and kitten, a bus is not


def test_captions_without_a_known_word_are_like_nothing() -> None:
    words = Vocabulary((*SPECIAL, "a"))
    found = CaptionSimilarity(EncodedCaptions.of([["a"], ["a a"]], words), Plane(), words)
    assert (found.of(np.arange(2)) == 0).all()


def test_each_pair_has_its_own_margin() -> None:
    similarity = torch.tensor([[0.9, 0.8, 0.7], [0.1, 0.6, 0.2], [0.5, 0.3, 0.4]])
    margin = torch.tensor([[0.0, 0.05, 0.3], [0.2, 0.0, 0.05], [0.2, 0.3, 0.0]])
    worst = hardest_negatives(similarity + margin)
    assert worst.caption.tolist() == [2, 0, 0]
    assert worst.image.tolist() == [2, 0, 0]

    def similar(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        return similarity[images, captions]

    costs = [
        max(0, margin[i, c] + similarity[i, c] - similarity[own, own])
        for own, (i, c) in [
            *((k, (k, worst.caption[k])) for k in range(3)),
            *((k, (worst.image[k], k)) for k in range(3)),
        ]
    ]
    done = triplet_loss(similar, 3, worst, margin)
    assert float(done.loss) == pytest.approx(float(sum(costs)), abs=1e-6)
    # only one wrong partner of the first image violates its margin, so it is always drawn
    torch.manual_seed(0)
    assert {int(draw_negatives(similarity, margin).caption[0]) for _ in range(20)} == {2}


WORDS_start = Vocabulary((*SPECIAL, "ant", "bee", "cat", "dog", "emu", "fox", "gnu", "zzz"))


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
    embedding = torch.nn.Embedding(len(WORDS_start), width).double()
    before = embedding.weight.detach().clone()
    assert start_embedding(embedding, Some(), WORDS_start, spread=2.0) == 7
    after = embedding.weight.detach()
    kept = [0, 1, 2, 3, len(WORDS_start) - 1]
    assert torch.equal(after[kept], before[kept])
    found = after[4:-1].numpy()
    rows = Some().embed(WORDS_start.words[4:]).rows[:7]
    # the inner products of the projections: eigenvectors of the Gram matrix, no SVD of the rows
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    gram = (vectors[:, -width:] * values[-width:]) @ vectors[:, -width:].T
    # exact in float64, up to the scale that gives the standard deviation 2
    scale = np.trace(found @ found.T) / np.trace(gram)
    assert found @ found.T == pytest.approx(scale * gram, abs=1e-9)
    assert found.std() == pytest.approx(2.0)


def test_a_wide_embedding_is_filled_up_and_the_sign_is_settled() -> None:
    embedding = torch.nn.Embedding(len(WORDS_start), 9)
    start_embedding(embedding, Some(), WORDS_start, spread=1.0)
    assert not embedding.weight[4:-1, 6:].any()
    again = torch.nn.Embedding(len(WORDS_start), 9)
    start_embedding(again, Some(), WORDS_start, spread=1.0)
    assert torch.equal(again.weight[4:-1], embedding.weight[4:-1])


def test_without_any_vector_nothing_changes() -> None:
    embedding = torch.nn.Embedding(5, 3)
    before = embedding.weight.detach().clone()
    assert start_embedding(embedding, Some(), Vocabulary((*SPECIAL, "zzz")), spread=1.0) == 0
    assert torch.equal(embedding.weight, before)
