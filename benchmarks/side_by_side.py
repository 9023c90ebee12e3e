"""What the benchmarks share: captions to score, the clocks, and what a comparison needs to begin.

A benchmark does the same work in two ways in one run, asserts that the results agree, and prints
how many times as long the other way takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import resolve
from metaeval.compute.requirements import missing_packages
from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Replace
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError

T = TypeVar("T")
Available = TypeVar("Available")

_OPTIONS: dict[str, dict[str, Any]] = {
    "limit": {"type": int, "help": "only the first N images"},
    "threads": {"type": int, "help": "processor threads"},
    "device": {"default": "cpu", "help": "cpu or cuda"},
}


class Seconds(NamedTuple):
    """By the clock, and of processor time, which other work on the machine disturbs least."""

    clock: float
    processor: float

    def times(self, other: Seconds) -> str:
        """How many times as long as the other, by either: "5.9 × 6.0 ×"."""
        return " ".join(f"{a / b:.1f} ×" for a, b in zip(self, other, strict=True))

    def __str__(self) -> str:
        return f"{self.clock:9.2f} s{self.processor:9.2f} s"


def timed(work: Callable[[], T]) -> tuple[T, Seconds]:
    """What the work returns, and how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.perf_counter() - clock, time.process_time() - processor)


def options_parser(doc: str | None, *shared: str) -> argparse.ArgumentParser:
    """A parser with the first line of the module's docstring and some of the shared options."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    for name in shared:
        parser.add_argument(f"--{name}", **_OPTIONS[name])
    return parser


def available(value: Available | Absent) -> Available:
    """The value; if it is absent, the program ends with the reason."""
    if isinstance(value, Absent):
        sys.exit(f"nothing measured: {value}")
    return value


def begin_torch(options: argparse.Namespace, *packages: str) -> None:
    """Set torch's threads; end the program without these packages or the device."""
    available(missing_packages("benchmark", "torch", *packages))
    import torch

    try:
        resolve(getattr(options, "device", "cpu"))
    except ConfigError as error:
        print(f"nothing measured: {error}")
        sys.exit(0)
    if options.threads:
        torch.set_num_threads(options.threads)


def replace_sets(dataset: CaptionDataset) -> list[list[str]]:
    """The captions of Human, Replace 25 %, Replace 50 % and Random."""
    corruptions: list[Corruption] = [Replace(0.25), Replace(0.5), Random()]
    corrupted = [[each.text for each in c.apply(dataset, seed=0)] for c in corruptions]
    return [list(dataset.human), *corrupted]


def joined(sets: Sequence[Sequence[str]]) -> tuple[list[str], npt.NDArray[np.intp]]:
    """All captions of sets of one caption an image, and the image of each."""
    return [text for own in sets for text in own], np.tile(np.arange(len(sets[0])), len(sets))


def coco_annotations(split: str) -> list[dict[str, Any]]:
    """The records of COCO's captions file of a split, in the file's order."""
    content = available(find_coco_captions(split)).read_bytes()
    annotations: list[dict[str, Any]] = json.loads(content)["annotations"]
    return annotations


def coco_captions(split: str) -> list[list[str]]:
    """The captions of each image, images and captions by their ids."""
    images: dict[int, list[str]] = {}
    for annotation in sorted(coco_annotations(split), key=lambda a: a["id"]):
        images.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return [images[image] for image in sorted(images)]


def greatest_difference(mine: Any, theirs: Any, tolerance: float) -> float:
    """Of two arrays; AssertionError where it is above the tolerance."""
    difference = float(np.abs(np.asarray(mine) - np.asarray(theirs)).max())
    assert difference <= tolerance, f"the results differ by {difference}"
    return difference


def peak_memory() -> str:
    """The most memory that this process has had."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"
