"""Reading a file of COCO's captions schema: `images` and `annotations` with captions.

COCO's human captions for images that come without them, looked up by COCO id.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from metaeval.data.coco.files import annotation_files
from metaeval.data.dataset import ImageId, ImageSource
from metaeval.data.download import given_path
from metaeval.data.identity import coco_number
from metaeval.data.records import records, require_fields, unique_ids
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.readers.files import read_json


@dataclass(frozen=True, slots=True)
class CaptionFile:
    """What a captions file holds, checked and tidied.

    `captions` maps image ids, ascending, to their captions in the order of the annotation ids;
    `file_names` maps the ids of images that name one to the image's file name, and numeric ids that
    name none to COCO's; `named` are those that the file itself names.
    """

    path: Path
    sha256: str
    captions: Mapping[ImageId, tuple[str, ...]]
    file_names: Mapping[ImageId, str]
    notes: tuple[str, ...]
    named: frozenset[ImageId] = frozenset()

    def digest(self) -> str:
        """SHA-256 of ids and tidied captions: the same for any file that holds the same."""
        plain = json.dumps(list(self.captions.items()), ensure_ascii=True)
        return hashlib.sha256(plain.encode()).hexdigest()


def read_captions(path: Path) -> CaptionFile:
    """Read and check a captions file; the order of its records does not matter.

    Raises InputError, naming record and field, for anything that is not as the schema says:
    a missing key, a wrong type, an id used twice, an annotation of an unknown image, a caption
    with nothing in it. Captions are tidied by the rule of `metaeval.data.tidy`.
    """
    value, sha256 = read_json(path)
    images = records(value, "images", path)
    if images and "sentences" in images[0]:
        raise InputError(
            "is in Karpathy's layout; use dataset=coco_karpathy_test, or "
            "dataset=own dataset.file=FILE dataset.split=test",
            file=path,
            field="sentences",
        )
    annotations = records(value, "annotations", path)
    image_ids = unique_ids(images, "images", path)
    if not image_ids:
        raise InputError("holds no image", file=path, field="images")
    annotation_ids = unique_ids(annotations, "annotations", path)

    captions: dict[ImageId, list[str]] = {i: [] for i in sorted(image_ids)}
    tidy = Tidy()
    for i in sorted(range(len(annotations)), key=annotation_ids.__getitem__):
        annotation = annotations[i]
        where = f"annotation id {annotation_ids[i]!r}"
        require_fields(annotation, ("image_id", "caption"), path, where)
        image_id = annotation["image_id"]
        # bool and float compare equal to int: 1.0 would find image 1
        if type(image_id) not in (int, str) or image_id not in captions:
            raise InputError(
                f"no image of the file has the id {image_id!r:.60}",
                file=path,
                record=where,
                field="image_id",
            )
        text = tidy.read(annotation["caption"], file=path, record=where, field="caption")
        if not text:
            raise InputError("is empty", file=path, record=where, field="caption")
        captions[image_id].append(text)
    return CaptionFile(
        path,
        sha256,
        {i: tuple(texts) for i, texts in captions.items()},
        _file_names(images, image_ids, path),
        tuple(tidy.notes()),
        frozenset(i for i, image in zip(image_ids, images, strict=True) if image.get("file_name")),
    )


def _file_names(
    images: list[dict[str, object]], ids: list[ImageId], path: Path
) -> dict[ImageId, str]:
    """The images' file names; COCO's own pattern where an image with a numeric id names none."""
    names: dict[ImageId, str] = {}
    for image_id, image in zip(ids, images, strict=True):
        name = image.get("file_name")
        if isinstance(name, str) and name:
            names[image_id] = name
        elif name is not None:
            problem = "must be a string that is not empty"
            where = f"image id {image_id!r}"
            raise InputError(problem, file=path, record=where, field="file_name")
        elif isinstance(image_id, int):
            names[image_id] = f"{image_id:012d}.jpg"
    return names


# whose captions files are looked for; the numbers of both years are the same
SPLITS = ("val2017", "karpathy_test", "val2014", "train2017", "train2014")


class CocoReferences:
    """Captions from a file of COCO's schema or, by default, from those in the data folder.

    The files are read in the order of `SPLITS`, and only as many as it takes to have every image.
    Raises InputError for a file that the user named and that is not there.

    Attributes
    ----------
    looked
        The files, in words.
    checksums, notes
        SHA-256 of the files that served, and what was tidied in them.
    """

    def __init__(self, captions: str | Path | None = None, data: str | Path | None = None) -> None:
        if captions is not None:
            self._paths = [given_path(captions, "captions")]
        else:
            self._paths = annotation_files([f"captions_{split}" for split in SPLITS], data)
        self.looked = ", ".join(map(str, self._paths)) or (
            f"annotations/captions_{{{','.join(SPLITS)}}}.json in METAEVAL_DATA"
        )
        self.checksums: dict[str, str] = {}
        self.notes: list[str] = []

    def image_ids(self) -> frozenset[ImageId]:
        """The ids of all images that have captions in the files."""
        return frozenset(i for path in self._paths for i in read_captions(path).captions)

    def of(self, sources: Collection[ImageSource]) -> dict[ImageSource, tuple[str, ...]]:
        """The captions of each image that the files have, all of an image from one file."""
        references: dict[ImageSource, tuple[str, ...]] = {}
        for path in self._paths:
            missing = {
                s: n for s in sources - references.keys() if (n := coco_number(s)) is not None
            }
            if not missing:
                break
            file = read_captions(path)
            served = {s: file.captions[n] for s, n in missing.items() if n in file.captions}
            if served:
                references |= served
                self.checksums[path.name] = file.sha256
                self.notes += [f"{path.name}: {note}" for note in file.notes]
        return references
