"""Reading files of region features, in the forms in which the field passes them on.

Each reader yields (key, features [r, d], boxes [r, 4] or None) of the wanted images;
a key is an image id as text, see `image_key`. Pickles are never opened.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from metaeval.data.identity import image_key
from metaeval.errors import InputError
from metaeval.readers.files import open_binary
from metaeval.readers.hdf5 import Hdf5File
from metaeval.vision.regions.feature_arrays import (
    Array,
    One,
    Wanted,
    read_npz,
)

_MOST_LINE = 1 << 26
_COUNT = re.compile("[0-9]{1,9}")
TSV_FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")


def read_tsv(path: Path, wanted: Wanted) -> Iterator[One]:
    """Bottom-up attention's own form: tab-separated, boxes and features as float32 in base64."""
    try:
        with open_binary(path) as file:
            number = 0
            while raw := file.readline(_MOST_LINE + 1):
                number += 1
                if len(raw) > _MOST_LINE:
                    problem = f"has more than {_MOST_LINE:,} bytes"
                    raise InputError(problem, file=path, record=f"line {number:,}")
                line = raw.decode("ascii")
                key = image_key(line[: line.find("\t")])
                if key in wanted:
                    yield _tsv_row(path, number, key, line)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    except UnicodeDecodeError:
        raise InputError("is not tab-separated text", file=path) from None


def _tsv_row(path: Path, number: int, key: str, line: str) -> One:
    where = f"line {number:,}"
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) != len(TSV_FIELDS):
        problem = f"has {len(fields)} fields instead of {len(TSV_FIELDS)} ({', '.join(TSV_FIELDS)})"
        raise InputError(problem, file=path, record=where)
    row = dict(zip(TSV_FIELDS, fields, strict=True))
    values: dict[str, float] = {}
    for name in ("image_w", "image_h", "num_boxes"):
        if not _COUNT.fullmatch(row[name]) or int(row[name]) < 1:
            problem = f"must be a whole number above 0, not {row[name]!r:.40}"
            raise InputError(problem, file=path, record=where, field=name)
        values[name] = int(row[name])
    n = int(values["num_boxes"])
    arrays: dict[str, Array] = {}
    for name in ("boxes", "features"):
        try:
            raw = base64.b64decode(row[name], validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError(
                f"is not base64 ({error})", file=path, record=where, field=name
            ) from None
        if not raw or len(raw) % (4 * n) or (name == "boxes" and len(raw) != 16 * n):
            problem = f"holds {len(raw):,} bytes, which is not float32 data of {n} regions"
            raise InputError(problem, file=path, record=where, field=name)
        arrays[name] = np.frombuffer(raw, "<f4").reshape(n, -1)
    w, h = values["image_w"], values["image_h"]
    return key, arrays["features"], arrays["boxes"] / np.array([w, h, w, h], dtype=np.float32)


def read_h5(path: Path, wanted: Wanted) -> Iterator[One]:
    """HDF5: a data set ID_features (or ID) and ID_boxes each, or the three names of `read_npz`."""
    with Hdf5File(path) as file:
        if {"features", "image_ids"} <= file.names:
            ids, shape = file.array("image_ids"), file.shape("features")
            if ids.ndim != 1 or len(shape) != 3 or len(ids) != shape[0]:
                problem = f"should be [{ids.size}, regions, width], not {list(shape)}"
                raise InputError(problem, file=path, field="features")
            for row, key in enumerate(image_key(i) for i in ids.tolist()):
                if key in wanted:
                    boxes = file.array("boxes", row) if "boxes" in file.names else None
                    yield key, file.array("features", row), boxes
            return
        for name in sorted(file.names):
            key = image_key(name.removesuffix("_features"))
            if key in wanted and (
                name.endswith("_features") or f"{name}_features" not in file.names
            ):
                boxes_name = name.removesuffix("_features") + "_boxes"
                boxes = file.array(boxes_name) if boxes_name in file.names else None
                yield key, file.array(name), boxes


Reader = Callable[..., Iterator[One]]
READERS: dict[str, Reader] = {
    ".npz": read_npz, ".tsv": read_tsv, ".h5": read_h5, ".hdf5": read_h5,
}  # fmt: skip
