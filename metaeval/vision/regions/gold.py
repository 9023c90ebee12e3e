"""Regions from a dataset's annotated objects: no pixels, no detector, no download.

A region is an object: which of COCO's 80 categories it is, and where. Before them stands one for
the whole image, which counts the categories: what the image is about, at a glance.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, Objects
from metaeval.options import OptionsOf, PositiveInt, checked
from metaeval.runs.records import GOLD_OBJECTS
from metaeval.runs.store import Store
from metaeval.vision.regions.base import MOST, Floats, Regions, RegionSource, padded
from metaeval.vision.regions.categories import CATEGORIES, category_of
from metaeval.vision.regions.noise import BoxNoise

log = logging.getLogger(__name__)

WHOLE = "whole image"
GEOMETRY = 7  # x1, y1, x2, y2, width, height, area


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
    noise
        What is made worse of the objects before they become regions: `BoxNoise`'s options.
    """

    name: ClassVar[str] = "gold"
    dim: int = len(CATEGORIES) + 1 + GEOMETRY

    @checked
    def __init__(
        self,
        most: PositiveInt = MOST,
        noise: Annotated[Mapping[str, Any], OptionsOf("metaeval.vision.regions.noise.BoxNoise")]
        | None = None,
    ) -> None:
        self.most, self.noise = most, BoxNoise.of(noise)

    @property
    def title(self) -> str:  # type: ignore[override]  # it depends on the options
        """As columns say: "gold objects", "gold objects, 30 % dropped"."""
        return ", ".join(filter(None, (GOLD_OBJECTS, self.noise.title)))

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """The dataset's own `Absent`, or one that says that its objects are not COCO's."""
        objects = dataset.part("objects")
        if isinstance(objects, Absent):
            return objects
        names = {name for i in dataset.image_ids if i in objects for name in objects[i].labels}
        if names and all(category_of(name) is None for name in names):
            known = f"none of its {len(names):,} categories is one of COCO's 80"
            return Absent("objects", f"the objects of '{dataset.name}' cannot be used: {known}")
        return None

    def identity(self, store: Store | None = None) -> str:
        return self._clean_identity() + self.noise.identity

    def suits(self, trained_on: str, store: Store | None = None) -> bool:
        """Regions of the same objects, with noise or without."""
        return trained_on == self._clean_identity()

    def _clean_identity(self) -> str:
        return "gold-v1" if self.most == MOST else f"gold-v1-{self.most}"

    def load(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        objects: Any = dataset.part("objects")
        annotated: list[Objects | None] = [
            None if (given := objects.get(i)) is None else self.noise.apply(given, i)
            for i in dataset.image_ids
        ]
        labels_of = (each.labels for each in annotated if each is not None)
        unknown = sum(category_of(name) is None for names in labels_of for name in names)
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
    columns = np.array(
        [-1 if (k := category_of(name)) is None else k for name in objects.labels], dtype=np.intp
    )
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
