"""Reading a file of COCO's instances schema: the annotated objects of every image."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.data.dataset import ImageId, Objects
from metaeval.data.records import Record, json_type, records, unique_ids
from metaeval.errors import InputError
from metaeval.readers.files import read_json
from metaeval.readers.tables import is_number
from metaeval.runs.files import file_state


class CocoObjects(dict[ImageId, Objects]):
    """Image id → the image's objects, in the order of the annotation ids.

    An image of the file without an annotation has no objects (an empty `Objects`). Boxes are COCO's
    x, y, width, height in pixels turned into corners, divided by the image's size, and clipped to
    the image. Left out, and counted in `notes`: crowd regions (`iscrowd` 1: one box around a group,
    no object of its own) and boxes without an area. Annotations with a `score`, as in COCO's format
    of results, are a detector's: `detected`.

    Raises InputError, naming record and field, for anything that is not as the schema says.
    """

    def __init__(self, path: Path) -> None:
        value, self.sha256 = read_json(path)
        self.path = path
        images = records(value, "images", path)
        sizes = {
            image_id: tuple(_size(image, image_id, side, path) for side in ("width", "height"))
            for image_id, image in zip(unique_ids(images, "images", path), images, strict=True)
        }
        names = category_names(records(value, "categories", path), path)
        annotations = records(value, "annotations", path)
        self.detected = any("score" in annotation for annotation in annotations)
        ids = unique_ids(annotations, "annotations", path)
        labels: dict[ImageId, list[str]] = {i: [] for i in sizes}
        boxes: dict[ImageId, list[tuple[float, ...]]] = {i: [] for i in sizes}
        crowds = flat = 0
        for i in sorted(range(len(annotations)), key=ids.__getitem__):
            annotation, where = annotations[i], f"annotation id {ids[i]!r}"
            image_id = _known(annotation, "image_id", sizes, path, where)
            label = names[_known(annotation, "category_id", names, path, where)]
            box = corners(read_box(annotation, path, where), sizes[image_id])
            if _is_crowd(annotation, path, where):
                crowds += 1
            elif box is None:
                flat += 1
            else:
                labels[image_id].append(label)
                boxes[image_id].append(box)
        super().__init__(
            (i, Objects(tuple(labels[i]), np.array(boxes[i], dtype=np.float64).reshape(-1, 4)))
            for i in sizes
        )
        self.notes = tuple(
            f"{n:,} {what} left out of the objects."
            for n, what in ((crowds, "crowd regions were"), (flat, "boxes without an area were"))
            if n
        )


def coco_objects(path: Path) -> CocoObjects:
    """The objects of a file: while it stays as it is, the runs of a program read it once."""
    return _read(path, file_state(path) if path.is_file() else b"")


@lru_cache(maxsize=2)
def _read(path: Path, state: bytes) -> CocoObjects:
    return CocoObjects(path)


def _size(image: Record, image_id: ImageId, side: str, path: Path) -> float:
    value = image.get(side)
    if not is_number(value) or value <= 0:
        raise InputError(
            f"must be a number above 0, not {value!r:.60}",
            file=path,
            record=f"image id {image_id!r}",
            field=side,
        )
    return float(value)


def category_names(categories: list[Record], path: Path) -> dict[ImageId, str]:
    """Category id → its name, of the list `categories` of a file."""
    names: dict[ImageId, str] = {}
    for category_id, category in zip(
        unique_ids(categories, "categories", path), categories, strict=True
    ):
        name = category.get("name")
        if not isinstance(name, str) or not name.strip():
            where = f"category id {category_id!r}"
            raise InputError("must be a non-empty string", file=path, record=where, field="name")
        names[category_id] = " ".join(name.split())
    return names


def _known(
    annotation: Record, field: str, known: Mapping[ImageId, Any], path: Path, where: str
) -> ImageId:
    """The annotation's id of an image or category, which must be one of the known."""
    value = annotation.get(field)
    if type(value) is int or type(value) is str:
        if value in known:
            return value
        problem = f"the file has no such {field.removesuffix('_id')}: {value!r:.60}"
    else:
        problem = "is missing" if field not in annotation else f"is {json_type(value)}, not an id"
    raise InputError(problem, file=path, record=where, field=field)


def _is_crowd(annotation: Record, path: Path, where: str) -> bool:
    """Whether a box is around a group: COCO writes 0 and 1."""
    value = annotation.get("iscrowd", 0)
    if value not in (0, 1) or not isinstance(value, int):  # false and true are whole numbers too
        raise InputError(
            f"must be 0 or 1, not {value!r:.60}", file=path, record=where, field="iscrowd"
        )
    return bool(value)


def read_box(annotation: Record, path: Path, where: str) -> list[float]:
    """The `bbox` of an annotation: x, y, width and height in pixels, checked."""
    box = annotation.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(is_number(v) for v in box):
        raise InputError(
            f"must be four numbers (x, y, width, height), not {box!r:.60}",
            file=path,
            record=where,
            field="bbox",
        )
    if box[2] < 0 or box[3] < 0:
        raise InputError(
            f"has a negative width or height: {box!r:.60}", file=path, record=where, field="bbox"
        )
    return box


def corners(box: Sequence[float], size: Sequence[float]) -> tuple[float, ...] | None:
    """x1 y1 x2 y2 of a box in an image of this width and height, clipped to [0, 1]; `None` where
    no area is left."""
    x, y, w, h = box
    shares = (x / size[0], y / size[1], (x + w) / size[0], (y + h) / size[1])
    x1, y1, x2, y2 = (min(max(v, 0.0), 1.0) for v in shares)
    return (x1, y1, x2, y2) if x1 < x2 and y1 < y2 else None
