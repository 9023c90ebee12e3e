"""The interface of a dataset.

A `CaptionDataset` is an ordered list of images, each with one human caption and its references.
Everything else that a metric may use (image files, annotated objects, scene graphs, region
features) is a *part*: loaded on first use, or an `Absent` that says what is missing and how to get
it. A part is never an exception half-way through a run.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.data.language import detect_language
from metaeval.runs.store import content_digest

ImageId = int | str
ImageSource = str  # "coco:391895": see metaeval/data/identity.py


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


class ImagePaths:
    """Image files by id: `files` is image id → path, `where` says in words where they are."""

    on_demand = False  # getting a path creates nothing

    def __init__(self, files: Mapping[ImageId, str | Path], where: str) -> None:
        self._files, self._where = files, where

    def path(self, image_id: ImageId) -> Path | None:
        """The image's file, or `None` if it is not there."""
        return Path(self._files[image_id]) if image_id in self._files else None

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._files

    def __len__(self) -> int:
        """How many of the images are there."""
        return len(self._files)

    def count(self, image_ids: Iterable[ImageId]) -> int:
        """How many of these images are there."""
        return sum(image_id in self._files for image_id in image_ids)

    def __str__(self) -> str:
        return self._where


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
        n ids, all `int` or all `str`, ascending. Unique, except where captions of one image are
        compared with different references: then the image is there once for each set of them.
    human
        n captions: the *Human* caption of each image.
    references
        n tuples of references; the human caption is not among them by position.
    pool_ids, pool
        Ids and human captions of the *whole* file, before any `limit`; by default those of the n
        images. Corruptions draw on these (the bag of words, another image's caption), so that what
        happens to one caption does not depend on which other images are in the run.
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
        The declared language ("de"); `None`: it is detected (`language_of`).
    documents
        As how many documents the references of each of the n count for document frequencies;
        `None`: the documents are the images. See `corpus`.
    fallback
        Set if this dataset replaces another: which one was searched for, and where.
    parts
        Part name → loader or `Absent`. Names in use: "images" (ImagePaths), "objects" (Mapping of
        image id to Objects), "scene_graphs" (Mapping of image id to a scene graph).
    """

    name: str
    image_ids: tuple[ImageId, ...]
    human: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    pool_ids: tuple[ImageId, ...] = ()
    pool: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fallback: str | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    image_source: tuple[ImageSource | None, ...] | None = None
    pool_source: tuple[ImageSource | None, ...] | None = None
    records: RecordCount | None = None
    excluded_ids: frozenset[ImageId] = frozenset()
    language: str | None = None
    documents: tuple[int, ...] | None = None
    _loaded: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _derived: dict[str, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # of these images, so a smaller dataset begins anew

    def __post_init__(self) -> None:
        if not self.image_ids:
            raise ValueError("a dataset needs at least one image")
        if not self.pool_ids:
            whole = {"pool_ids": "image_ids", "pool": "human", "pool_source": "image_source"}
            for name, of_images in whole.items():
                object.__setattr__(self, name, getattr(self, of_images))
        of_ids = {"image_ids": ("human", "references", "image_source", "documents")}
        for ids, names in {**of_ids, "pool_ids": ("pool", "pool_source")}.items():
            for name in names:
                values = getattr(self, name)
                if values is not None and len(values) != len(getattr(self, ids)):
                    raise ValueError(f"{ids} and {name} differ in length")
        if any(a > b for a, b in zip(self.image_ids, self.image_ids[1:], strict=False)):  # type: ignore[operator]
            raise ValueError("image_ids must be ascending")

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def n_images(self) -> int:
        """The number of images, each counted once."""
        return len(set(self.image_ids))

    def count_images(self, chosen: Iterable[int]) -> int:
        """The number of images, each counted once, at some positions."""
        return len({self.image_ids[i] for i in chosen})

    def positions(self) -> dict[ImageId, int]:
        """Image id → position. Raises ValueError where an image is there several times."""
        positions = {image_id: k for k, image_id in enumerate(self.image_ids)}
        if len(positions) < len(self):
            raise ValueError("an image has several sets of references: its id is not a position")
        return positions

    def corpus(self) -> list[tuple[str, ...]]:
        """The references of each document that document frequencies (CIDEr's idf) count.

        A document is an image, with all references that it has here, or what `documents` says.
        """
        if self.documents is not None:
            counted = zip(self.references, self.documents, strict=True)
            return [references for references, times in counted for _ in range(times)]
        by_image: dict[ImageId, tuple[str, ...]] = {}
        for image_id, references in zip(self.image_ids, self.references, strict=True):
            known = by_image.get(image_id, ())
            by_image[image_id] = known + tuple(r for r in references if r not in known)
        return list(by_image.values())

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
        return self._derived[what]

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
            documents=self.documents and tuple(self.documents[i] for i in positions),
            _loaded=self._loaded,  # parts are keyed by image id, so they serve the smaller set too
        )


def language_of(dataset: CaptionDataset) -> str | None:
    """The language of a dataset (ISO 639-1): what it declares, or what its captions are.

    `None` where it is unknown: too few words, or no clear answer.
    """
    if dataset.language is not None:
        return dataset.language
    # of datasets that are documents of references alone, all references
    references = (text for group in dataset.references for text in group)
    return dataset.derive("language", lambda: detect_language([*dataset.human, *references]))


class ReferenceItems(NamedTuple):
    """The distinct images with references of n captions.

    Attributes
    ----------
    image_ids, references
        m items in ascending order. An image keeps its id: it occurs once for each set of
        references that some caption of it is compared with.
    caption
        m: one caption of each item.
    of_caption
        intp [n]: the item of each caption.
    """

    image_ids: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    caption: list[int]
    of_caption: npt.NDArray[np.intp]

    def sums(self, counts: Sequence[int]) -> tuple[int, ...]:
        """m sums of a number of each caption, over the captions of an item.

        >>> items_by_references(["b", "a", "b"], [(), (), ()]).sums([1, 10, 100])
        (10, 101)
        """
        totals = np.zeros(len(self.image_ids), dtype=np.int64)
        np.add.at(totals, self.of_caption, counts)
        return tuple(totals.tolist())


def items_by_references(
    images: Sequence[Any], references: Sequence[tuple[str, ...]]
) -> ReferenceItems:
    """The items of n captions: their distinct (image, references).

    >>> items = items_by_references(["b", "a", "b", "b"], [("x",), ("x",), ("y",), ("x",)])
    >>> items.image_ids, items.caption, items.of_caption.tolist()
    (('a', 'b', 'b'), [1, 0, 2], [1, 0, 2, 1])
    """
    given = list(zip(images, references, strict=True))
    first = {item: j for j, item in reversed(list(enumerate(given)))}
    order = sorted(first)
    place = {item: p for p, item in enumerate(order)}
    of_caption = np.array([place[item] for item in given], dtype=np.intp)
    return ReferenceItems(
        tuple(image for image, _ in order),
        tuple(texts for _, texts in order),
        [first[item] for item in order],
        of_caption,
    )


def captions_by_image(dataset: CaptionDataset) -> dict[ImageId, list[str]]:
    """Image → its captions: the human ones of the whole file, and the references.

    An image is its source where that is known, otherwise its id. Documents of the same image (with
    other references each) share captions: these count as often as in the one that has most. So does
    the human caption, which rated data have among the references.
    """
    captions: defaultdict[ImageId, Counter[str]] = defaultdict(Counter)
    pool = zip(photographs(dataset.pool_ids, dataset.pool_source), dataset.pool, strict=True)
    for image, text in pool:
        captions[image] |= Counter([text])
    images = photographs(dataset.image_ids, dataset.image_source)
    for image, human, references in zip(images, dataset.human, dataset.references, strict=True):
        captions[image] |= Counter(references) | Counter([human] if human else [])
    return {image: list(counts.elements()) for image, counts in captions.items()}


def no_text(captions: Mapping[ImageId, Sequence[str]]) -> Absent | None:
    """What keeps a model of words from being learned from captions of other images, or `None`."""
    n = sum(any(text.strip() for text in group) for group in captions.values())
    if n > 1:
        return None
    return Absent(
        "captions",
        f"it learns from the references and human captions of other images, and {n} of the "
        f"{len(captions):,} images {'has' if n == 1 else 'have'} any",
        "give references",
    )


def photographs(
    ids: Sequence[ImageId], sources: Sequence[ImageSource | None] | None
) -> list[ImageId]:
    """Which photograph each image is: its source, or its id where the source is unknown."""
    if sources is None:
        return list(ids)
    return [i if source is None else source for i, source in zip(ids, sources, strict=True)]


def captions_identity(captions: Mapping[ImageId, Sequence[str]]) -> str:
    """For signatures of what counts words of `captions_by_image`: their number and a digest."""
    lines = [repr(i).encode() + content_digest(sorted(group)) for i, group in captions.items()]
    digest = hashlib.sha256(b"".join(sorted(lines))).hexdigest()[:8]
    return f"{sum(map(len, captions.values()))}-{digest}"
