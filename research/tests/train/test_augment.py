"""Regions left out and mirrored, for training."""

from pathlib import Path

import pytest
import torch

from metaeval.data.scenes import load_scenes
from metaeval.vision.regions.gold import (
    CATEGORIES,
    GoldRegions,
)
from research.train.augment import mirrored, without_some


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[torch.Tensor, ...]:
    cache: Path = tmp_path_factory.mktemp("scenes")
    return GoldRegions().load(load_scenes(n=30, cache=cache)).tensors()


def test_mirrored_images_have_the_geometry_of_their_boxes(seen: tuple[torch.Tensor, ...]) -> None:
    features, boxes, mask = mirrored(*seen, share=1.0)
    assert not mask.all()  # what is not there stays as it is
    assert torch.equal(boxes[~mask], seen[1][~mask])
    assert torch.equal(features[~mask], seen[0][~mask])
    left, right = 1 - seen[1][..., 2], 1 - seen[1][..., 0]
    assert torch.equal(boxes[mask][:, [0, 2]], torch.stack([left, right], dim=-1)[mask])
    assert torch.equal(boxes[..., [1, 3]], seen[1][..., [1, 3]])
    geometry = features[mask][:, len(CATEGORIES) + 1 :]  # x1 y1 x2 y2 w h area
    own = boxes[mask]
    # float32 of the same numbers
    assert geometry[:, :4] == pytest.approx(own, abs=1e-6)
    assert geometry[:, 4] == pytest.approx(own[:, 2] - own[:, 0], abs=1e-6)
    assert torch.equal(features[..., : len(CATEGORIES) + 1], seen[0][..., : len(CATEGORIES) + 1])
    twice = mirrored(features, boxes, mask, share=1.0)
    assert torch.allclose(twice[0][mask], seen[0][mask], atol=1e-6)
    none = mirrored(*seen, share=0.0)
    assert all(torch.equal(a, b) for a, b in zip(none, seen, strict=True))


def test_regions_left_out(seen: tuple[torch.Tensor, ...]) -> None:
    torch.manual_seed(0)
    before = [set(map(tuple, f[m].tolist())) for f, m in zip(seen[0], seen[2], strict=True)]
    left = total = 0
    for _ in range(20):
        features, boxes, mask = without_some(*seen, share=0.3)
        assert torch.equal(features[:, 0], seen[0][:, 0])  # the whole image
        counts = mask.sum(dim=1)
        # those that are there come first
        assert torch.equal(mask, torch.arange(mask.shape[1]) < counts[:, None])
        assert mask.shape[1] == counts.max()
        for f, m, b, known in zip(features, mask, boxes, before, strict=True):
            assert set(map(tuple, f[m].tolist())) <= known
            assert torch.allclose(f[m][:, -7:-3], b[m], atol=1e-6)
        left += int(seen[2].sum() - mask.sum())
        total += int(seen[2].sum()) - len(mask)
    # of some thousand draws: four standard errors
    assert left / total == pytest.approx(0.3, abs=4 * (0.21 / total) ** 0.5)
    whole = without_some(*seen, share=0.0)
    most = whole[2].shape[1]
    assert torch.equal(whole[0], seen[0][:, :most] * seen[2][:, :most, None])
