"""Regions from a dataset's annotated objects: no pixels, no detector, no download.

A region is an object: which of COCO's 80 categories it is, and where. Before them stands one for
the whole image, which counts the categories: what the image is about, at a glance.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, Objects
from metaeval.options import PositiveInt, checked
from metaeval.runs.store import Store
from metaeval.vision.regions.base import MOST, Floats, Regions, RegionSource, padded

log = logging.getLogger(__name__)

# COCO's categories in ascending order of their ids
_NAMES = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant,
stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe,
backpack, umbrella, handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite,
baseball bat, baseball glove, skateboard, surfboard, tennis racket, bottle, wine glass, cup, fork,
knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake,
chair, couch, potted plant, bed, dining table, toilet, tv, laptop, mouse, remote, keyboard,
cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors, teddy bear,
hair drier, toothbrush
"""
CATEGORIES: tuple[str, ...] = tuple(" ".join(name.split()) for name in _NAMES.split(","))
WHOLE = "whole image"
GEOMETRY = 7  # x1, y1, x2, y2, width, height, area
_COLUMN = {name: i for i, name in enumerate(CATEGORIES)}


class GoldRegions(RegionSource):
    """The dataset's part "objects" as regions of 88 numbers.

    - 80: an object's category, one-hot; for the whole image, log(1 + how often) of each category;
    - 1: whether the region is the whole image;
    - 7: x1, y1, x2, y2, width, height and area, as shares of the image.

    Region 0 is the whole image (box 0 0 1 1), objects follow by descending area, those of equal
    area in the order of the annotations. An image without objects has its whole-image region, one
    that was never annotated has no region.

    Parameters
    ----------
    most
        Regions of an image, the whole image included; the smallest objects beyond are left out
        (but still counted in region 0).
    """

    name: ClassVar[str] = "gold"
    dim: int = len(CATEGORIES) + 1 + GEOMETRY

    @checked
    def __init__(self, most: PositiveInt = MOST) -> None:
        self.most = most

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """The dataset's own `Absent`, or one that says that its objects are not COCO's."""
        objects = dataset.part("objects")
        if isinstance(objects, Absent):
            return objects
        names = {name for i in dataset.image_ids if i in objects for name in objects[i].labels}
        if names and not any(_key(name) in _COLUMN for name in names):
            known = f"none of its {len(names):,} categories is one of COCO's 80"
            return Absent("objects", f"the objects of '{dataset.name}' cannot be used: {known}")
        return None

    def identity(self, store: Store | None = None) -> str:
        return "gold-v1" if self.most == MOST else f"gold-v1-{self.most}"

    def load(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        objects: Any = dataset.part("objects")
        annotated: list[Objects | None] = [objects.get(i) for i in dataset.image_ids]
        labels_of = (each.labels for each in annotated if each is not None)
        unknown = sum(_key(name) not in _COLUMN for names in labels_of for name in names)
        if unknown:
            log.warning("%s objects are outside COCO's categories; their regions have a place, but "
                        "no category", f"{unknown:,}")  # fmt: skip
        nothing: tuple[Floats, Floats, tuple[str, ...]] = (
            np.zeros((0, self.dim), np.float32), np.zeros((0, 4), np.float32), ()
        )  # fmt: skip
        regions = [nothing if each is None else regions_of(each, self.most) for each in annotated]
        features, boxes, labels = zip(*regions, strict=True)
        return padded(features, boxes, labels, self.dim)


def regions_of(objects: Objects, most: int = MOST) -> tuple[Floats, Floats, tuple[str, ...]]:
    """One image's features [r, 88], boxes [r, 4] and names; see `GoldRegions`."""
    corners = objects.boxes
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    order = np.argsort(-area, kind="stable")[: most - 1]
    columns = np.array([_COLUMN.get(_key(name), -1) for name in objects.labels], dtype=np.intp)
    c = len(CATEGORIES)
    boxes = np.concatenate([[[0.0, 0.0, 1.0, 1.0]], corners[order]])
    features = np.zeros((len(boxes), c + 1 + GEOMETRY))
    features[0, :c] = np.log1p(np.bincount(columns[columns >= 0], minlength=c))
    features[0, c] = 1.0
    shown = columns[order]
    known = np.flatnonzero(shown >= 0)
    features[1 + known, shown[known]] = 1.0
    features[:, c + 1 :] = geometry(boxes)
    names = (WHOLE, *(objects.labels[i] for i in order))
    return features.astype(np.float32), boxes.astype(np.float32), names


def geometry(boxes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Boxes [r, 4] to the seven numbers that describe a region's place, [r, 7]."""
    size = boxes[:, 2:] - boxes[:, :2]
    return np.concatenate([boxes, size, size.prod(axis=1, keepdims=True)], axis=1)


def _key(name: str) -> str:
    """A category's name however it is joined: "dining-table", "dining_table"."""
    return (
        name
        if name in _COLUMN
        else " ".join(name.lower().replace("-", " ").replace("_", " ").split())
    )
