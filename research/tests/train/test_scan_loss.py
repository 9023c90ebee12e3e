"""SCAN's losses: over three pairs a caption they are those over all pairs."""

import numpy as np
import pytest
import torch

from metaeval.metrics.scan.network import (
    WAYS,
)
from research.train.networks import cosines, mean_cosines
from research.train.scan_loss import (
    Negatives,
    Pairs,
    all_pairs,
    anchor_loss,
    draw_negatives,
    hardest_negatives,
    triplet_loss,
)
from tests.metrics.scan.attention_cases import cosines as slow, random_sets

SMOOTH = 9.0


@pytest.mark.parametrize("smooth", [4.0, 20.0])
@pytest.mark.parametrize("quickly", [False, True])
def test_all_pairs_are_the_pairs_one_by_one(quickly: bool, smooth: float) -> None:
    regions, n = random_sets(2, [6, 2, 9, 1, 4])
    words, m = random_sets(3, [3, 8, 2, 5])
    found = (all_pairs if quickly else mean_cosines)(regions, n, words, m, smooth)
    assert tuple(found) == WAYS
    for i in range(5):
        for j in range(4):
            v, w = regions[i, : n[i]].numpy(), words[j, : m[j]].numpy()
            assert found["i2t"][i, j] == pytest.approx(np.mean(slow(v, w, smooth)), abs=1e-12)
            assert found["t2i"][i, j] == pytest.approx(np.mean(slow(w, v, smooth)), abs=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_the_loss_and_its_gradient_are_those_over_all_pairs(way: str) -> None:
    """The hardest negatives' loss from 3 b pairs, against the definition over the b × b matrix."""
    margin = 0.2
    counts = ([5, 2, 3, 9, 4, 1], [4, 6, 2, 3, 7, 5])
    grads, losses = [], []
    for short in (False, True):
        regions, n = random_sets(6, counts[0])
        words, m = random_sets(7, counts[1])
        leaves = regions.clone().requires_grad_(), words.clone().requires_grad_()
        # as the encoders leave it: padding is a constant
        regions = leaves[0] * (regions != 0)
        words = leaves[1] * (words != 0)
        s = mean_cosines(regions, n, words, m, SMOOTH)[way]
        if short:
            similar = Pairs(regions, n, words, m, SMOOTH).of(way)
            loss = triplet_loss(similar, 6, hardest_negatives(s.detach()), margin).loss
        else:
            off = ~torch.eye(6, dtype=torch.bool)
            right = s.diagonal()
            captions = torch.where(off, (margin + s - right[:, None]).clamp(min=0), 0.0)
            images = torch.where(off, (margin + s - right[None, :]).clamp(min=0), 0.0)
            loss = captions.max(dim=1).values.sum() + images.max(dim=0).values.sum()
        loss.backward()
        losses.append(float(loss.detach()))
        grads.append([leaf.grad for leaf in leaves])
    assert losses[0] > 0.1
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)


def test_drawn_negatives_are_wrong_partners_that_violate() -> None:
    s = torch.full((4, 4), -1.0).fill_diagonal_(0.5)
    s[0, 2] = s[3, 1] = 0.45  # the only ones within the margin
    torch.manual_seed(0)
    picks = [draw_negatives(s, 0.2) for _ in range(50)]
    assert {int(p.caption[0]) for p in picks} == {2}
    assert {int(p.image[2]) for p in picks} == {0}
    assert {int(p.caption[3]) for p in picks} == {1}
    assert {int(p.caption[1]) for p in picks} == {0, 2, 3}


def test_the_anchor_decides_the_sign() -> None:
    """The triplet loss is blind to a shift of all similarities, the anchor is not."""
    for shift in (0.0, -0.9):
        table = torch.tensor([[0.6, 0.5], [0.4, 0.7]]) + shift
        similar = lambda i, c, table=table: table[i, c]  # noqa: E731
        done = triplet_loss(similar, 2, Negatives(torch.tensor([1, 0]), torch.tensor([1, 0])), 0.2)
        assert float(done.loss) == pytest.approx(0.1, abs=1e-6)
        assert float(anchor_loss(done.matching, 0.5)) == pytest.approx(
            1.5 if shift else 0, abs=1e-6
        )


def test_padding_has_no_gradient_and_does_no_harm() -> None:
    regions, _ = random_sets(4, [3, 1])
    words, _ = random_sets(5, [2, 4])
    regions.requires_grad_()
    cosines(regions, words, SMOOTH).sum().backward()
    assert bool(torch.isfinite(regions.grad).all())
    assert float(regions.grad[0].abs().sum()) > 0
