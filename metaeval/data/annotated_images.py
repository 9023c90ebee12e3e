"""COCO's annotated objects and image files for datasets that are not COCO files.

Judged captions and pairs of true and false captions are about COCO's images but come without them:
what is annotated is looked up by COCO id, whatever the dataset's own keys look like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from metaeval.data.coco.files import search_bases
from metaeval.data.coco.objects import CocoObjects
from metaeval.data.dataset import Absent, ImageId, ImageSource, Objects, Part
from metaeval.data.files import given_path
from metaeval.data.identity import COCO, coco_number, sources_of
from metaeval.data.image_files import ImageFiles
from metaeval.readers.files import user_path

SPLITS = ("val2017", "karpathy_test")  # whose instances files are looked for
FOLDERS = ("val2014", "val2017")  # where image files are looked for
_REMEDY_OBJECTS = "set dataset.instances=FILE to COCO's annotated objects"
_REMEDY_IMAGES = "set dataset.images=FOLDER"


class ImagePlaces(TypedDict, total=False):
    """Where the annotated objects and the image files are: see `annotated_images`."""

    instances: str | Path | None
    images: str | Path | None
    data: str | Path | None


class ObjectsBySource(Mapping[ImageId, Objects]):
    """Document → the objects of its image, for the documents whose image is annotated.

    Several instances files may serve: the one with the most of the images is used first.
    """

    def __init__(self, numbers: Mapping[ImageId, int], files: Sequence[CocoObjects]) -> None:
        wanted = set(numbers.values())
        order = sorted(files, key=lambda f: -sum(n in f for n in wanted))
        self._objects = {
            key: next(f for f in order if number in f)[number]
            for key, number in numbers.items()
            if any(number in f for f in order)
        }

    def __getitem__(self, key: ImageId) -> Objects:
        return self._objects[key]

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)


def annotated_images(
    sources: Mapping[ImageId, ImageSource | None],
    instances: str | Path | None = None,
    images: str | Path | None = None,
    *,
    names: Mapping[ImageId, str] | None = None,
    data: str | Path | None = None,
    checksums: dict[str, str] | None = None,
) -> dict[str, Part]:
    """The parts "objects" and "images" of a dataset, each loaded on first use.

    Parameters
    ----------
    sources
        Document → which photograph it is (`metaeval.data.identity`), for every document.
    instances
        A file of COCO's instances schema; by default those of val2017 and of Karpathy's test split
        in the data folder, both where both have some of the images.
    images
        The folder of the image files; by default `val2014` and `val2017` in the data folder.
    names
        Document → file name; by default COCO's own.
    data
        The data folder; by default METAEVAL_DATA.
    checksums
        File name → SHA-256, which the instances files join when they are read.

    Raises InputError for a file or folder that the user named and that is not there.
    """
    given_file = given_path(instances, "instances") if instances is not None else None
    given_folder = given_path(images, "images", "folder") if images is not None else None
    known = {key: coco_number(source) for key, source in sources.items()}
    numbers = {key: number for key, number in known.items() if number is not None}
    by_name = {
        **{key: f"COCO_val2014_{number:012d}.jpg" for key, number in numbers.items()},
        **(names or {}),
    }
    return {
        "objects": lambda: _objects(numbers, sources, given_file, data, checksums),
        "images": lambda: _images(by_name, given_folder, data),
    }


def sources_of_ids(
    ids: Iterable[str],
    names: Mapping[ImageId, str],
    *,
    declared: str | None,
    collection: str,
    **places: Unpack[ImagePlaces],
) -> tuple[dict[ImageId, ImageSource | None], list[str]]:
    """The source of each image of a table, and a note where it is not known.

    As `metaeval.data.identity.sources_of`; where nothing is declared and no file is named, ids
    that are, all of them, ids of annotated images of COCO are COCO's.
    """
    keys = list(ids)
    if declared is None and not names and all(key.isdecimal() for key in keys):
        given = places.get("instances")
        files = [user_path(given)] if given else instances_files(places.get("data"))
        numbers = {int(key) for key in keys}
        if any(numbers <= CocoObjects(file).keys() for file in files if file.is_file()):
            declared = COCO
    sources = sources_of(keys, names, declared=declared, collection=collection)
    unknown = sum(source is None for source in sources.values())
    note = (
        f"Which photographs {unknown:,} of {len(sources):,} images are is not known: "
        "dataset.image_source says it."
    )
    return sources, [note] if unknown else []


def instances_files(data: str | Path | None = None) -> list[Path]:
    """The instances files in the data folder."""
    paths = [
        base / "annotations" / f"instances_{split}.json"
        for split in SPLITS
        for base in search_bases(data=data)
    ]
    return [path for path in dict.fromkeys(paths) if path.is_file()]


def _objects(
    numbers: Mapping[ImageId, int],
    sources: Mapping[ImageId, ImageSource | None],
    given: Path | None,
    data: str | Path | None,
    checksums: dict[str, str] | None,
) -> ObjectsBySource | Absent:
    if not numbers:
        known = {source for source in sources.values() if source is not None}
        unknown = sum(source is None for source in sources.values())
        reason = f"none of the {len(known) + unknown:,} images is known to be one of COCO's"
        if not unknown:  # the photographs are known, and are of other collections
            remedy = "use a dataset whose images have annotated objects, or see docs/regions.md"
            return Absent("objects", reason, remedy)
        remedy = "name their files as COCO does, or set dataset.image_source=coco if ids are COCO's"
        return Absent("objects", reason, remedy)
    files = [CocoObjects(path) for path in ([given] if given else instances_files(data))]
    if not files:
        looked = ", ".join(f"instances_{split}.json" for split in SPLITS)
        reason = f"no annotated objects were found; looked for {looked} in METAEVAL_DATA"
        return Absent("objects", reason, _REMEDY_OBJECTS)
    objects = ObjectsBySource(numbers, files)
    if not objects:
        looked = ", ".join(str(file.path) for file in files)
        return Absent("objects", f"{looked}: contains none of the images", _REMEDY_OBJECTS)
    if checksums is not None:
        wanted = set(numbers.values())
        checksums |= {f.path.name: f.sha256 for f in files if any(n in f for n in wanted)}
    return objects


def _images(
    names: Mapping[ImageId, str], given: Path | None, data: str | Path | None
) -> ImageFiles | Absent:
    folders = [given] if given else [b / f for b in search_bases(data=data) for f in FOLDERS]
    for folder in dict.fromkeys(folders):
        files = ImageFiles(folder, names)
        if len(files):
            return files
    where = ", ".join(map(str, dict.fromkeys(folders))) or "METAEVAL_DATA (which is not set)"
    return Absent("images", f"none of the dataset's images was found in {where}", _REMEDY_IMAGES)
