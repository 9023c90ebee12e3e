"""A grid over gold regions: the content of each part of an image, from its annotated objects.

Few objects make few regions: nearly a third of val2017's images have three or fewer, and there is
little to rank in them. A cell of the grid is a region as the whole image is one: it counts the
categories, each object by the share of its box that is in the cell. Detectors' features have such
a sibling, grid features (Jiang et al., CVPR 2020).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.errors import ConfigError
from metaeval.vision.regions.base import Floats, Regions
from metaeval.vision.regions.categories import CATEGORIES
from metaeval.vision.regions.gold import GEOMETRY, GoldRegions, geometry

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
        [[edges[j], edges[i], edges[j + 1], edges[i + 1]]
         for i in range(side) for j in range(side)]
    )  # fmt: skip


def _shares(boxes: Floats, cells: npt.NDArray[np.float64]) -> Floats:
    """[n, k, r] The share of each of r boxes [n, r, 4] that is in each of k cells [k, 4]."""
    box, cell = boxes[:, None].astype(np.float64), cells[None, :, None]
    low, high = np.maximum(box[..., :2], cell[..., :2]), np.minimum(box[..., 2:], cell[..., 2:])
    inside = np.clip(high - low, 0, None).prod(axis=-1)
    area = (box[..., 2:] - box[..., :2]).prod(axis=-1)
    share = np.zeros(inside.shape, np.float32)
    np.divide(inside, area, out=share, where=area > 0, casting="same_kind")
    return share
