"""Regions of annotated objects: by hand, on the real files, left out and mirrored."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from metaeval.config import component, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.vision.regions.augment import mirrored, without_some
from metaeval.vision.regions.base import Regions, padded
from metaeval.vision.regions.gold import CATEGORIES, WHOLE, GoldRegions
from tests.vision.regions.region_cases import dataset, objects

DOG, PERSON = CATEGORIES.index("dog"), CATEGORIES.index("person")
FLAG, GEOMETRY = 80, slice(81, 88)

FOUND = {
    1: objects(
        ("dog", (0.5, 0.5, 0.75, 1.0)),  # an eighth of the image
        ("person", (0.0, 0.0, 0.5, 1.0)),  # half of it
        ("dog", (0.0, 0.0, 0.25, 0.5)),  # an eighth again: after the first
    ),
    2: objects(),
    3: objects(("dining-table", (0.25, 0.25, 0.5, 0.5))),
}


def test_by_hand() -> None:
    source = GoldRegions()
    regions = source.load(dataset(found=FOUND))
    assert regions.features.shape == (3, 4, 88)
    assert regions.dim == source.dim == 88
    assert regions.features.dtype == regions.boxes.dtype == np.float32
    assert regions.mask.tolist() == [
        [True] * 4,
        [True, False, False, False],
        [True] * 2 + [False] * 2,
    ]
    assert regions.labels == ((WHOLE, "person", "dog", "dog"), (WHOLE,), (WHOLE, "dining-table"))

    whole = np.zeros(88)
    whole[[DOG, PERSON]] = math.log(3), math.log(2)  # log(1 + count)
    whole[FLAG] = 1
    whole[GEOMETRY] = 0, 0, 1, 1, 1, 1, 1
    person, first, second = np.zeros(88), np.zeros(88), np.zeros(88)
    person[PERSON] = first[DOG] = second[DOG] = 1
    person[GEOMETRY] = 0, 0, 0.5, 1, 0.5, 1, 0.5
    first[GEOMETRY] = 0.5, 0.5, 0.75, 1, 0.25, 0.5, 0.125
    second[GEOMETRY] = 0, 0, 0.25, 0.5, 0.25, 0.5, 0.125
    # exact except for float32, whose relative error is 6e-8
    np.testing.assert_allclose(regions.features[0], [whole, person, first, second], rtol=1e-7)
    np.testing.assert_array_equal(regions.boxes[0, 1], [0, 0, 0.5, 1])

    none = np.zeros(88)
    none[FLAG] = 1
    none[GEOMETRY] = 0, 0, 1, 1, 1, 1, 1
    np.testing.assert_array_equal(regions.features[1, 0], none)
    assert not regions.features[1, 1:].any()
    assert regions.features[2, 1, CATEGORIES.index("dining table")] == 1


def test_the_smallest_are_left_out_but_counted() -> None:
    regions = GoldRegions(most=2).load(dataset(found=FOUND))
    assert regions.labels[0] == (WHOLE, "person")
    assert regions.features[0, 0, DOG] == pytest.approx(math.log(3))
    assert GoldRegions(most=2).identity() != GoldRegions().identity()
    with pytest.raises(ConfigError, match=r"GoldRegions\.most: 0 is not"):
        GoldRegions(most=0)


def test_an_unknown_category_says_where_not_what(caplog: pytest.LogCaptureFixture) -> None:
    data = dataset([1], found={1: objects(("unicorn", (0, 0, 0.5, 0.5)), ("dog", (0, 0, 1, 1)))})
    regions = GoldRegions().load(data)
    assert regions.labels[0] == (WHOLE, "dog", "unicorn")
    assert not regions.features[0, 2, :80].any()
    assert regions.features[0, 2, 87] == 0.25
    assert "1 objects are outside COCO's categories" in caplog.text


def test_missing_parts_are_reported() -> None:
    assert GoldRegions().missing(dataset(found=FOUND)) is None
    assert str(GoldRegions().missing(dataset())) == "no objects here"
    strange = dataset([1], found={1: objects(("unicorn", (0, 0, 1, 1)))})
    absent = GoldRegions().missing(strange)
    assert "none of its 1 categories is one of COCO's 80" in absent.reason


def test_a_digest_is_of_the_image_alone() -> None:
    source = GoldRegions()
    everything = source.load(dataset(found=FOUND))
    alone = source.load(dataset([3], found=FOUND))
    assert alone.mask.shape != everything.mask.shape  # other padding
    assert source.digest(alone, 0) == source.digest(everything, 2)
    digests = {source.digest(everything, i) for i in range(3)}
    assert len(digests) == 3
    assert all(len(d) == 16 for d in digests)
    moved = GoldRegions().load(dataset([3], found={3: objects(("dog", (0.25, 0.25, 0.5, 0.51)))}))
    assert source.digest(moved, 0) not in digests


def test_a_part_of_the_images() -> None:
    regions = GoldRegions().load(dataset(found=FOUND))
    part = regions.subset([2, 1])
    assert part.labels == (regions.labels[2], regions.labels[1])
    assert part.mask.shape == (2, 2)  # no padding beyond what these need
    np.testing.assert_array_equal(part.features[0], regions.features[2, :2])
    np.testing.assert_array_equal(part.boxes[0], regions.boxes[2, :2])
    assert len(regions.subset([])) == 0


def test_shapes_that_do_not_fit_are_refused() -> None:
    features, boxes = np.zeros((1, 2, 3), np.float32), np.zeros((1, 2, 4), np.float32)
    good = np.array([[True, False]])
    assert Regions(features, boxes, good, (("dog",),)).dim == 3
    for wrong in (
        lambda: Regions(features, boxes[:, :1], good, (("dog",),)),
        lambda: Regions(features, boxes, ~good, (("dog",),)),  # a gap before the region
        lambda: Regions(features, boxes, good, (("dog", "cat"),)),
        lambda: Regions(features, boxes, good, ()),
    ):
        with pytest.raises(ValueError, match=r"differ|must come|one label"):
            wrong()
    assert padded([features[0]], [boxes[0]], [["", ""]], 3).mask.all()


@pytest.mark.coco
@pytest.mark.parametrize("split", ["val2017", "karpathy_test"])
def test_coco(coco_root: Path, split: str) -> None:
    raw = json.loads((coco_root / f"coco/annotations/instances_{split}.json").read_text())
    assert tuple(c["name"] for c in raw["categories"]) == CATEGORIES
    data = load_coco(split, split, data=coco_root)
    regions = GoldRegions().load(data)
    assert regions.features.shape == (5000, 36, 88)
    numbers = {c["id"]: i for i, c in enumerate(raw["categories"])}
    rows = {image_id: i for i, image_id in enumerate(data.image_ids)}
    counts = np.zeros((5000, 80))
    for each in raw["annotations"]:
        counts[rows[each["image_id"]], numbers[each["category_id"]]] += 1
    # counted over the raw file: float32 rounding only
    np.testing.assert_allclose(regions.features[:, 0, :80], np.log1p(counts), rtol=1e-6)
    objects_shown = regions.mask.sum(axis=1) - 1
    np.testing.assert_array_equal(objects_shown, np.minimum(counts.sum(axis=1), 35))
    assert (counts.sum(axis=1) == 0).sum() == 48
    area = regions.features[:, 1:, 87]
    assert (np.diff(area, axis=1) <= 0).all()  # descending, and padding is 0
    assert regions.boxes.min() >= 0
    assert regions.boxes.max() <= 1


def test_scenes_have_regions() -> None:
    data = load_scenes(n=40)
    source = GoldRegions()
    assert source.missing(data) is None
    regions = source.load(data)
    objects_of = data.part("objects")
    for row, image_id in enumerate(data.image_ids):
        assert sorted(regions.labels[row][1:]) == sorted(objects_of[image_id].labels)
        assert regions.features[row, 0, :80].sum() > 0


def test_the_configuration_builds_each_source(tmp_path: Path) -> None:
    options = {
        "gold": [],
        "bottomup": [f"regions.file={tmp_path}/a.tsv"],
        "detector": ["regions.most=10", f"paths.cache={tmp_path}"],
    }
    for name, more in options.items():
        config = compose_config([f"regions={name}", *more])
        source = component(config.regions, "regions")
        assert source.name == name
    assert compose_config([]).regions._target_.endswith("GoldRegions")
    with pytest.raises(ConfigError, match=r"regions: .*argument 'many'"):
        component(compose_config(["+regions.many=3"]).regions, "regions")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[torch.Tensor, ...]:
    cache: Path = tmp_path_factory.mktemp("scenes")
    return GoldRegions().load(load_scenes(n=30, cache=cache)).tensors()


def test_mirrored_images_have_the_geometry_of_their_boxes(seen: tuple[torch.Tensor, ...]) -> None:
    features, boxes, mask = mirrored(*seen, share=1.0)
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


def test_what_is_not_there_stays_as_it_is(seen: tuple[torch.Tensor, ...]) -> None:
    features, boxes, mask = mirrored(*seen, share=1.0)
    assert not mask.all()
    assert torch.equal(boxes[~mask], seen[1][~mask])
    assert torch.equal(features[~mask], seen[0][~mask])


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
