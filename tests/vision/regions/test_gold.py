"""Annotated objects with noise, and the grid of gold regions: by hand, and for any image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metaeval.config import component, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Objects
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.vision.regions.base import Regions, padded
from metaeval.vision.regions.gold import (
    CATEGORIES,
    BoxNoise,
    GoldRegions,
    add_grid,
    cell_names,
    regions_of,
)

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
    assert kept(BoxNoise(dropped=0.3), 7) == kept(BoxNoise(dropped=0.3), 7)
    assert kept(BoxNoise(dropped=0.3), 7) != kept(BoxNoise(dropped=0.3), 8)
    assert kept(BoxNoise(dropped=0.3), 7) != kept(BoxNoise(dropped=0.3, seed=1), 7)
    assert BoxNoise().apply(MANY, 7) is MANY


def test_confused_labels_are_any_other() -> None:
    dogs = Objects(("dog",) * 4000, np.tile([0.0, 0.0, 1.0, 1.0], (4000, 1)))
    counts = dict.fromkeys(CATEGORIES, 0)
    for label in BoxNoise(confused=1.0).apply(dogs, 1).labels:
        counts[label] += 1
    assert counts.pop("dog") == 0
    # 4,000 over 79 categories: 50.6 each, sd 7.1; within 5 sd
    assert min(counts.values()) > 15
    assert max(counts.values()) < 87


@pytest.mark.parametrize(
    "options", [{"dropped": -0.1}, {"dropped": 1.5}, {"jittered": 0.6}, {"confused": "x"}]
)
def test_rates_that_cannot_be_are_refused(options: dict[str, float]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=name):
        GoldRegions(noise=options)


def test_regions_say_their_noise_and_suit_the_same_weights() -> None:
    clean = component(compose_config([]).regions, "regions")
    noisy = component(compose_config(["regions.noise.dropped=0.3"]).regions, "regions")
    assert (clean.identity(), clean.title) == ("gold-v1", "gold objects")
    assert noisy.identity() == "gold-v1+noise-d0.3-c0-j0-s0"
    assert noisy.title == "gold objects, 30 % dropped"
    assert noisy.suits("gold-v1")
    assert not noisy.suits("bottomup-2048-36-v1")


@pytest.mark.coco
def test_regions_of_coco_lose_what_is_dropped(coco_root: Path) -> None:
    """The whole image counts the objects that are left, and no more."""
    data = load_coco("coco_val2017", root=coco_root, split="val2017").limited(300)
    clean, noisy = (GoldRegions(noise={"dropped": rate}).load(data) for rate in (0.0, 0.5))
    counts = [np.expm1(regions.features[:, 0, :80]).sum() for regions in (clean, noisy)]
    objects = data.part("objects")
    assert counts[0] == pytest.approx(sum(len(objects[i].labels) for i in data.image_ids), rel=1e-5)
    assert counts[1] / counts[0] == pytest.approx(0.5, abs=0.05)


PERSON, DOG = CATEGORIES.index("person"), CATEGORIES.index("dog")
FLAG = len(CATEGORIES)
NOTHING = Objects((), np.zeros((0, 4)))


def of(*images: Objects) -> Regions:
    found = [regions_of(each) for each in images]
    features, boxes, labels = zip(*found, strict=True)
    return padded(features, boxes, labels, GoldRegions.dim)


def test_cells_by_hand() -> None:
    boxes = np.array([[0.0, 0.0, 0.5, 0.5], [0.8, 0.8, 0.9, 1.0], [0.7, 0.7, 0.9, 0.9]])
    found = add_grid(of(Objects(("person", "dog", "dog"), boxes)), 3)
    assert found.mask.shape == (1, 1 + 9 + 3)
    cells = found.features[0, 1:10]
    # of the person's box, 1/4 of the image: a ninth of the image is in the first cell, half a
    # ninth in its two neighbours, a quarter of a ninth in the middle
    people = np.expm1(cells[:, PERSON]).reshape(3, 3)
    expected = [[4 / 9, 2 / 9, 0], [2 / 9, 1 / 9, 0], [0, 0, 0]]
    np.testing.assert_allclose(people, expected, rtol=0, atol=1e-6)  # float32
    dogs = np.expm1(cells[:, DOG])
    np.testing.assert_allclose(dogs, [0] * 8 + [2], rtol=0, atol=1e-6)
    assert (cells[:, FLAG] == 1).all()
    assert (found.features[0, 10:, FLAG] == 0).all()
    np.testing.assert_allclose(found.boxes[0, 2], [1 / 3, 0, 2 / 3, 1 / 3], rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        cells[5, -7:], [2 / 3, 1 / 3, 1, 2 / 3, 1 / 3, 1 / 3, 1 / 9], rtol=0, atol=1e-6
    )
    assert found.labels[0][:4] == ("whole image", "top left", "top", "top right")
    assert found.labels[0][10:] == ("person", "dog", "dog")


def test_cells_add_up_to_the_whole_image() -> None:
    regions = GoldRegions().load(load_scenes(n=50, images=False))
    for side in (1, 2, 3, 4):
        found = add_grid(regions, side)
        cells = np.expm1(found.features[:, 1 : 1 + side**2, :FLAG]).sum(axis=1)
        whole = np.expm1(found.features[:, 0, :FLAG])
        np.testing.assert_allclose(cells, whole, rtol=0, atol=1e-4)  # sums of float32
        objects = found.features[:, 1 + side**2 :]
        assert np.array_equal(objects, regions.features[:, 1:])
        assert np.array_equal(found.mask.sum(axis=1), regions.mask.sum(axis=1) + side**2)


def test_images_are_distinguished() -> None:

    one = Objects(("dog",), np.array([[0.1, 0.1, 0.2, 0.2]]))
    regions = of(NOTHING, one)
    none_at_all = Regions(
        np.zeros((1, 2, 88), np.float32),
        np.zeros((1, 2, 4), np.float32),
        np.zeros((1, 2), np.bool_),
        ((),),
    )
    found = add_grid(regions, 2)
    assert found.mask.sum(axis=1).tolist() == [5, 6]
    assert not found.features[0, :, :FLAG].any()
    assert not add_grid(none_at_all, 2).mask.any()
    assert not add_grid(none_at_all, 2).features.any()
    assert add_grid(none_at_all, 2).labels == ((),)
    assert add_grid(regions, 0) is regions


def test_the_names_of_cells() -> None:
    assert cell_names(3)[3:6] == ("left", "centre", "right")
    assert cell_names(2) == ("top left", "top right", "bottom left", "bottom right")
    assert cell_names(4)[5] == "row 2, column 2"


@pytest.mark.parametrize("side", [-1, 13, True, 2.0])
def test_wrong_sides_are_refused(side: object) -> None:
    with pytest.raises(ConfigError, match=r"network\.grid"):
        add_grid(of(NOTHING), side)  # type: ignore[arg-type]


def test_other_regions_have_no_grid() -> None:
    other = Regions(
        np.zeros((1, 1, 6), np.float32),
        np.zeros((1, 1, 4), np.float32),
        np.ones((1, 1), np.bool_),
        (("",),),
    )
    with pytest.raises(ConfigError, match="gold regions only"):
        add_grid(other, 3)
