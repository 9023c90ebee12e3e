"""The grid of gold regions: cells worked out by hand, and what must hold for any image."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.data.dataset import Objects
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.vision.regions.base import Regions, padded
from metaeval.vision.regions.gold import CATEGORIES, GoldRegions, add_grid, cell_names, regions_of

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
