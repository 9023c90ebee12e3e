"""The interface of a dataset.

A `CaptionDataset` is an ordered list of images, each with one human caption and its references.
Everything else that a metric may use (image files, annotated objects, scene graphs, region
features) is a *part*: loaded on first use, or an `Absent` that says what is missing and how to get
it. A part is never an exception half-way through a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

ImageId = int | str
ImageSource = str  # "coco:391895": see metaeval/data/image_source.py


@dataclass(frozen=True, slots=True)
class Absent:
    """Something a run could use but does not have.

    `part` is what ("images", "java", …), `reason` why it is not there, `remedy` the command or
    option that provides it, all in words for a table.
    """

    part: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


@dataclass(frozen=True, slots=True)
class Objects:
    """The annotated objects of one image.

    `labels` holds m category names; `boxes` is float64 [m, 4], x1 y1 x2 y2, normalised by the
    image's width and height to [0, 1].
    """

    labels: tuple[str, ...]
    boxes: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How many records (captions) files held, and how many of them are used.

    The others were left out for reasons that the dataset's notes or options give. An invalid record
    is never skipped: it ends the reading with an error.
    """

    read: int
    used: int

    @property
    def left_out(self) -> int:
        return self.read - self.used

    def __str__(self) -> str:
        return f"{self.read:,} records read, {self.used:,} used, {self.left_out:,} left out"

    def counts(self) -> dict[str, int]:
        """For `run.json`."""
        return {"read": self.read, "used": self.used, "left_out": self.left_out, "refused": 0}


T = TypeVar("T")
Part = Callable[[], Any] | Absent


@dataclass(frozen=True)
class CaptionDataset:
    """Images in ascending order of id, with one human caption and k references each.

    Parameters
    ----------
    name
        "coco_val2017", "scenes", …
    image_ids
        n ids, unique, all `int` or all `str`, ascending.
    human
        n captions: the *Human* caption of each image.
    references
        n tuples of references; the human caption is not among them by position.
    pool_ids, pool
        Ids and human captions of the *whole* file, before any `limit`. Corruptions draw on these
        (the bag of words, another image's caption), so that what happens to one caption does not
        depend on which other images are in the run.
    image_source, pool_source
        Which photograph each image (of the pool) is: "coco:391895", `None` where it is not known.
        Weights never score a photograph that they have learned from, and none that is not known.
        By default the ids themselves are COCO's.
    sources
        File name → SHA-256 of every file that was read.
    notes
        What was normalised or left out while reading, one sentence each, with counts.
    records
        How many records of the files were used; `None` without files.
    excluded_ids
        Ids of the images that were left out on purpose (`dataset.exclude`). A system's captions of
        them are not an error; they are ignored.
    language
        The declared language ("de"); `None`: it is detected (`metaeval.text.language`).
    fallback
        Set if this dataset replaces another: which one was searched for, and where.
    parts
        Part name → loader or `Absent`. Names in use: "images" (ImageFiles), "objects" (Mapping of
        image id to Objects), "scene_graphs" (Mapping of image id to a scene graph).
    """

    name: str
    image_ids: tuple[ImageId, ...]
    human: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    pool_ids: tuple[ImageId, ...]
    pool: tuple[str, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fallback: str | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    image_source: tuple[ImageSource | None, ...] | None = None
    pool_source: tuple[ImageSource | None, ...] | None = None
    records: RecordCount | None = None
    excluded_ids: frozenset[ImageId] = frozenset()
    language: str | None = None
    _loaded: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _derived: dict[str, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # of these images, so a smaller dataset begins anew

    def __post_init__(self) -> None:
        n = len(self.image_ids)
        if not n:
            raise ValueError("a dataset needs at least one image")
        if len(self.human) != n or len(self.references) != n:
            raise ValueError("image_ids, human and references differ in length")
        if len(self.pool) != len(self.pool_ids):
            raise ValueError("pool and pool_ids differ in length")
        if len(self.image_source or self.image_ids) != n:
            raise ValueError("image_ids and image_source differ in length")
        if len(self.pool_source or self.pool_ids) != len(self.pool_ids):
            raise ValueError("pool_ids and pool_source differ in length")
        if any(a >= b for a, b in zip(self.image_ids, self.image_ids[1:], strict=False)):  # type: ignore[operator]
            raise ValueError("image_ids must be unique and ascending")

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def is_scenes(self) -> bool:
        """Whether the images are the embedded, drawn scenes."""
        return self.name == "scenes"

    def part(self, name: str) -> Any | Absent:
        """The part called `name`, loaded once, or the `Absent` that says why there is none.

        A loader may itself return an `Absent` (for a missing file).
        """
        if name not in self._loaded:
            source = self.parts.get(
                name, Absent(name, f"the dataset '{self.name}' has no {name.replace('_', ' ')}")
            )
            self._loaded[name] = source if isinstance(source, Absent) else source()
        return self._loaded[name]

    def derive(self, what: str, make: Callable[[], T]) -> T:
        """Something computed from these images and references once and shared by all callers.

        `what` names everything that it depends on besides the dataset.
        """
        if what not in self._derived:
            self._derived[what] = make()
        value: T = self._derived[what]
        return value

    def limited(self, limit: int | None) -> CaptionDataset:
        """The first `limit` images by id; the pool stays whole. `None` changes nothing."""
        if limit is None or limit >= len(self):
            return self
        return self.subset(range(limit))

    def subset(self, indices: Sequence[int]) -> CaptionDataset:
        """The images at these positions, in ascending order of position; the pool stays whole.

        Raises ValueError for a repeated position, IndexError for an invalid one.
        """
        positions = sorted(indices)
        if len(set(positions)) != len(positions):
            raise ValueError("a position occurs twice")
        if positions and positions[0] < 0:
            raise IndexError(f"position {positions[0]} is negative")
        return replace(
            self,
            image_ids=tuple(self.image_ids[i] for i in positions),
            human=tuple(self.human[i] for i in positions),
            references=tuple(self.references[i] for i in positions),
            records=self.records
            and replace(self.records, used=sum(1 + len(self.references[i]) for i in positions)),
            image_source=self.image_source and tuple(self.image_source[i] for i in positions),
            _loaded=self._loaded,  # parts are keyed by image id, so they serve the smaller set too
        )
