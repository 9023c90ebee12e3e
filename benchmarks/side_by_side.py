"""What the benchmarks share: captions to score, the clocks, and what is absent."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Replace
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.dataset import Absent, CaptionDataset

T = TypeVar("T")
Available = TypeVar("Available")


class Seconds(NamedTuple):
    """By the clock, and of processor time, which other work on the machine disturbs least."""

    clock: float
    processor: float


def timed(work: Callable[[], T]) -> tuple[T, Seconds]:
    """What the work returns, and how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.perf_counter() - clock, time.process_time() - processor)


class Cost(NamedTuple):
    """Wall and processor seconds of a command and its children, and its own peak in MiB."""

    clock: float
    processor: float
    peak: float


def cost_of(command: Sequence[str]) -> Cost:
    """What a command costs, its output thrown away. The program ends if the command fails."""
    started = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    seconds = time.perf_counter() - started
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def available(value: Available | Absent) -> Available:
    """The value; if it is absent, the program ends with the reason."""
    if isinstance(value, Absent):
        sys.exit(f"nothing measured: {value}")
    return value


def replace_sets(dataset: CaptionDataset) -> list[list[str]]:
    """The captions of Human, Replace 25 %, Replace 50 % and Random."""
    corruptions: list[Corruption] = [Replace(0.25), Replace(0.5), Random()]
    corrupted = [[each.text for each in c.apply(dataset, seed=0)] for c in corruptions]
    return [list(dataset.human), *corrupted]


def joined(sets: Sequence[Sequence[str]]) -> tuple[list[str], npt.NDArray[np.intp]]:
    """All captions of sets of one caption an image, and the image of each."""
    return [text for own in sets for text in own], np.tile(np.arange(len(sets[0])), len(sets))


def coco_captions(split: str) -> list[list[str]]:
    """The captions of each image of COCO, images and captions by their ids."""
    content = available(find_coco_captions(split)).read_bytes()
    images: dict[int, list[str]] = {}
    for annotation in sorted(json.loads(content)["annotations"], key=lambda a: a["id"]):
        images.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return [images[image] for image in sorted(images)]
