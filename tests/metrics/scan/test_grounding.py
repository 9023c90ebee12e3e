"""Encoded regions, word states, attention and losses: the paper's equations, and torch's GRU."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.metrics.scan.grounding import (
    RegionBatch,
    encode_captions,
)
from metaeval.metrics.scan.network import (
    WAYS,
    ScanShape,
    WordEncoder,
    l2norm,
)
from research.train.networks import read_words
from tests.precision import assert_same_scores


def captions(n: int, words: int = 40, most: int = 14) -> list[list[int]]:
    """Random sentences of which many begin or end alike, and some are the same."""
    rng = np.random.default_rng(5)
    found = [[1, *rng.integers(4, words, rng.integers(0, most)).tolist(), 2] for _ in range(n // 3)]
    for _ in range(n // 3):
        own = list(found[rng.integers(len(found))])
        own[rng.integers(len(own))] = int(rng.integers(4, words))
        found += [own, list(found[rng.integers(len(found))])]
    return found


def encoder(**shape: Any) -> WordEncoder:
    torch.manual_seed(0)
    return WordEncoder(ScanShape(dim=6, words=40, embed=24, word=10, **shape)).eval()


@pytest.mark.parametrize("shape", [{}, {"text_norm": False}])
def test_states_are_those_of_torch(shape: dict[str, Any]) -> None:
    text, ids = encoder(**shape), captions(60)
    found = encode_captions(text, [ids])[0]
    for row, own in enumerate(ids):
        with torch.no_grad():
            expected = read_words(text, torch.tensor([own]))[0]
        assert found.lengths[row] == len(own)
        states = found.of(np.array([row]), len(own))
        assert states.dtype == torch.float32
        # float32, summed in another order
        np.testing.assert_allclose(states[0], expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("smooth", [4.0, 9.0, 20.0, 30.0, 90.0])
@pytest.mark.parametrize("n_regions", [5, 24])  # the two ways to lengths of what is attended to
@pytest.mark.parametrize("leak", [0.1, 0.0])  # the authors' code, and Eq. 3 of TIGEr's paper
def test_cosines_are_the_papers(smooth: float, n_regions: int, leak: float) -> None:
    d = 40
    regions, n = random_sets(0, [n_regions, 1, n_regions - 2], d)
    words, m = random_sets(1, [4, 7, 2, 6], d)
    # captions describe their images, or λ would have little effect; the encoders' numbers are
    # float32
    rows = np.array([2, 0, 1, 0])
    own = (words + 0.5 * regions[rows, :1] * (words != 0)).float()
    own, vectors = l2norm(own) * (own != 0), (1.7 * regions).float()
    batch = RegionBatch.of(vectors)
    found = batch.attend(torch.from_numpy(rows), own, smooth, leak=leak)
    assert tuple(found) == WAYS
    for k, row in enumerate(rows.tolist()):
        v, w = vectors[row, : n[row]].double().numpy(), own[k, : m[k]].double().numpy()
        # lengths of what regions attend to are in float32
        i2t, t2i = slow(v, w, smooth, leak), slow(w, v, smooth, leak)
        np.testing.assert_allclose(found["i2t"][k, : n[row]], i2t, rtol=0, atol=3e-7)
        np.testing.assert_allclose(found["t2i"][k, : m[k]], t2i, rtol=0, atol=1e-12)
        assert (found["i2t"][k, n[row] :] == 0).all()
        assert (found["t2i"][k, m[k] :] == 0).all()
    for way in WAYS:  # each alone is the same
        assert_same_scores(
            batch.attend(torch.from_numpy(rows), own, smooth, (way,), leak)[way], found[way]
        )


def slow(query: np.ndarray, context: np.ndarray, smooth: float, leak: float = 0.1) -> list[float]:
    """The cosine of each query with what it attends to, step by step (section 3.2 of the paper)."""
    scores = [[float(q @ c) for c in context] for q in query]
    scores = [[s if s > 0 else leak * s for s in row] for row in scores]
    norms = [math.sqrt(sum(row[j] ** 2 for row in scores)) + 1e-8 for j in range(len(context))]
    found = []
    for q, row in zip(query, scores, strict=True):
        e = [math.exp(smooth * s / n) for s, n in zip(row, norms, strict=True)]
        attended = sum(w / sum(e) * c for w, c in zip(e, context, strict=True))
        lengths = float(np.linalg.norm(q) * np.linalg.norm(attended))
        found.append(float(q @ attended) / max(lengths, 1e-8))
    return found


def random_sets(seed: int, counts: list[int], d: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors float64 [n, longest, d], zeros behind each item's count, and the counts."""
    generator = torch.Generator().manual_seed(seed)
    x = l2norm(torch.randn(len(counts), max(counts), d, generator=generator, dtype=torch.float64))
    n = torch.tensor(counts)
    return x * (torch.arange(max(counts)) < n[:, None])[..., None], n
