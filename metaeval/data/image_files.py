"""Image files by content: their digests, and their pixels, read by several threads at once.

The image files of a dataset: a folder, whole or in part.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from metaeval.cores import core_count
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.errors import InputError
from metaeval.progress import progress_bar
from metaeval.readers.files import read_bytes
from metaeval.readers.images import open_image
from metaeval.runs.digests import digest, file_state
from metaeval.runs.store import Store

if TYPE_CHECKING:
    import torch


# COCO 2014 put the split before the number: COCO_val2014_000000000042.jpg is 000000000042.jpg
_PREFIX = re.compile(r"^COCO_\w+?_(?=\d{12}\.\w+$)")


class ImageFiles:
    """The path of an id's image, if it exists. A folder may contain only some of the images.

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

    on_demand = False  # getting a path creates nothing

    def __init__(self, folder: Path, names: Mapping[ImageId, str]) -> None:
        self.folder = folder
        try:
            with os.scandir(folder) as entries:
                present = {entry.name for entry in entries if entry.is_file()}
        except (FileNotFoundError, NotADirectoryError):
            present = set()
        home = os.path.realpath(folder)
        self._files: dict[ImageId, str] = {}
        self.total = len(names)
        for image_id, name in names.items():
            relative = PurePosixPath(name.replace("\\", "/"))
            if relative.is_absolute() or ".." in relative.parts or not relative.name:
                continue
            if len(relative.parts) > 1 and self._inside(home, relative):
                self._files[image_id] = str(relative)
                continue
            for candidate in (relative.name, _PREFIX.sub("", relative.name)):
                if candidate in present and self._inside(home, candidate):
                    self._files[image_id] = candidate
                    break

    @staticmethod
    def _inside(home: str, name: str | PurePosixPath) -> bool:
        """Whether a name is a file of the folder, and not a link to one elsewhere."""
        file = os.path.realpath(os.path.join(home, name))
        return file.startswith(os.path.join(home, "")) and os.path.isfile(file)

    def path(self, image_id: ImageId) -> Path | None:
        """The image's file, or `None` if it is not there."""
        name = self._files.get(image_id)
        return None if name is None else self.folder / name

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._files

    def __len__(self) -> int:
        """How many of the images are there."""
        return len(self._files)

    def count(self, image_ids: Iterable[ImageId]) -> int:
        """How many of these images are there."""
        return sum(image_id in self._files for image_id in image_ids)

    def __str__(self) -> str:
        return f"{len(self):,} of {self.total:,} files in {self.folder}"


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
    """Preprocessed images, batch by batch; the next two are read while one is being used.

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
        starts = list(range(0, len(paths), batch))
        pending = [[pool.submit(read, j) for j in _span(s, batch, len(paths))] for s in starts[:2]]
        for number, start in enumerate(starts):
            if number + 2 < len(starts):
                ahead = _span(starts[number + 2], batch, len(paths))
                pending.append([pool.submit(read, j) for j in ahead])
            pixels = [job.result() for job in pending.pop(0)]
            readable = {start + k: each for k, each in enumerate(pixels) if each is not None}
            yield list(readable), torch.stack(list(readable.values())) if readable else None


def _span(start: int, batch: int, n: int) -> range:
    return range(start, min(start + batch, n))


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
