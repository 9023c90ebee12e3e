"""Image files by content: their digests, and their pixels, read by several threads at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.cores import core_count
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import InputError
from metaeval.progress import progress_bar
from metaeval.readers.files import read_bytes
from metaeval.readers.images import open_image
from metaeval.runs.digests import digest, file_state
from metaeval.runs.store import Store

if TYPE_CHECKING:
    import torch

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
