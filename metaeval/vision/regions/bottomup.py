"""Bottom-up features (Anderson et al., 2018), 36 regions of 2048 numbers per image, from files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.identity import image_key
from metaeval.errors import ConfigError, InputError
from metaeval.options import PositiveInt, checked
from metaeval.readers.files import user_path
from metaeval.runs.records import BOTTOM_UP_FEATURES
from metaeval.runs.store import Store
from metaeval.vision.regions.base import MOST, Floats, Regions, RegionSource, padded
from metaeval.vision.regions.feature_arrays import Array, One, read_folder, read_npy
from metaeval.vision.regions.feature_files import READERS

log = logging.getLogger(__name__)


class BottomUpRegions(RegionSource):
    """Precomputed features, found by image id.

    Parameters
    ----------
    file
        .npy, .npz, .tsv, .h5 (.hdf5), or a folder with an .npy or .npz for each image; their
        content is described in `metaeval.vision.regions.feature_files`.
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
        rows: dict[str, int] = {}
        for i, image_id in enumerate(dataset.image_ids):
            first = dataset.image_ids[rows.setdefault(image_key(image_id), i)]
            if first != image_id:
                raise InputError(
                    f"the image ids {first!r} and {image_id!r} of '{dataset.name}' are equal "
                    "without folder, suffix and leading zeros; rename one", file=self.file,
                )  # fmt: skip
        n = len(rows)
        features: list[Floats] = [np.zeros((0, self.dim), np.float32)] * len(dataset)
        boxes: list[Floats] = [np.zeros((0, 4), np.float32)] * len(dataset)
        seen: set[str] = set()
        guessed = 0
        for key, array, corners in self._read(rows):
            if key in seen:  # files of SCAN's form repeat an image's features for each caption
                if not np.array_equal(self._checked(array, key), features[rows[key]]):
                    raise InputError(
                        f"holds different features for the same image {key!r}; remove one entry "
                        "(folders, file name suffixes and leading zeros do not make ids differ)",
                        file=self.file,
                    )  # fmt: skip
                continue
            seen.add(key)
            features[rows[key]] = self._checked(array, key)
            k = len(features[rows[key]])
            boxes[rows[key]], guess = self._corners(corners, k, len(array), key)
            guessed += guess
        if not seen:
            raise InputError(f"holds none of the {n:,} images of '{dataset.name}'", file=self.file)
        if len(seen) < n:
            log.warning(
                "%s: %s of %s images are missing", self.file, f"{n - len(seen):,}", f"{n:,}"
            )
        if guessed:
            log.warning(
                "%s: boxes of %s images are in pixels, of images of unknown size: taken as shares "
                "of the largest corner",
                *(self.file, f"{guessed:,}"),
            )
        first_rows = [rows[image_key(image_id)] for image_id in dataset.image_ids]
        features, boxes = ([of_row[i] for i in first_rows] for of_row in (features, boxes))
        return padded(features, boxes, [[""] * len(each) for each in features], self.dim)

    def _read(self, wanted: dict[str, int]) -> Iterator[One]:
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
