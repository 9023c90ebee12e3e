"""Reading files of region features, in the forms in which the field passes them on.

Each reader yields (key, features [r, d], boxes [r, 4] or None) of the images that are asked for;
a key is an image id as text, see `image_key`. Pickles are never opened.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

from metaeval.errors import InputError
from metaeval.vision.regions.feature_arrays import (
    Array,
    One,
    Wanted,
    image_key,
    read_npz,
    rows_of,
)

TSV_FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")


def read_tsv(path: Path, wanted: Wanted) -> Iterator[One]:
    """Bottom-up attention's own form: tab-separated, boxes and features as float32 in base64."""
    try:
        with path.open(encoding="ascii", newline="") as file:
            for number, line in enumerate(file, 1):
                key = image_key(line[: line.find("\t")])
                if key in wanted:
                    yield _tsv_row(path, number, key, line)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    except UnicodeDecodeError:
        raise InputError("is no tab-separated text", file=path) from None


def _tsv_row(path: Path, number: int, key: str, line: str) -> One:
    where = f"line {number:,}"
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) != len(TSV_FIELDS):
        problem = f"has {len(fields)} fields instead of {len(TSV_FIELDS)} ({', '.join(TSV_FIELDS)})"
        raise InputError(problem, file=path, record=where)
    row = dict(zip(TSV_FIELDS, fields, strict=True))
    values: dict[str, float] = {}
    for name in ("image_w", "image_h", "num_boxes"):
        if not row[name].isdigit() or int(row[name]) < 1:
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
                f"is no base64 ({error})", file=path, record=where, field=name
            ) from None
        if not raw or len(raw) % (4 * n) or (name == "boxes" and len(raw) != 16 * n):
            problem = f"holds {len(raw):,} bytes, which are no float32 of {n} regions"
            raise InputError(problem, file=path, record=where, field=name)
        arrays[name] = np.frombuffer(raw, "<f4").reshape(n, -1)
    w, h = values["image_w"], values["image_h"]
    return key, arrays["features"], arrays["boxes"] / np.array([w, h, w, h], dtype=np.float32)


def read_h5(path: Path, wanted: Wanted) -> Iterator[One]:
    """HDF5: a data set ID_features (or ID) and ID_boxes each, or the three names of `read_npz`."""
    h5py = import_module("h5py")
    try:
        with h5py.File(path, "r") as file:
            if "features" in file and "image_ids" in file:
                keys = [image_key(i) for i in file["image_ids"][()].tolist()]
                if file["features"].ndim != 3 or len(keys) != len(file["features"]):
                    problem = f"should be [{len(keys)}, regions, width]"
                    raise InputError(problem, file=path, field="features")
                yield from rows_of(keys, file["features"], file.get("boxes"), wanted)
                return
            for name in file:
                key = image_key(name.removesuffix("_features"))
                if key in wanted and (name.endswith("_features") or f"{name}_features" not in file):
                    boxes = name.removesuffix("_features") + "_boxes"
                    yield key, file[name][()], file[boxes][()] if boxes in file else None
    except (OSError, KeyError, ValueError, TypeError) as error:
        problem = f"cannot be read as HDF5 ({' '.join(str(error).split())[:100]})"
        raise InputError(problem, file=path) from None


Reader = Callable[..., Iterator[One]]
READERS: dict[str, Reader] = {
    ".npz": read_npz, ".tsv": read_tsv, ".h5": read_h5, ".hdf5": read_h5,
}  # fmt: skip
