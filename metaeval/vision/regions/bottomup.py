"""Bottom-up features (Anderson et al., 2018), 36 regions of 2048 numbers per image, from files.

Files come in the forms in which the field passes them on. Each reader yields (key, features [r, d],
boxes [r, 4] or None) of the wanted images; a key is an image id as text. No pickle is opened.
"""

import base64
import binascii
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.data.identity import image_key
from metaeval.errors import ConfigError, InputError
from metaeval.options import PositiveInt, checked
from metaeval.readers.arrays import ArrayArchive, Hdf5File, map_array
from metaeval.readers.files import open_binary, read_json, read_text, user_path
from metaeval.runs.records import BOTTOM_UP_FEATURES
from metaeval.runs.store import Store
from metaeval.vision.regions.base import (
    MOST,
    Floats,
    ImageRegions,
    Regions,
    RegionSource,
    stack_regions,
)

Array = npt.NDArray[Any]
Read = tuple[str, Array, Array | None]
Wanted = Collection[str]


def read_npy(path: Path, ids: Path | None, boxes: Path | None, wanted: Wanted) -> Iterator[Read]:
    """One array [n, r, d], the ids of its rows in a file of their own, perhaps boxes [n, r, 4].

    Without `ids`, the file is searched for in the same folder: NAME_ids.txt for NAME_ims.npy or
    NAME.npy, or ids.txt. Where the list repeats each id (once for each caption), every row stands
    for one of the different ids in their order, if there are as many.
    """
    array = np.atleast_1d(map_array(path))
    ids = ids or _ids_beside(path)
    keys = _ids(ids)
    times = Counter(keys)
    if len(keys) != len(array) and len(times) == len(array) and len(set(times.values())) == 1:
        keys = list(times)  # in the order in which they come first
    if len(keys) != len(array):
        raise InputError(f"names {len(keys):,} images for the {len(array):,} of {path}", file=ids)
    corners = map_array(boxes) if boxes is not None else None
    yield from _wanted_images(path, keys, array, corners, wanted)


def read_npz(path: Path, wanted: Wanted) -> Iterator[Read]:
    """One archive of `features` [n, r, d], `image_ids` [n] and perhaps `boxes` [n, r, 4]."""
    with ArrayArchive(path) as archive:
        features, ids = archive.array("features"), archive.array("image_ids")
        if ids.ndim != 1 or ids.dtype.kind not in "iuSU":
            problem = f"should be a list of ids, not {list(ids.shape)} of {ids.dtype}"
            raise InputError(problem, file=path, field="image_ids")
        keys = [image_key(i) for i in ids.tolist()]
        boxes = archive.array("boxes") if "boxes" in archive.names else None
    yield from _wanted_images(path, keys, features, boxes, wanted)


def read_folder(folder: Path, wanted: Wanted) -> Iterator[Read]:
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


def _wanted_images(
    path: Path, keys: Sequence[str], features: Array, boxes: Array | None, wanted: Wanted
) -> Iterator[Read]:
    """The images that are wanted of arrays with a row per image."""
    if features.ndim != 3 or len(features) != len(keys):
        problem = f"should be [{len(keys)}, regions, width], not {list(features.shape)}"
        raise InputError(problem, file=path, field="features")
    if boxes is not None and boxes.shape != (*features.shape[:2], 4):
        problem = f"should be {[*features.shape[:2], 4]}, not {list(boxes.shape)}"
        raise InputError(problem, file=path, field="boxes")
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


_MOST_LINE = 1 << 26
_COUNT = re.compile("[0-9]{1,9}")
TSV_FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")


def read_tsv(path: Path, wanted: Wanted) -> Iterator[Read]:
    """Bottom-up attention's own form: tab-separated, boxes and features as float32 in base64."""
    try:
        with open_binary(path) as file:
            lines = iter(partial(file.readline, _MOST_LINE + 1), b"")
            for number, raw in enumerate(lines, 1):
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


def _tsv_row(path: Path, number: int, key: str, line: str) -> Read:
    where = f"line {number:,}"
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) != len(TSV_FIELDS):
        problem = f"has {len(fields)} fields instead of {len(TSV_FIELDS)} ({', '.join(TSV_FIELDS)})"
        raise InputError(problem, file=path, record=where)
    for name, text in zip(TSV_FIELDS[1:4], fields[1:4], strict=True):
        if not _COUNT.fullmatch(text) or int(text) < 1:
            problem = f"must be a whole number above 0, not {text!r:.40}"
            raise InputError(problem, file=path, record=where, field=name)
    w, h, n = map(int, fields[1:4])
    arrays: dict[str, Array] = {}
    for name, text in zip(TSV_FIELDS[4:], fields[4:], strict=True):
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError(
                f"is not base64 ({error})", file=path, record=where, field=name
            ) from None
        if not raw or len(raw) % (4 * n) or (name == "boxes" and len(raw) != 16 * n):
            problem = f"holds {len(raw):,} bytes, which is not float32 data of {n} regions"
            raise InputError(problem, file=path, record=where, field=name)
        arrays[name] = np.frombuffer(raw, "<f4").reshape(n, -1)
    return key, arrays["features"], arrays["boxes"] / np.array([w, h, w, h], dtype=np.float32)


def read_h5(path: Path, wanted: Wanted) -> Iterator[Read]:
    """HDF5: a data set ID_features (or ID) and ID_boxes each, or the three names of `read_npz`."""
    with Hdf5File(path) as file:
        if {"features", "image_ids"} <= file.names:
            ids, shape = file.array("image_ids"), file.shape("features")
            if ids.ndim != 1 or len(shape) != 3 or len(ids) != shape[0]:
                problem = f"should be [{ids.size}, regions, width], not {list(shape)}"
                raise InputError(problem, file=path, field="features")
            for row, key in enumerate(map(image_key, ids.tolist())):
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


Reader = Callable[..., Iterator[Read]]
READERS: dict[str, Reader] = {
    ".npz": read_npz,
    ".tsv": read_tsv,
    ".h5": read_h5,
    ".hdf5": read_h5,
}


log = logging.getLogger(__name__)


class BottomUpRegions(RegionSource):
    """Precomputed features, found by image id.

    Parameters
    ----------
    file
        .npy, .npz, .tsv, .h5 (.hdf5), or a folder with an .npy or .npz for each image; their
        content is described in `metaeval.vision.regions.bottomup`.
    ids, boxes
        For .npy: the file of its rows' ids, by default next to it; the .npy of its boxes.
    dim
        The width of the features.
    most
        Regions of an image; further ones are left out.

    Boxes in pixels are divided by the image's size where the file has it, otherwise by the
    largest corner of the image's boxes, which a warning says. Without boxes they are all zero.
    Names of regions are not known.
    """

    name: ClassVar[str] = "bottomup"
    title: str = BOTTOM_UP_FEATURES

    @checked
    def __init__(
        self,
        file: str | Path,
        ids: str | Path | None = None,
        boxes: str | Path | None = None,
        dim: PositiveInt = 2048,
        most: PositiveInt = MOST,
    ) -> None:
        self.file = user_path(file)
        self.ids = user_path(ids) if ids is not None else None
        self.boxes = user_path(boxes) if boxes is not None else None
        self.dim, self.most = dim, most
        if not self.file.is_dir() and self.file.suffix not in (".npy", *READERS):
            known = ", ".join((".npy", *READERS))
            raise ConfigError(f"regions.file must end in {known}, or be a folder: {self.file}")

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        for path in (self.file, self.ids, self.boxes):
            if path is not None and not path.exists():
                reason = f"region features {path} not found"
                return Absent("regions", reason, "correct regions.file, regions.ids, regions.boxes")
        return missing_packages("regions", "h5py") if self.file.suffix in (".h5", ".hdf5") else None

    def identity(self, store: Store | None = None) -> str:
        """Not the file's content: that is in every image's `digest`."""
        return f"bottomup-{self.dim}-{self.most}-v1"

    def suits(self, trained_on: str, store: Store | None = None) -> bool:
        """Features of the same width, however many regions an image has."""
        return trained_on.startswith(f"bottomup-{self.dim}-")

    def load(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        images: dict[str, ImageId] = {}
        for image_id in dataset.image_ids:
            first = images.setdefault(image_key(image_id), image_id)
            if first != image_id:
                raise InputError(
                    f"the image ids {first!r} and {image_id!r} of '{dataset.name}' are equal "
                    "without folder, suffix and leading zeros; rename one",
                    file=self.file,
                )
        n, guessed = len(images), 0
        regions: dict[str, ImageRegions] = {}
        for key, array, corners in self._read(images):
            features = self._checked(array, key)
            # files of SCAN's form repeat an image's features for each caption
            if key in regions and not np.array_equal(features, regions[key][0]):
                raise InputError(
                    f"holds different features for the same image {key!r}; remove one entry "
                    "(folders, file name suffixes and leading zeros do not make ids differ)",
                    file=self.file,
                )
            if key not in regions:
                boxes, guess = self._corners(corners, len(features), len(array), key)
                regions[key] = features, boxes, ("",) * len(features)
                guessed += guess
        if not regions:
            raise InputError(f"holds none of the {n:,} images of '{dataset.name}'", file=self.file)
        if len(regions) < n:
            log.warning(
                "%s: %s of %s images are missing", self.file, f"{n - len(regions):,}", f"{n:,}"
            )
        if guessed:
            log.warning(
                "%s: boxes of %s images are in pixels, of images of unknown size: taken as shares "
                "of the largest corner",
                *(self.file, f"{guessed:,}"),
            )
        keys = map(image_key, dataset.image_ids)
        return stack_regions([regions.get(key) for key in keys], self.dim)

    def _read(self, wanted: Wanted) -> Iterator[Read]:
        if self.file.is_dir():
            return read_folder(self.file, wanted)
        if self.file.suffix == ".npy":
            return read_npy(self.file, self.ids, self.boxes, wanted)
        return READERS[self.file.suffix](self.file, wanted)

    def _checked(self, features: Array, key: str) -> Floats:
        """float32 [r, dim], r at most `most`."""
        where = f"image id {key}"
        if features.ndim != 2 or not len(features) or features.dtype.kind not in "fiu":
            problem = f"should be numbers [regions, {self.dim}], not {list(features.shape)}"
            raise InputError(problem, file=self.file, record=where, field="features")
        if features.shape[1] != self.dim:
            problem = f"are {features.shape[1]:,} wide, not regions.dim={self.dim:,}"
            raise InputError(problem, file=self.file, record=where, field="features")
        largest = np.ascontiguousarray(features[: self.most], dtype=np.float32)
        if not np.isfinite(largest).all():
            raise InputError("are not all finite", file=self.file, record=where, field="features")
        return largest

    def _corners(self, boxes: Array | None, k: int, n: int, key: str) -> tuple[Floats, bool]:
        """float32 [k, 4] in [0, 1], and whether the image's size had to be guessed."""
        if boxes is None:
            return np.zeros((k, 4), np.float32), False
        where = f"image id {key}"
        numeric = boxes.dtype.kind in "fiu"
        if boxes.shape != (n, 4) or not numeric or not np.isfinite(boxes).all():
            problem = f"should be finite numbers [{n}, 4], not {list(boxes.shape)}"
            raise InputError(problem, file=self.file, record=where, field="boxes")
        corners = np.array(boxes, dtype=np.float32)
        # a corner a little outside the image is rounding, twice the image is pixels
        guess = bool(corners.max(initial=0.0) > 2)
        if guess:
            corners /= np.tile(corners[:, 2:].max(axis=0), 2)
        return np.clip(corners[:k], 0.0, 1.0), guess
