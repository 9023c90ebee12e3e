"""Regions from a dataset's annotated objects: no pixels, no detector, no download.

A region is an object: which of COCO's 80 categories it is, and where. Before them stands one for
the whole image, which counts the categories: what the image is about, at a glance. Objects may be
made worse on purpose (`BoxNoise`): what a detector's mistakes would cost a metric.

`add_grid` adds the content of each part of an image. Few objects make few regions: nearly a third
of val2017's images have three or fewer, and there is little to rank in them. A cell of the grid is
a region as the whole image is one: it counts the categories, each object by the share of its box
that is in the cell. Detectors' features have such a sibling, grid features (Jiang et al., CVPR
2020).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects
from metaeval.errors import ConfigError
from metaeval.options import NonNegativeInt, OptionsOf, PositiveInt, Share, checked
from metaeval.runs.records import GOLD_OBJECTS
from metaeval.runs.store import Store
from metaeval.vision.regions.base import MOST, Floats, Regions, RegionSource, stack_regions

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
_PLACE = {name: i for i, name in enumerate(CATEGORIES)}


def category_of(name: str) -> int | None:
    """A category's place in `CATEGORIES`, however its name is joined: "dining-table"; `None` for
    a name that is none of them."""
    if name in _PLACE:
        return _PLACE[name]
    return _PLACE.get(" ".join(name.lower().replace("-", " ").replace("_", " ").split()))


@checked
@dataclass(frozen=True)
class BoxNoise:
    """Objects dropped, labels confused and boxes jittered, each at a rate.

    The random numbers are drawn from the seed and the image's id, the same at every rate: what is
    dropped or confused at 10 % is so at 30 %, too, and a box moves in the same direction.

    Parameters
    ----------
    dropped
        The share of the objects that are left out, with label and box.
    confused
        The share of the objects that get the label of another of COCO's 80 categories, each of
        them equally likely.
    jittered
        How far boxes move, in [0, 0.5]: a centre by up to this share of the box's width and height
        in each direction, width and height by up to this share of themselves; cut off at the
        image's edge.
    seed
        Of the random numbers.
    """

    dropped: Share = 0.0
    confused: Share = 0.0
    # a box that moves by more than half of its size may leave the image
    jittered: Annotated[float, Interval(ge=0, le=0.5)] = 0.0
    seed: NonNegativeInt = 0

    @classmethod
    def of(cls, options: Mapping[str, Any] | None) -> BoxNoise:
        """The noise of these options; none for `None`."""
        return cls(**(options or {}))

    @property
    def title(self) -> str:
        """What columns say of it: "30 % dropped"; empty without noise."""
        rates = {name: getattr(self, name) for name in ("dropped", "confused", "jittered")}
        return ", ".join(f"{100 * rate:g} % {name}" for name, rate in rates.items() if rate)

    @property
    def identity(self) -> str:
        """For signatures: "+noise-d0.3-c0-j0-s0"; empty without noise."""
        if not self.title:
            return ""
        return f"+noise-d{self.dropped:g}-c{self.confused:g}-j{self.jittered:g}-s{self.seed}"

    def apply(self, objects: Objects, image_id: ImageId) -> Objects:
        """The objects of an image with the noise; the same ones without any."""
        if not self.title:
            return objects
        digest = hashlib.sha256(f"{self.seed}\0box noise\0{image_id}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:16], "little"))
        m = len(objects.labels)
        dropped, confused = rng.random(m) < self.dropped, rng.random(m) < self.confused
        steps = rng.integers(1, len(CATEGORIES), m)
        moves = self.jittered * rng.uniform(-1, 1, (m, 4))
        labels = [
            _another(label, int(step)) if wrong else label
            for label, step, wrong in zip(objects.labels, steps, confused, strict=True)
        ]
        corners = objects.boxes
        if self.jittered:
            size = corners[:, 2:] - corners[:, :2]
            centre = corners[:, :2] + size / 2 + moves[:, :2] * size
            half = size * (1 + moves[:, 2:]) / 2
            corners = np.clip(np.hstack([centre - half, centre + half]), 0.0, 1.0)
        places = np.flatnonzero(~dropped)
        return Objects(tuple(labels[k] for k in places), corners[places])


def _another(label: str, step: int) -> str:
    """The category so many places after this one; a label that is none of COCO's counts as the
    last."""
    place = category_of(label)
    return CATEGORIES[((len(CATEGORIES) - 1 if place is None else place) + step) % len(CATEGORIES)]


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
        noise: Annotated[Mapping[str, Any], OptionsOf("metaeval.vision.regions.gold.BoxNoise")]
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
            log.warning(
                "%s objects are outside COCO's categories; their regions have a place, but "
                "no category",
                f"{unknown:,}",
            )
        images = [None if each is None else regions_of(each, self.most) for each in annotated]
        return stack_regions(images, self.dim)


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


_MOST = 12  # cells a side: beyond, the attention has little else to compute
_ROWS = {2: ("top", "bottom"), 3: ("top", "", "bottom")}
_COLUMNS = {2: ("left", "right"), 3: ("left", "", "right")}


def add_grid(regions: Regions, side: int) -> Regions:
    """Gold regions with side × side cells between the whole image and the objects, row by row.

    A cell's 88 numbers are those of the whole image (`GoldRegions`): log(1 + how much) of each
    category, the flag of regions that are not a single object, and its place. An image without any
    region gets none. `side` 0 leaves the regions as they are. Raises ConfigError where they are not
    gold ones.
    """
    if isinstance(side, bool) or not isinstance(side, int) or not 0 <= side <= _MOST:
        raise ConfigError(f"task.network.grid must be a whole number from 0 to {_MOST}: {side!r}")
    if not side:
        return regions
    if regions.dim != GoldRegions.dim:
        raise ConfigError("task.network.grid is for gold regions only")
    n, c = len(regions), len(CATEGORIES)
    cells = _cells(side)
    features = np.zeros((n, len(cells), regions.dim), np.float32)
    categories = regions.features[:, 1:, :c]
    features[..., :c] = np.log1p(_shares(regions.boxes[:, 1:], cells) @ categories)
    features[..., c] = 1.0
    features[..., -GEOMETRY:] = geometry(cells)
    there = np.repeat(regions.mask[:, :1], len(cells), axis=1)
    features *= there[..., None]
    boxes = cells.astype(np.float32) * there[..., None]
    names = cell_names(side)
    return Regions(
        np.concatenate([regions.features[:, :1], features, regions.features[:, 1:]], axis=1),
        np.concatenate([regions.boxes[:, :1], boxes, regions.boxes[:, 1:]], axis=1),
        np.concatenate([regions.mask[:, :1], there, regions.mask[:, 1:]], axis=1),
        tuple((*labels[:1], *names, *labels[1:]) if labels else () for labels in regions.labels),
    )


def cell_names(side: int) -> tuple[str, ...]:
    """What the cells are called in drawings: "top left" … "bottom right"."""
    if side not in _ROWS:
        return tuple(f"row {i + 1}, column {j + 1}" for i in range(side) for j in range(side))
    return tuple(
        f"{row} {column}".strip() or "centre" for row in _ROWS[side] for column in _COLUMNS[side]
    )


def _cells(side: int) -> npt.NDArray[np.float64]:
    """[side², 4] Boxes, x1 y1 x2 y2, row by row."""
    edges = np.arange(side + 1) / side
    return np.array(
        [[edges[j], edges[i], edges[j + 1], edges[i + 1]] for i in range(side) for j in range(side)]
    )


def _shares(boxes: Floats, cells: npt.NDArray[np.float64]) -> Floats:
    """[n, k, r] The share of each of r boxes [n, r, 4] that is in each of k cells [k, 4]."""
    box, cell = boxes[:, None].astype(np.float64), cells[None, :, None]
    low, high = np.maximum(box[..., :2], cell[..., :2]), np.minimum(box[..., 2:], cell[..., 2:])
    inside = np.clip(high - low, 0, None).prod(axis=-1)
    area = (box[..., 2:] - box[..., :2]).prod(axis=-1)
    share = np.zeros(inside.shape, np.float32)
    np.divide(inside, area, out=share, where=area > 0, casting="same_kind")
    return share
