"""The contract of a corruption: one caption in, one spoiled caption out, seeded by its image.

To add one, copy `replace.py`: subclass `Corruption`, give it a `name`, say in `parameters` what
makes it differ from its siblings, and write `corrupt`. Then name it in `conf/corruption/`.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset, ImageId


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption to spoil: its image, its text and, where the dataset knows it, the truth.

    `truth` is the image's scene graph on datasets that have one, else `None`: a text-only
    corruption never looks at it, a truth-aware one declares `needs = {"scene_graphs"}`.
    """

    image_id: ImageId
    text: str
    truth: Any | None = None


class Edit(NamedTuple):
    """One changed word: its position among the white-space tokens of the source, before and after.

    `before` is empty for an insertion, `after` for a deletion. Both are whole tokens, with the
    punctuation attached to them: (3, "field.", "dog.").
    """

    position: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Corrupted:
    """What became of a caption.

    `applied` is false where nothing could be changed (text equals the source). `requested` is the
    share of words that was asked for, `realised` the share that did change, both in [0, 1];
    `None` and the whole-caption corruptions' 1.0 where no rate is involved.
    """

    text: str
    applied: bool
    edits: tuple[Edit, ...] = ()
    requested: float | None = None
    realised: float | None = None


class Corruption(ABC):
    """A way of spoiling captions. Pure: the same caption and generator give the same result."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    @abstractmethod
    def label(self) -> str:
        """The set's name in tables and figures: "Replace 25%"."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What distinguishes this corruption from others of its name; enters the seed."""
        return {}

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """The first part that the corruption needs and the dataset lacks."""
        for need in sorted(self.needs):
            part = dataset.part(need)
            if isinstance(part, Absent):
                return part
        return None

    def fit(self, dataset: CaptionDataset) -> None:  # noqa: B027  (most corruptions need nothing)
        """Take from the whole dataset what `corrupt` needs (a bag of words, donors)."""

    def facts(self) -> Mapping[str, Any]:
        """What `fit` found, worth telling in `run.json` ({"bag_words": 1039})."""
        return {}

    @abstractmethod
    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        """Spoil one caption, with no other source of randomness than `rng`."""

    def generator(self, seed: int, image_id: ImageId) -> np.random.Generator:
        """The generator of one caption: from seed, name, parameters and image id alone."""
        key = json.dumps([seed, self.name, dict(self.parameters), image_id], sort_keys=True)
        digest = hashlib.sha256(key.encode()).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))

    def apply(self, dataset: CaptionDataset, seed: int) -> list[Corrupted]:
        """Spoil the human caption of every image of the dataset, in its order."""
        self.fit(dataset)
        graphs: Any = dataset.part("scene_graphs") if "scene_graphs" in self.needs else {}
        return [
            self.corrupt(Caption(i, text, graphs.get(i)), self.generator(seed, i))
            for i, text in zip(dataset.image_ids, dataset.human, strict=True)
        ]
