"""Objects that any detector found: a file in COCO's results format, in the place of gold objects.

Every metric that reads objects reads these then: the networks of gold regions (FAIEr, TIGEr, SCAN),
VIFIDEL, CHAIR and the controls. Columns say "detected objects".
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metaeval.data.coco.objects import category_names, corners, read_box
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects
from metaeval.data.identity import IdJoin
from metaeval.data.records import check_id, json_type, records, require_fields
from metaeval.errors import InputError
from metaeval.options import PositiveInt, Share, checked
from metaeval.readers.files import read_json, user_path
from metaeval.readers.images import image_size
from metaeval.readers.tables import is_number
from metaeval.runs.files import file_state
from metaeval.runs.records import DETECTED_OBJECTS
from metaeval.runs.store import Store
from metaeval.vision.regions.base import MOST, Regions
from metaeval.vision.regions.gold import CATEGORIES, GoldRegions

# the ids of `CATEGORIES`: COCO numbers 90 and uses 80
_UNUSED = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
COCO_NAMES: Mapping[ImageId, str] = dict(
    zip([i for i in range(1, 91) if i not in _UNUSED], CATEGORIES, strict=True)
)
FIELDS = ("image_id", "category_id", "bbox", "score")
log = logging.getLogger(__name__)


class Box(NamedTuple):
    """One record of a file: x, y, width and height in pixels, and the name of the category."""

    image: ImageId
    label: str
    box: list[float]
    score: float


class DetectedObjects(dict[ImageId, Objects]):
    """Image id → the objects that a detector found; `images` are those that were asked for."""

    detected = True
    images: frozenset[ImageId] = frozenset()


class FileRegions(GoldRegions):
    """Gold regions of the boxes of a file instead of the dataset's annotated objects.

    An image whose photograph is there and that has no box has no objects; one without photograph
    is unknown, also with boxes, which cannot be divided by its size. Both are counted and printed.

    Parameters
    ----------
    file
        A JSON list of {"image_id", "category_id", "bbox": [x, y, width, height], "score"}: boxes
        in pixels of the upright photograph, scores from 0 to 1.
    threshold
        The least score of a box that counts.
    names
        A JSON file with COCO's list `categories` ({"id", "name"}), where ids are not COCO's.
    most
        See `GoldRegions`.

    Raises InputError, naming record and field, for a file that is not so.
    """

    @checked
    def __init__(
        self,
        file: str | Path,
        threshold: Share = 0.5,
        names: str | Path | None = None,
        most: PositiveInt = MOST,
    ) -> None:
        super().__init__(most)
        self.file, self.threshold = user_path(file), threshold
        self.names = None if names is None else user_path(names)
        self._read()  # a wrong record ends a run before any work

    @property
    def title(self) -> str:  # type: ignore[override]  # as of gold regions
        return DETECTED_OBJECTS

    def identity(self, store: Store | None = None) -> str:
        return f"{super().identity(store)}+{self.objects_identity}"

    @property
    def objects_identity(self) -> str:
        """The files' checksum and the threshold, for signatures: "detected-0a1b2c3d4e5f-0.5"."""
        return f"detected-{self._read()[1]}-{self.threshold:g}"

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        return super().missing(self.objects_of(dataset))

    def load(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        return super().load(self.objects_of(dataset), store)

    def objects_of(self, dataset: CaptionDataset) -> CaptionDataset:
        """The dataset with these objects, which it shares with its smaller sets."""
        key = f"objects {self.objects_identity}"
        return dataset.derive(key, lambda: self._with_objects(dataset, key))

    def _with_objects(self, dataset: CaptionDataset, key: str) -> CaptionDataset:
        """The dataset with these objects: a larger one's, which shares its parts, where that has
        loaded them under this key."""

        def objects() -> DetectedObjects | Absent:
            shared = replace(dataset, parts={key: lambda: self._objects(dataset)}).part(key)
            if isinstance(shared, DetectedObjects) and shared.images.issuperset(dataset.image_ids):
                return shared
            return self._objects(dataset)

        made = replace(dataset, parts={**dataset.parts, "objects": objects}, _loaded={})
        return made.derive(key, lambda: made)  # it has them already

    def _read(self) -> tuple[tuple[Box, ...], str]:
        for option, path in (("file", self.file), ("names", self.names)):
            if path is not None and not path.is_file():
                raise InputError(f"file not found; correct regions.{option}", file=path)
        names = None if self.names is None else (self.names, file_state(self.names))
        return read_boxes(self.file, file_state(self.file), names)

    def _objects(self, dataset: CaptionDataset) -> DetectedObjects | Absent:
        """The objects of the dataset's images; what is left out is counted and printed."""
        images: Any = dataset.part("images")
        if isinstance(images, Absent):
            reason = f"boxes of {self.file.name} need photographs, for their size: {images.reason}"
            return Absent("objects", reason, images.remedy)
        counts: Counter[str] = Counter()
        boxes = self._boxes_by_image(dataset.image_ids, counts)
        found = DetectedObjects()
        found.images = frozenset(dataset.image_ids)
        for image_id in sorted(found.images, key=str):
            given = boxes.get(image_id)
            if given is None:
                counts["images without a box in the file"] += 1
            elif not any(box.score >= self.threshold for box in given):
                counts["images all of whose boxes are below the threshold"] += 1
            if (objects := self._of_image(images.path(image_id), given or (), counts)) is not None:
                found[image_id] = objects
        left_out = "".join(f"; {what}: {n:,}" for what, n in sorted(counts.items()))
        log.warning(
            "%s: objects of %s of %s images%s",
            *(self.file.name, f"{sum(bool(o.labels) for o in found.values()):,}"),
            *(f"{dataset.n_images:,}", left_out),
        )
        if not any(objects.labels for objects in found.values()):
            reason = f"{self.file} has no box of any of the {dataset.n_images:,} images"
            return Absent("objects", reason, "correct regions.file or regions.threshold")
        return found

    def _boxes_by_image(
        self, ids: Iterable[ImageId], counts: Counter[str]
    ) -> dict[ImageId, list[Box]]:
        read, _ = self._read()
        join = IdJoin(ids, {box.image for box in read})
        boxes: dict[ImageId, list[Box]] = {}
        for box in read:
            if (image_id := join.of(box.image)) is None:
                counts["boxes of other images"] += 1
            else:
                boxes.setdefault(image_id, []).append(box)
        for note in join.note(self.file):
            log.warning("%s", note)
        return boxes

    def _of_image(
        self, photograph: Path | None, boxes: Iterable[Box], counts: Counter[str]
    ) -> Objects | None:
        """The objects of an image, none without boxes; `None` without a photograph."""
        above = [box for box in boxes if box.score >= self.threshold]
        try:
            size = image_size(photograph) if photograph is not None and above else (1, 1)
        except InputError as error:
            log.warning("%s", error)
            photograph = None
        if photograph is None:
            counts["images without a photograph, whose objects are unknown"] += 1
            return None
        placed = [(box.label, place) for box in above if (place := corners(box.box, size))]
        if flat := len(above) - len(placed):
            counts["boxes without an area in their image"] += flat
        places = np.array([place for _, place in placed], dtype=np.float64).reshape(-1, 4)
        return Objects(tuple(label for label, _ in placed), places)


@lru_cache(maxsize=2)
def read_boxes(
    path: Path, _state: bytes, names: tuple[Path, bytes] | None
) -> tuple[tuple[Box, ...], str]:
    """The boxes of a file and a checksum of it and of the names' file.

    Read again once a file has another `file_state`.
    """
    known = COCO_NAMES
    value, checksums = read_json(path)
    if names is not None:
        categories, of_names = read_json(names[0])
        known = category_names(records(categories, "categories", names[0]), names[0])
        checksums += of_names
    if not isinstance(value, list):
        raise InputError(
            f"holds {json_type(value)} where a list of boxes is expected; objects in COCO's "
            "instances schema are dataset.instances=FILE",
            file=path,
        )
    boxes = tuple(_box(record, f"[{k}]", path, known) for k, record in enumerate(value))
    return boxes, sha256(checksums.encode()).hexdigest()[:12]


def _box(record: Any, where: str, path: Path, names: Mapping[ImageId, str]) -> Box:
    if not isinstance(record, dict):
        raise InputError(f"is {json_type(record)}, not an object", file=path, record=where)
    require_fields(record, FIELDS, path, where)
    image = check_id(record["image_id"], path, where, "image_id")
    category, score = record["category_id"], record["score"]
    if type(category) not in (int, str) or category not in names:
        problem = (
            f"unknown category {category!r:.60}; give regions.names=FILE if ids are not COCO's"
        )
        raise InputError(problem, file=path, record=where, field="category_id")
    if not is_number(score) or not 0 <= score <= 1:
        problem = f"must be a number from 0 to 1, not {score!r:.60}"
        raise InputError(problem, file=path, record=where, field="score")
    return Box(image, names[category], read_box(record, path, where), float(score))
