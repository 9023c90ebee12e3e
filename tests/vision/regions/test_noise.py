"""Annotated objects with noise: rates, what stays, seeds; worked out on arrays and on COCO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metaeval.config import component, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Objects
from metaeval.errors import ConfigError
from metaeval.vision.regions.gold import CATEGORIES, BoxNoise, GoldRegions

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
