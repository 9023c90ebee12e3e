"""The contract of a corruption: one caption in, one corrupted caption out, seeded by its image.

To add one, copy `Delete` in `graded/replace.py`: subclass `Corruption` (or `RatedCorruption`), give
`title`, `kind` and `severity` in the head of the class, name in `options` the attributes that
distinguish it from other corruptions of its name, and write `corrupt`. Then add a file to
`conf/corruption/`.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, language_of
from metaeval.options import PositiveInt, Rate, checked
from metaeval.runs.records import Edit, Version

# How bad a corrupted caption is, mildest first; docs/corruptions.md has the definitions.
Severity = Literal["none", "mild", "major", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

# What a corruption changes, in the order of tables.
KINDS = (
    *("objects", "attributes", "numbers", "relations", "people", "scene", "logic", "words"),
    *("grammar", "order", "sentences", "spelling", "whole caption", "harmless"),
)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption to corrupt: its image, its text and, where the dataset has it, the truth.

    `truth` is the image's scene graph on datasets that have one, else `None`. A text-only
    corruption does not read it; a truth-aware one declares `needs = {"scene_graphs"}`.
    """

    image_id: ImageId
    text: str
    truth: Any | None = None


@dataclass(frozen=True, slots=True)
class Corrupted:
    """The result of corrupting one caption.

    Attributes
    ----------
    text
        The corrupted caption.
    applied
        False where nothing could be changed (text equals the source).
    edits
        The changed words.
    requested, realised
        The share of words that was to be changed and that was, in [0, 1]; `None` and the
        whole-caption corruptions' 1.0 where no rate is involved.
    effect, harm
        Of corruptions that know the truth: "contradiction", "hallucination" or "omission", and the
        share of the caption's statements that became false or were lost, in [0, 1].
    reason
        Why nothing could be changed ("names no colour"), `None` where something was, or where the
        corruption gives no reason.
    """

    text: str
    applied: bool
    edits: tuple[Edit, ...] = ()
    requested: float | None = None
    realised: float | None = None
    effect: str | None = None
    harm: float | None = None
    reason: str | None = field(default=None, kw_only=True)


def reads_the_same(a: str, b: str) -> bool:
    """Whether two captions read the same: white space and case do not count."""
    return a.lower().split() == b.lower().split()


def rewritten_whole(text: str, new: str, unchanged_reason: str | None) -> Corrupted:
    """A caption that is replaced as a whole, or unchanged if the other text reads the same."""
    if reads_the_same(text, new):
        return Corrupted(text, False, realised=0.0, reason=unchanged_reason)
    return Corrupted(new, True, realised=1.0)


class Corruption(ABC):
    """A way of changing captions. Pure: the same caption and generator give the same result.

    The head of a class gives these facts: `class Empty(Corruption, title="Empty caption")`.

    Attributes
    ----------
    name
        Name in the configuration: "replace"; by default that of the class in small letters, its
        words joined by "_".
    title
        Name in tables and figures: "Replace".
    kind
        The group that it belongs to: one of `KINDS`, "" for corruptions that read the truth.
    expected
        Expected effect on a score: lower it, or leave it as it is.
    severity
        How bad its captions are, one of `SEVERITIES`; `None` where that is not declared.
    experimental
        Whether an audit did not confirm it: its upper error bound exceeds 10 %. Summaries leave it
        out, and `corruption=NAME` still runs it.
    flaw
        What is wrong with its captions, one of `metaeval.runs.records.WRONG_WORDS`, `WRONG_PLACES`,
        `MISSING_WORDS` and `OTHER_CAPTION`; `None` for none of these. A run compares it with the
        captions that a metric was trained on.
    needs
        The parts of the dataset that it requires: "scene_graphs".
    languages
        The languages whose text it changes; `None`: any.
    options
        The attributes that distinguish corruptions of one name: `parameters` has their values.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    kind: ClassVar[str] = ""
    expected: ClassVar[Literal["lower", "same"]] = "lower"
    severity: Severity | None = None
    experimental: ClassVar[bool] = False
    flaw: ClassVar[str | None] = None
    needs: frozenset[str] = frozenset()
    languages: ClassVar[frozenset[str] | None] = None
    options: ClassVar[tuple[str, ...]] = ()
    rate: float | None = None  # the share of words that it changes

    def __init_subclass__(cls, **facts: Any) -> None:
        super().__init_subclass__()
        words = re.findall("[A-Z][^A-Z]*", cls.__name__)
        for fact, value in {"name": "_".join(words).lower(), **facts}.items():
            if fact not in vars(cls):
                setattr(cls, fact, value)

    @property
    def label(self) -> str:
        """The set's name in tables and figures: "Replace 25%"."""
        return self.title if self.rate is None else f"{self.title} {100 * self.rate:g}%"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What distinguishes this corruption from others of its name; enters the seed."""
        return {name: getattr(self, name) for name in self.options}

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What the dataset lacks: captions in a language that it changes, or a part it needs."""
        language = language_of(dataset) if self.languages is not None else None
        if self.languages is not None and language not in (None, *self.languages):
            return Absent(
                "language",
                f"it changes text in {', '.join(sorted(self.languages))} only, and the "
                f"captions are in '{language}'",
                "corruption=replace, shuffle, delete, insert, reverse and random read any language",
            )
        parts = map(dataset.part, sorted(self.needs))
        return next((part for part in parts if isinstance(part, Absent)), None)

    def has_caption(self, image_id: ImageId) -> bool:
        """Whether there is a corrupted caption of an image, where they come from a file."""
        return True

    def fit(self, dataset: CaptionDataset) -> None:  # noqa: B027  (most corruptions need nothing)
        """Take from the whole dataset what `corrupt` needs (a bag of words, donors)."""

    def facts(self) -> Mapping[str, object]:
        """What `fit` took, as reported in `run.json` ({"bag_words": 1039})."""
        return {}

    @abstractmethod
    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        """Corrupt one caption; `rng` is the only source of randomness."""

    def generator(self, seed: int, image_id: ImageId) -> np.random.Generator:
        """The generator of one caption: from seed, name, parameters and image id alone."""
        return generator_of(seed, self.name, dict(self.parameters), image_id)

    def apply(self, dataset: CaptionDataset, seed: int) -> list[Corrupted]:
        """Corrupt the human caption of every image of the dataset, in its order."""
        self.fit(dataset)
        return self.corrupt_all(dataset, dataset.human, seed)

    def corrupt_all(
        self, dataset: CaptionDataset, captions: Sequence[str], seed: int
    ) -> list[Corrupted]:
        """Corrupt one caption of every image of the dataset that `fit` was given."""
        graphs: Any = dataset.part("scene_graphs") if "scene_graphs" in self.needs else {}
        return [
            self.corrupt(Caption(i, text, graphs.get(i)), self.generator(seed, i))
            for i, text in zip(dataset.image_ids, captions, strict=True)
        ]

    def version(self, level: int, source: str, corrupted: Corrupted) -> Version:
        """The row of `captions.parquet` of a corrupted caption, at its level (0 = worst)."""
        applied = corrupted.applied
        return Version(
            self.label,
            level,
            corrupted.text,
            source,
            applied,
            self.expected if applied else "same",
            self.severity if applied else "none",
            corrupted.effect,
            corrupted.harm,
            corrupted.requested,
            corrupted.realised,
            corrupted.edits,
        )


def generator_of(*key: object) -> np.random.Generator:
    """The generator that follows from a key of JSON values alone."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


class RatedCorruption(Corruption, options=("rate",)):
    """A corruption that changes a share of a caption's words.

    `severity_by_rate` lists pairs (rate, severity), lowest rate first; each severity holds from its
    rate on. It is empty where all rates have the severity of the class.

    Parameters
    ----------
    rate
        The share of words to change, in (0, 1].
    """

    severity_by_rate: ClassVar[tuple[tuple[float, Severity], ...]] = ()
    rate: float

    @checked
    def __init__(self, rate: Rate) -> None:
        self.rate = float(rate)
        for from_rate, severity in self.severity_by_rate:
            if self.rate >= from_rate:
                self.severity = severity


class RepeatedCorruption(Corruption, languages=frozenset({"en"}), options=("times",)):
    """A corruption of English captions at one place, or at several.

    Parameters
    ----------
    times
        In how many places, at most; a caption that offers fewer is changed where it can be.
    """

    @checked
    def __init__(self, times: PositiveInt = 1) -> None:
        self.times = times

    @property
    def label(self) -> str:
        return self.title if self.times == 1 else f"{self.title} ×{self.times}"

    def apart(self, changes: Iterable[tuple[T, set[int]]]) -> list[T]:
        """The first `times` changes that touch no place of another; given with their places."""
        chosen: list[T] = []
        touched: set[int] = set()
        for change, places in changes:
            if not places & touched:
                touched |= places
                chosen.append(change)
            if len(chosen) == self.times:
                break
        return chosen
