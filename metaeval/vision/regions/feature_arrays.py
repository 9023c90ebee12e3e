"""Region features in NumPy's files, and how image ids are compared. No pickle is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.identity import image_key
from metaeval.errors import InputError
from metaeval.readers.arrays import ArrayArchive, map_array
from metaeval.readers.files import read_text
from metaeval.readers.json_text import read_json

Array = npt.NDArray[Any]
One = tuple[str, Array, Array | None]
Wanted = Collection[str]


def read_npy(path: Path, ids: Path | None, boxes: Path | None, wanted: Wanted) -> Iterator[One]:
    """One array [n, r, d], the ids of its rows in a file of their own, perhaps boxes [n, r, 4].

    Without `ids`, the file is searched for in the same folder: NAME_ids.txt for NAME_ims.npy or
    NAME.npy, or ids.txt. Where the list repeats each id (once for each caption), every row stands
    for one of the different ids in their order, if there are as many.
    """
    array = map_array(path)
    if array.ndim != 3:
        raise InputError(
            f"should be an array [n, regions, width], not {list(array.shape)}", file=path
        )
    ids = ids or _ids_beside(path)
    keys = _ids(ids)
    times = Counter(keys)
    if len(keys) != len(array) and len(times) == len(array) and len(set(times.values())) == 1:
        keys = list(times)  # in the order in which they come first
    if len(keys) != len(array):
        raise InputError(f"names {len(keys):,} images for the {len(array):,} of {path}", file=ids)
    corners = map_array(boxes) if boxes is not None else None
    if corners is not None and corners.shape != (*array.shape[:2], 4):
        want = [*array.shape[:2], 4]
        raise InputError(f"should be an array {want}, not {list(corners.shape)}", file=boxes)
    yield from rows_of(keys, array, corners, wanted)


def read_npz(path: Path, wanted: Wanted) -> Iterator[One]:
    """One archive of `features` [n, r, d], `image_ids` [n] and perhaps `boxes` [n, r, 4]."""
    with ArrayArchive(path) as archive:
        features = archive.array("features")
        ids = archive.array("image_ids")
        if ids.ndim != 1 or ids.dtype.kind not in "iuSU":
            problem = f"should be a list of ids, not {list(ids.shape)} of {ids.dtype}"
            raise InputError(problem, file=path, field="image_ids")
        keys = [image_key(i) for i in ids.tolist()]
        boxes = archive.array("boxes") if "boxes" in archive.names else None
        if features.ndim != 3 or len(features) != len(keys):
            problem = f"should be [{len(keys)}, regions, width], not {list(features.shape)}"
            raise InputError(problem, file=path, field="features")
        if boxes is not None and boxes.shape != (*features.shape[:2], 4):
            problem = f"should be {[*features.shape[:2], 4]}, not {list(boxes.shape)}"
            raise InputError(problem, file=path, field="boxes")
    yield from rows_of(keys, features, boxes, wanted)


def read_folder(folder: Path, wanted: Wanted) -> Iterator[One]:
    """A file for each image: ID.npy [r, d], or ID.npz with `x`, `feat` or `features` and `bbox`.

    With `image_w` and `image_h` in an .npz, boxes in pixels become shares of the image.
    """
    for path in sorted(folder.iterdir()):
        key = image_key(path.name)
        if key not in wanted or path.suffix not in (".npy", ".npz"):
            continue
        if path.suffix == ".npy":
            yield key, np.asarray(map_array(path)), None
            continue
        with ArrayArchive(path) as archive:
            name = next((n for n in ("x", "feat", "features") if n in archive.names), "features")
            features = archive.array(name)
            boxes = archive.array("bbox") if "bbox" in archive.names else None
            if boxes is not None and (boxes.ndim != 2 or boxes.shape[1] != 4):
                problem = f"should be [regions, 4], not {list(boxes.shape)}"
                raise InputError(problem, file=path, field="bbox")
            if boxes is not None and features.ndim == 2 and len(features) != len(boxes):
                features = features.T  # some tools store one column per region
            if boxes is not None and {"image_w", "image_h"} <= set(archive.names):
                size = [_side(archive, name) for name in ("image_w", "image_h")]
                boxes = boxes / np.array(size * 2)
            yield key, features, boxes


def _side(archive: ArrayArchive, name: str) -> float:
    """A side of the image, in pixels."""
    value = archive.array(name)
    good = value.size == 1 and value.dtype.kind in "iuf"
    if not good or not 0 < (side := float(value.ravel()[0])) < np.inf:
        raise InputError("must be a number above 0", file=archive.path, field=name)
    return side


def rows_of(keys: Sequence[str], features: Any, boxes: Any, wanted: Wanted) -> Iterator[One]:
    """The images that are wanted of arrays with a row per image; `boxes` may be `None`."""
    for row, key in enumerate(keys):
        if key in wanted:
            corners = None if boxes is None else np.asarray(boxes[row])
            yield key, np.asarray(features[row]), corners


def _ids_beside(path: Path) -> Path:
    stem = path.stem.removesuffix("_ims")
    for name in (f"{path.stem}_ids.txt", f"{stem}_ids.txt", "ids.txt"):
        if (ids := path.with_name(name)).is_file():
            return ids
    problem = f"its list of ids, {stem}_ids.txt, is missing; set regions.ids=FILE"
    raise InputError(problem, file=path)


def _ids(path: Path) -> Sequence[str]:
    """Ids one per line, or a JSON list of them."""
    if path.suffix == ".json":
        value, _ = read_json(path)
        if not isinstance(value, list) or not all(type(i) in (int, str) for i in value):
            raise InputError("should be a list of ids", file=path)
        return [image_key(i) for i in value]
    return [image_key(line) for line in read_text(path).text.split("\n") if line.strip()]
