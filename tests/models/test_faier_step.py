"""A training step's shortcuts give the plain model's scores and gradients; and the losses."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from metaeval.errors import ConfigError
from metaeval.models import faier_loss, faier_step
from metaeval.models.faier_captions import NO_REFERENCE
from metaeval.models.faier_step import Ragged, Splits
from metaeval.models.faier_training import FaierSettings, FaierTask
from metaeval.models.faier_triplets import TripletParser
from metaeval.models.grounded_data import CaptionedImages
from tests.models.faier_cases import NONE, VOCABULARY, captions, model, regions

# two captions for each of the three images of `regions`, then the empty reference
ROWS = [0, 1, 2, 3, 4, 5, NONE]
SPLITS = Splits(
    torch.tensor([[0, 0, 1], [1, 1, 0]]),
    torch.tensor([[[1], [2], [0]], [[2], [0], [1]]]),
    torch.tensor([[1, 1, 1], [1, 1, 1]]),
)


def plain_and_quick(**options):
    """Per split: the plain model's unions and candidates, and the step's levels."""
    net = model(**options)
    features, boxes, mask = regions().tensors()
    see = features.double(), boxes.double(), mask
    nodes = net.read(captions().take(np.array(ROWS)))
    plain = []
    for s in range(2):
        own = torch.arange(3)[:, None] * 2 + SPLITS.references[s]
        rows = torch.where(SPLITS.references[s] == 2, 6, own)
        unions = net.unite(net.see(*see), nodes, rows, SPLITS.counts[s])
        plain.append((unions, nodes[torch.arange(3) * 2 + SPLITS.candidates[s]]))
    return net, plain, faier_step.levels(net, see, nodes, 2, SPLITS)


@pytest.mark.parametrize("options", [{}, {"relations": False}, {"fused": False}])
def test_scores_and_gradients_of_a_step(options: dict[str, bool]) -> None:
    net, plain, quick = plain_and_quick(**options)
    image, caption = torch.tensor([0, 1, 2, 2, 0]), torch.tensor([0, 1, 2, 0, 1])
    for (unions, nodes), levels in zip(plain, quick, strict=True):
        expected = net.score(unions[image], nodes[caption]).sum(dim=1)
        found = faier_loss.scores(levels, image, caption)
        # float64: the same sums in another order
        assert torch.allclose(found, expected, atol=1e-11, rtol=0)
        table = sum(faier_step.matrix(each.images, each.captions) for each in levels)
        assert torch.allclose(table, net.matrix(unions, nodes), atol=1e-11, rtol=0)
        weight = torch.tensor([1.0, -2.0, 0.5, 1.5, -1.0], dtype=torch.double)
        ours, theirs = (
            torch.autograd.grad(
                (x * weight).sum(), list(net.parameters()), retain_graph=True, allow_unused=True
            )
            for x in (found, expected)
        )
        assert any(a is not None and a.abs().max() > 0.01 for a in ours)
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.allclose(a, b, atol=1e-10, rtol=0)


def test_the_matrix_in_slices() -> None:
    _, _, quick = plain_and_quick()
    level = quick[0][0]
    whole = faier_step.matrix(level.images, level.captions)
    assert torch.allclose(
        faier_step.matrix(level.images, level.captions, budget=1), whole, atol=1e-12, rtol=0
    )


def test_the_hardest_negatives() -> None:
    _, _, quick = plain_and_quick()
    image, caption = faier_loss.hardest(quick[0])
    table = sum(faier_step.matrix(each.images, each.captions) for each in quick[0]).numpy()
    for i in range(3):
        wrong = [k for k in range(3) if k != i]
        assert image[i] == max(wrong, key=lambda k: table[i, k])
        assert caption[i] == max(wrong, key=lambda k: table[k, i])


def test_the_losses_by_hand() -> None:
    own, image = torch.tensor([1.0, 2.0]), torch.tensor([0.9, 2.5])
    caption = torch.tensor([0.0, 1.9])
    # .2 − 1 + .9 = .1 and .2 − 2 + 2.5 = .7; 0 and .2 − 2 + 1.9 = .1
    assert faier_loss.triplet(own, image, caption, 0.2) == pytest.approx(0.1 + 0.7 + 0.1)
    # 1 against .9, 2.5: .1, 1.7; 2 against them: 0, .7; the mean over two wrong scores
    assert faier_loss.across(own, image, 0.2) == pytest.approx((0.1 + 1.7) / 2 + 0.7 / 2)


def test_ragged_vectors() -> None:
    padded = torch.arange(12.0).view(3, 2, 2)
    ragged = Ragged.of(padded, torch.tensor([[True, False], [True, True], [True, False]]))
    assert ragged.vectors.tolist() == [[0, 1], [4, 5], [6, 7], [8, 9]]
    rows, there = ragged.places(torch.tensor([1, 2]))
    assert rows[there].tolist() == [1, 2, 3]
    assert there.tolist() == [[True, True], [True, False]]


def images(n: int = 6) -> CaptionedImages:
    texts = [
        (
            f"a man rides a horse {i}",
            "two cats near a dog",
            f"a dog {i}",
            "a man",
            "a horse on a dog",
        )
        for i in range(n)
    ]
    own = regions((2, 1, 3) * (n // 3))
    return CaptionedImages(tuple(range(n)), tuple(texts), own, "some", {})


def task(variant: str, **options) -> FaierTask:
    settings = FaierSettings(variant, batch=3, **options)
    net = model(dtype=torch.float32, relations=variant != "rel", fused=variant != "fier")
    return FaierTask(net, images(), TripletParser(), VOCABULARY, settings)


@pytest.mark.parametrize(
    ("variant", "counts"),
    [("r", {0, 1, 2, 3, 4}), ("4", {4}), ("1", {1}), ("fier", {0}), ("r_neg", {0, 1, 2, 3, 4})],
)
def test_a_candidate_is_never_among_its_own_references(variant: str, counts: set[int]) -> None:
    own = task(variant)
    seen = set()
    for epoch in range(8):
        for batch in own.batches(epoch, np.random.default_rng(epoch)):
            splits = batch.splits
            for s in range(5):
                for i in range(3):
                    read = splits.references[s, i, : splits.counts[s, i]].tolist()
                    none = read == [5]
                    seen.add(0 if none else len(read))
                    assert none or (len(set(read)) == len(read) and max(read) < 5)
                    assert int(splits.candidates[s, i]) not in read
            # each of an image's five captions is a candidate once
            assert (splits.candidates.sort(dim=0).values == torch.arange(5)[:, None]).all()
    assert seen == counts
    assert own.captions.words[-1].tolist()[:3] == [*VOCABULARY.encode(NO_REFERENCE), 0]


def test_every_image_comes_once_an_epoch() -> None:
    batches = task("r").batches(0, np.random.default_rng(0))
    assert sorted(np.concatenate([batch.images for batch in batches])) == list(range(6))


@pytest.mark.parametrize("variant", ["r", "rel", "fier", "r_neg"])
def test_the_loss_falls(variant: str) -> None:
    own = task(variant, across=0.5, word_dropout=0.1)
    torch.manual_seed(0)
    own.model.train()
    optimizer = torch.optim.Adam(own.model.parameters(), lr=0.02)
    losses = []
    for epoch in range(12):
        for batch in own.batches(epoch, np.random.default_rng(epoch)):
            optimizer.zero_grad()
            loss = own.loss(batch, epoch)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert np.isfinite(losses).all()
    assert np.mean(losses[-4:]) < 0.8 * np.mean(losses[:4])


def test_the_loss_of_a_split_by_hand() -> None:
    own = task("r", splits=2)
    own.model.double()
    own._regions = tuple(
        part.double() if part.is_floating_point() else part for part in own._regions
    )
    batch = own.batches(0, np.random.default_rng(1))[0]
    nodes = own.model.read(own.captions.take(np.arange(len(own.captions))))
    see = tuple(part[batch.images] for part in own._regions)
    expected = torch.zeros((), dtype=torch.double)
    first = torch.from_numpy(batch.images) * 5
    for s in range(2):
        rows = torch.where(
            batch.splits.references[s] == 5, 30, first[:, None] + batch.splits.references[s]
        )
        unions = own.model.unite(own.model.see(*see), nodes, rows, batch.splits.counts[s])
        table = own.model.matrix(unions, nodes[first + batch.splits.candidates[s]])
        for i in range(3):
            wrong = [k for k in range(3) if k != i]
            for other in (max(table[i, k] for k in wrong), max(table[k, i] for k in wrong)):
                expected += max(0.0, 0.2 + other - table[i, i])
    assert own.loss(batch, 0).item() == pytest.approx(float(expected) / 6, abs=1e-10)


def test_unknown_variants_and_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown variant 'x'"):
        FaierSettings("x")
    with pytest.raises(ConfigError, match=r"protocol\.model\.batch"):
        FaierSettings("r", batch=1)
