"""Regions of annotated objects: by hand, on real files, left out, mirrored, noisy, in a grid."""

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from metaeval.config import component, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Objects
from metaeval.errors import ConfigError
from metaeval.vision.regions.base import Regions, stack_regions
from metaeval.vision.regions.bottomup import BottomUpRegions
from metaeval.vision.regions.detector import DetectorRegions
from metaeval.vision.regions.gold import (
    CATEGORIES,
    WHOLE,
    BoxNoise,
    GoldRegions,
    add_grid,
    cell_names,
    regions_of,
)
from tests.vision.regions.region_cases import dataset, objects

DOG, PERSON = CATEGORIES.index("dog"), CATEGORIES.index("person")
FLAG = 80

FOUND = {
    1: objects(
        ("dog", (0.5, 0.5, 0.75, 1.0)),  # an eighth of the image
        ("person", (0.0, 0.0, 0.5, 1.0)),  # half of it
        ("dog", (0.0, 0.0, 0.25, 0.5)),  # an eighth again: after the first
    ),
    2: objects(),
    3: objects(("dining-table", (0.25, 0.25, 0.5, 0.5))),
}


def row(categories: dict[int, float], flag: int, geometry: tuple[float, ...]) -> np.ndarray:
    values = np.array([0.0] * 80 + [flag, *geometry])
    values[list(categories)] = list(categories.values())
    return values


def test_by_hand() -> None:
    regions = GoldRegions().load(dataset(found=FOUND))
    assert regions.dim == GoldRegions.dim == 88
    assert regions.features.dtype == regions.boxes.dtype == np.float32
    assert regions.mask.tolist() == [
        [True] * 4,
        [True, False, False, False],
        [True] * 2 + [False] * 2,
    ]
    assert regions.labels == ((WHOLE, "person", "dog", "dog"), (WHOLE,), (WHOLE, "dining-table"))

    expected = [
        row({DOG: math.log(3), PERSON: math.log(2)}, 1, (0, 0, 1, 1, 1, 1, 1)),  # log(1 + count)
        row({PERSON: 1}, 0, (0, 0, 0.5, 1, 0.5, 1, 0.5)),
        row({DOG: 1}, 0, (0.5, 0.5, 0.75, 1, 0.25, 0.5, 0.125)),
        row({DOG: 1}, 0, (0, 0, 0.25, 0.5, 0.25, 0.5, 0.125)),
    ]
    nothing = np.zeros(88)
    expected = [expected, [row({}, 1, (0, 0, 1, 1, 1, 1, 1)), nothing, nothing, nothing]]
    # exact except for float32, whose relative error is 6e-8
    np.testing.assert_allclose(regions.features[:2], expected, rtol=1e-7)
    np.testing.assert_array_equal(regions.boxes[0, 1], [0, 0, 0.5, 1])
    assert regions.features[2, 1, CATEGORIES.index("dining table")] == 1
    # the smallest are left out, and counted
    few = GoldRegions(most=2).load(dataset(found=FOUND))
    assert few.labels[0] == (WHOLE, "person")
    assert few.features[0, 0, DOG] == pytest.approx(math.log(3))
    assert GoldRegions(most=2).identity() != GoldRegions().identity()


def test_an_unknown_category_says_where_not_what(caplog: pytest.LogCaptureFixture) -> None:
    data = dataset([1], found={1: objects(("unicorn", (0, 0, 0.5, 0.5)), ("dog", (0, 0, 1, 1)))})
    regions = GoldRegions().load(data)
    assert regions.labels[0] == (WHOLE, "dog", "unicorn")
    np.testing.assert_array_equal(
        regions.features[0, 2], row({}, 0, (0, 0, 0.5, 0.5, 0.5, 0.5, 0.25))
    )
    assert "1 objects are outside COCO's categories" in caplog.text


def test_missing_parts_are_reported() -> None:
    assert GoldRegions().missing(dataset(found=FOUND)) is None
    assert str(GoldRegions().missing(dataset())) == "no objects here"
    strange = dataset([1], found={1: objects(("unicorn", (0, 0, 1, 1)))})
    assert "none of its 1 categories is one of COCO's 80" in GoldRegions().missing(strange).reason


def test_a_digest_is_of_the_image_alone() -> None:
    source = GoldRegions()
    everything, alone = source.load(dataset(found=FOUND)), source.load(dataset([3], found=FOUND))
    assert alone.mask.shape != everything.mask.shape  # other padding
    assert source.digest(alone, 0) == source.digest(everything, 2)
    moved = source.load(dataset([3], found={3: objects(("dog", (0.25, 0.25, 0.5, 0.51)))}))
    digests = {source.digest(moved, 0), *(source.digest(everything, i) for i in range(3))}
    assert [len(digest) for digest in digests] == [16] * 4


def test_a_part_of_the_images() -> None:
    regions = GoldRegions().load(dataset(found=FOUND))
    part = regions.subset([2, 1])
    assert part.labels == (regions.labels[2], regions.labels[1])
    # no padding beyond what these need
    np.testing.assert_array_equal(part.features, regions.features[[2, 1], :2])
    np.testing.assert_array_equal(part.boxes, regions.boxes[[2, 1], :2])
    assert len(regions.subset([])) == 0


@pytest.mark.coco
@pytest.mark.parametrize(
    "split", ["val2017", pytest.param("karpathy_test", marks=pytest.mark.slow)]
)
def test_coco(coco_root: Path, split: str) -> None:
    raw = json.loads((coco_root / f"coco/annotations/instances_{split}.json").read_text())
    assert tuple(c["name"] for c in raw["categories"]) == CATEGORIES
    data = load_coco(split, split, data=coco_root)
    regions = GoldRegions().load(data)
    assert regions.features.shape == (5000, 36, 88)
    numbers = {c["id"]: i for i, c in enumerate(raw["categories"])}
    rows = {image_id: i for i, image_id in enumerate(data.image_ids)}
    places = [[rows[a["image_id"]], numbers[a["category_id"]]] for a in raw["annotations"]]
    counts = np.zeros((5000, 80))
    np.add.at(counts, tuple(np.transpose(places)), 1)
    # counted over the raw file: float32 rounding only
    np.testing.assert_allclose(regions.features[:, 0, :80], np.log1p(counts), rtol=1e-6)
    np.testing.assert_array_equal(regions.mask.sum(axis=1) - 1, np.minimum(counts.sum(axis=1), 35))
    assert (counts.sum(axis=1) == 0).sum() == 48
    # areas descend, and padding is 0
    assert (np.diff(regions.features[:, 1:, 87], axis=1) <= 0).all()
    assert 0 <= regions.boxes.min() <= regions.boxes.max() <= 1


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (GoldRegions, {"most": 0}, r"GoldRegions\.most: 0 is not"),
        *(
            (lambda **o: add_grid(empty(1, 88), **o), {"side": side}, r"network\.grid")
            for side in (-1, 13, True, 2.0)
        ),
        (lambda **o: add_grid(empty(1, 6), **o), {"side": 3}, "gold regions only"),
        *(
            (GoldRegions, {"noise": {name: rate}}, name)
            for name, rate in (
                ("dropped", -0.1),
                ("dropped", 1.5),
                ("jittered", 0.6),
                ("confused", "x"),
            )
        ),
        (DetectorRegions, {"most": 0}, "most"),
        (DetectorRegions, {"threshold": 2.0}, "threshold"),
        (BottomUpRegions, {"file": "a.pkl"}, r"must end in \.npy"),
        (BottomUpRegions, {"file": "a.npy", "dim": 0}, r"BottomUpRegions\.dim: 0 is not"),
        (BottomUpRegions, {"file": "a.npy", "most": True}, r"BottomUpRegions\.most: true is"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    source: Callable[..., object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        source(**options)


RNG = np.random.default_rng(5)
CORNERS = np.sort(RNG.random((400, 2, 2)), axis=1).reshape(400, 4)
MANY = Objects(tuple(CATEGORIES[k] for k in RNG.integers(0, 80, 400)), CORNERS)
RATES = (0.1, 0.3, 0.5)


def kept(noise: BoxNoise, image_id: int) -> list[int]:
    """The places of the objects that are left, which differ in their boxes."""
    boxes = noise.apply(MANY, image_id).boxes
    return [int(np.flatnonzero((box == CORNERS).all(axis=1))[0]) for box in boxes]


@pytest.mark.parametrize("rate", RATES)
def test_as_many_as_asked_for_are_dropped_and_confused(rate: float) -> None:
    """Over 25 images of 400 objects the share is within 4 standard errors of the rate."""
    error = 4 * np.sqrt(rate * (1 - rate) / 10_000)
    left = [len(kept(BoxNoise(dropped=rate), i)) for i in range(25)]
    assert 1 - np.mean(left) / 400 == pytest.approx(rate, abs=error)
    wrong = []
    for i in range(25):
        noisy = BoxNoise(confused=rate).apply(MANY, i)
        assert np.array_equal(noisy.boxes, CORNERS)
        assert set(noisy.labels) <= set(CATEGORIES)
        wrong += [a != b for a, b in zip(noisy.labels, MANY.labels, strict=True)]
    assert np.mean(wrong) == pytest.approx(rate, abs=error)  # never the object's own label


@pytest.mark.parametrize("rate", RATES)
def test_boxes_move_by_no_more_than_asked_for_and_stay_boxes(rate: float) -> None:
    noisy = BoxNoise(jittered=rate).apply(MANY, 3)
    assert noisy.labels == MANY.labels
    size = np.tile(CORNERS[:, 2:] - CORNERS[:, :2], 2)
    # a corner: the centre's move and half of the change in size
    assert (np.abs(noisy.boxes - CORNERS) <= 1.5 * rate * size + 1e-12).all()
    assert (noisy.boxes[:, :2] < noisy.boxes[:, 2:]).all()
    assert 0 <= noisy.boxes.min() <= noisy.boxes.max() <= 1
    moved = np.abs(noisy.boxes - CORNERS) > rate * size / 2
    assert 0.1 < moved.mean() < 0.9


def test_noise_depends_on_seed_and_image_alone_and_grows() -> None:
    places = [set(kept(BoxNoise(dropped=rate), 7)) for rate in (*RATES, 1.0)]
    assert places[0] > places[1] > places[2] > places[3] == set()
    drawn = [kept(BoxNoise(dropped=0.3, seed=s), i) for s, i in ((0, 7), (0, 7), (0, 8), (1, 7))]
    assert [other == drawn[0] for other in drawn] == [True, True, False, False]
    assert BoxNoise().apply(MANY, 7) is MANY


def test_confused_labels_are_any_other() -> None:
    dogs = Objects(("dog",) * 4000, np.tile([0.0, 0.0, 1.0, 1.0], (4000, 1)))
    counts = Counter(BoxNoise(confused=1.0).apply(dogs, 1).labels)
    assert set(counts) == {*CATEGORIES} - {"dog"}
    # 4,000 over 79 categories: 50.6 each, sd 7.1; within 5 sd
    assert all(15 < n < 87 for n in counts.values())


def test_regions_say_their_noise_and_suit_the_same_weights() -> None:
    clean = component(compose_config([]).regions, "regions")
    noisy = component(compose_config(["regions.noise.dropped=0.3"]).regions, "regions")
    assert (clean.identity(), clean.title) == ("gold-v1", "gold objects")
    named = ("gold-v1+noise-d0.3-c0-j0-s0", "gold objects, 30 % dropped")
    assert (noisy.identity(), noisy.title) == named
    assert (noisy.suits("gold-v1"), noisy.suits("bottomup-2048-36-v1")) == (True, False)


NOTHING = Objects((), np.zeros((0, 4)))


def of(*images: Objects) -> Regions:
    return stack_regions([regions_of(each) for each in images], GoldRegions.dim)


def test_cells_by_hand() -> None:
    boxes = np.array([[0.0, 0.0, 0.5, 0.5], [0.8, 0.8, 0.9, 1.0], [0.7, 0.7, 0.9, 0.9]])
    found = add_grid(of(Objects(("person", "dog", "dog"), boxes)), 3)
    cells = found.features[0, 1:10]
    # of the person's box, 1/4 of the image: a ninth of the image is in the first cell, half a
    # ninth in its two neighbours, a quarter of a ninth in the middle
    people = np.expm1(cells[:, PERSON]).reshape(3, 3)
    expected = [[4 / 9, 2 / 9, 0], [2 / 9, 1 / 9, 0], [0, 0, 0]]
    np.testing.assert_allclose(people, expected, rtol=0, atol=1e-6)  # float32
    np.testing.assert_allclose(np.expm1(cells[:, DOG]), [0] * 8 + [2], rtol=0, atol=1e-6)
    assert found.features[0, :, FLAG].tolist() == [1] * 10 + [0] * 3
    np.testing.assert_allclose(found.boxes[0, 2], [1 / 3, 0, 2 / 3, 1 / 3], rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        cells[5, -7:], [2 / 3, 1 / 3, 1, 2 / 3, 1 / 3, 1 / 3, 1 / 9], rtol=0, atol=1e-6
    )
    assert found.labels[0][:4] == ("whole image", "top left", "top", "top right")
    assert found.labels[0][10:] == ("person", "dog", "dog")
    assert cell_names(3)[3:6] == ("left", "centre", "right")
    assert cell_names(2) == ("top left", "top right", "bottom left", "bottom right")
    assert cell_names(4)[5] == "row 2, column 2"


def empty(n: int, dim: int) -> Regions:
    """One image with n regions of zeros, of which none is there."""
    features, boxes = np.zeros((1, n, dim), np.float32), np.zeros((1, n, 4), np.float32)
    return Regions(features, boxes, np.zeros((1, n), np.bool_), ((),))


def test_images_are_distinguished() -> None:
    regions = of(NOTHING, Objects(("dog",), np.array([[0.1, 0.1, 0.2, 0.2]])))
    found = add_grid(regions, 2)
    assert found.mask.sum(axis=1).tolist() == [5, 6]
    assert not found.features[0, :, :FLAG].any()
    none_at_all = add_grid(empty(2, 88), 2)
    assert none_at_all.labels == ((),)
    assert not none_at_all.mask.any()
    assert not none_at_all.features.any()
    assert add_grid(regions, 0) is regions
