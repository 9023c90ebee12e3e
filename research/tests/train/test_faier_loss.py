"""A training step's shortcuts give the plain model's scores and gradients; and the losses."""

from typing import Any

import numpy as np
import pytest
import torch

from metaeval.errors import ConfigError
from metaeval.metrics.faier.network import NO_REFERENCE
from metaeval.text.scene_graphs.parse import TripletParser
from research.tests import faier_plain as plain
from research.train import faier_loss as step
from research.train.caption_similarity import CaptionSimilarity
from research.train.dataset import CaptionedImages
from research.train.faier_loss import FaierSettings, FaierTask, Splits
from research.train.networks import TextBatch, read_nodes
from tests.metrics.faier.faier_cases import NONE, VOCABULARY, captions, model, regions

# two captions for each of the three images of `regions`, then the empty reference
ROWS = [0, 1, 2, 3, 4, 5, NONE]
SPLITS = Splits(
    torch.tensor([[0, 0, 1], [1, 1, 0]]),
    torch.tensor([[[1], [2], [0]], [[2], [0], [1]]]),
    torch.tensor([[1, 1, 1], [1, 1, 1]]),
)


def plain_and_quick(**options):
    net = model(**options)
    features, boxes, mask = regions().tensors()
    see = (features.double(), boxes.double(), mask) if net.shape.seen else None
    nodes = read_nodes(net.text, TextBatch.of(captions(), np.array(ROWS)))
    by_hand = [plain_scores(net, see, nodes, 2, torch.arange(3) * 2, SPLITS, s) for s in range(2)]
    return net, by_hand, step.make_levels(net, see, nodes, 2, SPLITS)


def plain_scores(net, see, nodes, c, first, splits, s):
    """[captions, images, levels] Of every candidate with every image, one by one.

    Images have c captions, from row `first` of the nodes on; the last row is the empty reference.
    """
    seen, empty = net.see(*see) if see else None, len(nodes.objects) - 1
    unions = []
    for i, start in enumerate(first.tolist()):
        slots = splits.references[s, i, : splits.counts[s, i]].tolist()
        references = [empty if slot == c else start + slot for slot in slots]
        unions.append(plain.unite(net, seen, i, nodes, references))
    return torch.stack(
        [
            torch.stack([plain.score(z, nodes, row) for z in unions])
            for row in (first + splits.candidates[s]).tolist()
        ]
    )


@pytest.mark.parametrize("options", [{}, {"relations": False}, {"fused": False}, {"seen": False}])
def test_scores_and_gradients_of_a_step(options: dict[str, bool]) -> None:
    net, by_hand, quick = plain_and_quick(**options)
    image, caption = torch.tensor([0, 1, 2, 2, 0]), torch.tensor([0, 1, 2, 0, 1])
    for scores, levels in zip(by_hand, quick, strict=True):
        expected = scores[caption, image].sum(dim=1)
        found = step.by_level(levels, image, caption).sum(dim=0)
        # float64: the same sums in another order
        assert torch.allclose(found, expected, atol=1e-11, rtol=0)
        table = sum(step.score_matrix(each.images, each.captions) for each in levels)
        assert torch.allclose(table, scores.sum(dim=2), atol=1e-11, rtol=0)
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
    whole = step.score_matrix(level.images, level.captions)
    assert torch.allclose(
        step.score_matrix(level.images, level.captions, budget=1), whole, atol=1e-12, rtol=0
    )


def test_the_hardest_negatives() -> None:
    _, _, quick = plain_and_quick()
    table = sum(step.score_matrix(each.images, each.captions) for each in quick[0]).numpy()
    own = torch.tensor([[0.0, 9.0, 0.1], [0.2, 0.0, 7.0], [8.0, 0.3, 0.0]], dtype=torch.double)
    for margin in (0.2, own):
        found = step.hardest_negatives(quick[0], margin)
        asked = own.numpy() if margin is own else np.full((3, 3), margin)
        for i in range(3):
            wrong = [k for k in range(3) if k != i]
            image = max(wrong, key=lambda k: table[i, k] + asked[k, i])
            caption = max(wrong, key=lambda k: table[k, i] + asked[i, k])
            assert (found.image[i], found.caption[i]) == (image, caption)
            if margin is own:
                assert found.image_margin[i] == own[image, i]
                assert found.caption_margin[i] == own[i, caption]
            else:
                assert found.image_margin == found.caption_margin == 0.2


def test_the_losses_by_hand() -> None:
    own, image = torch.tensor([1.0, 2.0]), torch.tensor([0.9, 2.5])
    caption = torch.tensor([0.0, 1.9])
    # .2 − 1 + .9 = .1 and .2 − 2 + 2.5 = .7; 0 and .2 − 2 + 1.9 = .1
    none = torch.zeros(2, dtype=torch.int64)
    worst, scores = (
        step.HardestNegatives(none, none, 0.2, 0.2),
        torch.stack([own, image, caption]),
    )
    assert worst.triplet_loss(scores) == pytest.approx(0.1 + 0.7 + 0.1)
    # half the margin: 0 and .6; 0 and 0
    assert worst.triplet_loss(scores, 0.5) == pytest.approx(0.6)
    # .3 − 1 + .9 = .2, .1 − 2 + 2.5 = .6; 1.4 − 1 = .4, 0
    worst = step.HardestNegatives(none, none, torch.tensor([0.3, 0.1]), torch.tensor([1.4, 0.1]))
    assert worst.triplet_loss(scores) == pytest.approx(0.2 + 0.6 + 0.4)
    # 1 against .9, 2.5: .1, 1.7; 2 against them: 0, .7; the mean over two wrong scores
    assert step.across_loss(own, image, 0.2) == pytest.approx((0.1 + 1.7) / 2 + 0.7 / 2)


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
    return CaptionedImages(tuple(range(n)), tuple(texts), own, "some")


def task(variant: str, similarity=None, **options) -> FaierTask:
    settings = FaierSettings(variant, batch=3, **options)
    net = model(dtype=torch.float32, relations=variant != "rel", fused=variant != "fier")
    return FaierTask(net, images(), TripletParser(), VOCABULARY, settings, similarity)


@pytest.mark.parametrize(
    ("variant", "counts"),
    [
        ("r", {0, 1, 2, 3, 4}),
        ("4", {4}),
        ("1", {1}),
        ("fier", {0}),
    ],
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


@pytest.mark.parametrize(("variant", "changed"), [("r", True), ("1", False), ("4", False)])
def test_samples_without_references(variant: str, changed: bool) -> None:
    """Of 0 to 4 references a fifth has none; with half of the rest, three fifths."""
    none = []
    for share in (0.0, 0.5, 1.0):
        own = task(variant, unreferenced=share)
        found = [
            batch.splits.references[..., 0] == 5
            for epoch in range(60)
            for batch in own.batches(epoch, np.random.default_rng(epoch))
        ]
        none.append(float(torch.stack(found).double().mean()))
    # 60 epochs are 1,800 samples: three standard errors are .035
    assert none == pytest.approx([0.2, 0.6, 1.0] if changed else [0, 0, 0], abs=0.035)


def test_every_image_comes_once_an_epoch() -> None:
    batches = task("r").batches(0, np.random.default_rng(0))
    assert sorted(np.concatenate([batch.images for batch in batches])) == list(range(6))


class ByHand:
    of_image = np.arange(30).reshape(6, 5)

    def of(self, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.cos(np.add.outer(2.0 * (rows // 5), rows)))

    margins = CaptionSimilarity.margins


@pytest.mark.parametrize(("alone", "widest"), [(0.0, 0.0), (1.5, 0.0), (0.7, 0.4)])
def test_the_loss_of_a_split_by_hand(alone: float, widest: float) -> None:
    own = task("r", splits=2, levels=alone, similarity_margin=widest, similarity=ByHand())
    own.model.double()
    own._regions = tuple(
        part.double() if part.is_floating_point() else part for part in own._regions
    )
    batch = own.batches(0, np.random.default_rng(1))[0]
    nodes = read_nodes(own.model.text, TextBatch.of(own.captions, np.arange(len(own.captions))))
    see = tuple(part[batch.images] for part in own._regions)
    expected = torch.zeros((), dtype=torch.double)
    first = torch.from_numpy(batch.images) * 5
    for s in range(2):
        with torch.no_grad():
            parts = plain_scores(own.model, see, nodes, 5, first, batch.splits, s)
        table = parts.sum(dim=2)
        row = batch.images * 5 + batch.splits.candidates[s].numpy()
        margin = np.full((3, 3), 0.2)  # [captions, images]
        if widest:
            margin = widest * (1 - np.cos(np.add.outer(row, 2.0 * batch.images)))
        for i in range(3):
            wrong = [k for k in range(3) if k != i]
            caption = max(wrong, key=lambda k: table[k, i] + margin[k, i])
            for at in ((i, max(wrong, key=lambda k: table[i, k] + margin[i, k])), (caption, i)):
                expected += max(0.0, margin[at] + table[at] - table[i, i])
                for level in range(2):
                    off = parts[at][level] - parts[i, i][level]
                    expected += alone * max(0.0, margin[at] / 2 + off)
    assert own.loss(batch, 0).item() == pytest.approx(float(expected) / 6, abs=1e-10)


def test_margins_of_similarity_need_word_vectors() -> None:
    with pytest.raises(ConfigError, match=r"task\.model\.similarity_margin needs word vectors"):
        task("r", similarity_margin=0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "x"}, "unknown variant 'x'"),
        ({"variant": "r", "batch": 1}, r"FaierSettings\.batch: 1 is not"),
        ({"variant": "r", "unreferenced": 1.5}, r"unreferenced: 1\.5 is"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FaierSettings(**options)
