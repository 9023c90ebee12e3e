"""COCO's annotated objects and image files for datasets that are not COCO files.

Judged captions and pairs of true and false captions are about COCO's images but come without them:
what is annotated is looked up by COCO id, whatever the dataset's own keys look like.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from metaeval.data.coco.files import annotation_files, search_bases
from metaeval.data.coco.objects import coco_objects
from metaeval.data.dataset import (
    Absent,
    CaptionDataset,
    ImageId,
    ImagePaths,
    ImageSource,
    Objects,
    Part,
    RecordCount,
    items_by_references,
)
from metaeval.data.download import given_path
from metaeval.data.identity import COCO, coco_number, composed, sources_of
from metaeval.errors import InputError
from metaeval.progress import progress_bar
from metaeval.provenance import core_count
from metaeval.readers.files import read_bytes, user_path
from metaeval.readers.images import open_image
from metaeval.runs.files import digest, file_state
from metaeval.runs.store import Store

if TYPE_CHECKING:
    import torch


# Image files by content: their digests, and their pixels, read by several threads at once.
#
# The image files of a dataset: a folder, whole or in part.

# COCO 2014 put the split before the number: COCO_val2014_000000000042.jpg is 000000000042.jpg
_PREFIX = re.compile(r"^COCO_\w+?_(?=\d{12}\.\w+$)")


class ImageFiles(ImagePaths):
    """The image files of a folder, which may contain only some of the images.

    The folder is listed once, when the object is made.

    Parameters
    ----------
    folder
        The folder of the files.
    names
        Image id → file name. A name may hold folders ("val2014/1.jpg"): the file is looked for
        there, then directly in the folder. A COCO 2014 name also finds the same image under its
        COCO 2017 name (the numbers are the same). A name that leaves the folder
        finds nothing, and neither does a symbolic link to a file outside of it: a report embeds
        photos, and must not embed other files of the user.
    """

    def __init__(self, folder: Path, names: Mapping[ImageId, str]) -> None:
        try:
            with os.scandir(folder) as entries:
                present = {composed(entry.name): entry.name for entry in entries if entry.is_file()}
        except (FileNotFoundError, NotADirectoryError):
            present = {}
        home = os.path.realpath(folder)
        files: dict[ImageId, str | Path] = {}
        for image_id, name in names.items():
            relative = PurePosixPath(name.replace("\\", "/"))
            if relative.is_absolute() or ".." in relative.parts or not relative.name:
                continue
            if len(relative.parts) > 1 and self._inside(home, relative):
                files[image_id] = folder / relative
                continue
            for candidate in (relative.name, _PREFIX.sub("", relative.name)):
                there = present.get(composed(candidate))
                if there is not None and self._inside(home, there):
                    files[image_id] = os.path.join(folder, there)
                    break
        super().__init__(files, f"{len(files):,} of {len(names):,} files in {folder}")

    @staticmethod
    def _inside(home: str, name: str | PurePosixPath) -> bool:
        """Whether a name is a file of the folder, and not a link to one elsewhere."""
        file = os.path.realpath(os.path.join(home, name))
        return file.startswith(os.path.join(home, "")) and os.path.isfile(file)


log = logging.getLogger(__name__)

_NAMESPACE = "digests of image files by path, size and time of change"


def reader_threads() -> int:
    """Readers at once: decoding leaves Python's lock alone, and one is left for the network."""
    return max(2, core_count())


def digests(paths: Sequence[Path | None], store: Store | None) -> list[bytes | None]:
    """16 bytes of SHA-256 of each file's content, `None` for a missing one.

    A file is read once for as long as its size and time of change stay the same.
    """
    states = [_state(path) for path in paths]
    present = [state for state in states if state is not None]
    known = store.get_many(_NAMESPACE, present) if store is not None else {}
    todo = [j for j, state in enumerate(states) if state is not None and state not in known]
    with ThreadPoolExecutor(reader_threads()) as pool:
        jobs = pool.map(lambda j: _digest(paths[j]), todo)
        bar = progress_bar(jobs, total=len(todo), desc="images", unit="")
        new = {
            state: digest
            for j, digest in zip(todo, bar, strict=True)
            if digest is not None and (state := states[j]) is not None
        }
    if store is not None and new:
        store.put_many(_NAMESPACE, new)
    known.update(new)
    return [None if state is None else known.get(state) for state in states]


def paths_of(dataset: CaptionDataset) -> list[Path | None]:
    """The image file of each image, `None` where there is none. Scenes are drawn for this."""
    images = dataset.part("images")
    if isinstance(images, Absent):
        return [None] * len(dataset)
    with ThreadPoolExecutor(reader_threads()) as pool:
        jobs = pool.map(images.path, dataset.image_ids)
        return list(progress_bar(jobs, total=len(dataset), desc="images"))


def decoded(
    paths: Sequence[Path], preprocess: Callable[[Any], torch.Tensor], batch: int
) -> Iterator[tuple[list[int], torch.Tensor | None]]:
    """Preprocessed images, batch by batch, each read by several threads.

    Yields the positions of a batch's readable images and their pixels [n, 3, h, w], `None` where
    none is readable. An unreadable file is named in a warning and left out.
    """
    import torch

    def read(position: int) -> torch.Tensor | None:
        try:
            with open_image(paths[position]) as image:
                return preprocess(image)
        except InputError as error:
            log.warning("%s", error)
            return None

    with ThreadPoolExecutor(reader_threads()) as pool:
        for start in range(0, len(paths), batch):
            pixels = pool.map(read, range(start, min(start + batch, len(paths))))
            readable = {start + k: each for k, each in enumerate(pixels) if each is not None}
            yield list(readable), torch.stack(list(readable.values())) if readable else None


def _state(path: Path | None) -> bytes | None:
    try:
        return file_state(path) if path is not None else None
    except OSError:
        return None


def _digest(path: Path | None) -> bytes | None:
    try:
        return digest(read_bytes(path)) if path is not None else None
    except InputError:
        return None


SPLITS = ("val2017", "karpathy_test")  # whose instances files are looked for
FOLDERS = ("val2014", "val2017")  # where image files are looked for
_REMEDY_OBJECTS = "set dataset.instances=FILE to COCO's annotated objects"
_REMEDY_IMAGES = "set dataset.images=FOLDER"


class ImagePlaces(TypedDict, total=False):
    """Where the annotated objects and the image files are: see `annotated_images`."""

    instances: str | Path | None
    images: str | Path | None
    data: str | Path | None


class ObjectsByImage(dict[ImageId, Objects]):
    """Image id → its objects; `detected` where a detector found some of them."""

    detected = False


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


def sources_of_records(
    ids: Iterable[str],
    names: Mapping[ImageId, str],
    *,
    declared: str | None,
    collection: str,
    **places: Unpack[ImagePlaces],
) -> tuple[dict[ImageId, ImageSource | None], list[str]]:
    """The source of each image of a table's records, and a note where it is not known.

    `names` is image → file name, where it has one. As `metaeval.data.identity.sources_of`; where
    nothing is declared and no file is named, ids that are, all of them, ids of annotated images of
    COCO are COCO's.
    """
    keys = list(dict.fromkeys(ids))
    if declared is None and not names and all(key.isdecimal() for key in keys):
        given = places.get("instances")
        files = [user_path(given)] if given else instances_files(places.get("data"))
        numbers = {int(key) for key in keys}
        if any(numbers <= coco_objects(file).keys() for file in files if file.is_file()):
            declared = COCO
    sources = sources_of(keys, names, declared=declared, collection=collection)
    unknown = sum(source is None for source in sources.values())
    note = (
        f"Which photographs {unknown:,} of {len(sources):,} images are is not known: "
        "dataset.image_source says it."
    )
    return sources, [note] if unknown else []


def annotated_dataset(
    name: str,
    ids: Sequence[str],
    references: Sequence[tuple[str, ...]],
    human: Sequence[str],
    *,
    photographs: Sequence[ImageSource | None],
    names: Mapping[ImageId, str],
    sources: Mapping[str, str],
    notes: Iterable[str],
    read: int,
    documents: Sequence[int] | None = None,
    **places: Unpack[ImagePlaces],
) -> tuple[CaptionDataset, npt.NDArray[np.intp]]:
    """The dataset of n records, an image once for each set of references, with COCO's annotations
    and image files; and the place of each record in it.

    `ids` [n] are those of the records' images, `references` and `human` [n] their references and
    their human caption, `photographs` [n] which photograph each is; `names` is image → file name,
    `documents` [n] as how many documents each counts; `read` is how many records the files held.
    """
    items = items_by_references(ids, references)
    checksums = dict(sources)
    of_item = tuple(photographs[j] for j in items.caption)
    known: dict[ImageId, ImageSource | None] = dict(zip(items.image_ids, of_item, strict=True))
    dataset = CaptionDataset(
        name,
        items.image_ids,
        tuple(human[j] for j in items.caption),
        items.references,
        sources=checksums,
        notes=tuple(notes),
        parts=annotated_images(known, names=names, checksums=checksums, **places),
        image_source=of_item,
        records=RecordCount(read, len(ids)),
        documents=None if documents is None else items.sums(documents),
    )
    return dataset, items.of_caption


def instances_files(data: str | Path | None = None) -> list[Path]:
    """The instances files in the data folder."""
    return annotation_files([f"instances_{split}" for split in SPLITS], data)


def _objects(
    numbers: Mapping[ImageId, int],
    sources: Mapping[ImageId, ImageSource | None],
    given: Path | None,
    data: str | Path | None,
    checksums: dict[str, str] | None,
) -> ObjectsByImage | Absent:
    if not numbers:
        known = {source for source in sources.values() if source is not None}
        unknown = sum(source is None for source in sources.values())
        reason = f"none of the {len(known) + unknown:,} images is known to be one of COCO's"
        if not unknown:  # the photographs are known, and are of other collections
            remedy = "use a dataset whose images have annotated objects, or see docs/regions.md"
            return Absent("objects", reason, remedy)
        remedy = "name their files as COCO does, or set dataset.image_source=coco if ids are COCO's"
        return Absent("objects", reason, remedy)
    files = [coco_objects(path) for path in ([given] if given else instances_files(data))]
    if not files:
        looked = ", ".join(f"instances_{split}.json" for split in SPLITS)
        reason = f"no annotated objects were found; looked for {looked} in METAEVAL_DATA"
        return Absent("objects", reason, _REMEDY_OBJECTS)
    wanted = set(numbers.values())
    # the file with the most of the images is used first
    order = sorted(files, key=lambda file: -sum(n in file for n in wanted))
    found = [(key, [f[n] for f in order if n in f]) for key, n in numbers.items()]
    objects = ObjectsByImage({key: of_files[0] for key, of_files in found if of_files})
    objects.detected = any(file.detected for file in files)
    if not objects:
        looked = ", ".join(str(file.path) for file in files)
        return Absent("objects", f"{looked}: contains none of the images", _REMEDY_OBJECTS)
    if checksums is not None:
        checksums |= {f.path.name: f.sha256 for f in files if any(n in f for n in wanted)}
    return objects


def _images(
    names: Mapping[ImageId, str], given: Path | None, data: str | Path | None
) -> ImageFiles | Absent:
    folders = [given] if given else [b / f for b in search_bases(data=data) for f in FOLDERS]
    return images_in(dict.fromkeys(folders), names, _REMEDY_IMAGES)


def images_in(
    folders: Iterable[Path], names: Mapping[ImageId, str], remedy: str
) -> ImageFiles | Absent:
    """The image files of the first folder that has some."""
    looked = []
    for folder in folders:
        if len(files := ImageFiles(folder, names)):
            return files
        looked.append(str(folder))
    where = ", ".join(looked) or "METAEVAL_DATA (which is not set)"
    return Absent("images", f"no image file of the dataset was found; looked in {where}", remedy)
