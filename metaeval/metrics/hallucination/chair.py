"""CHAIR (Rohrbach et al., 2018): which objects of a caption the image does not have; and gold
labels: which objects of the image a caption names.

The objects that a caption mentions come from an ontology, words and phrases by category, from a
file. It is JSON: `words` maps each category to its words and phrases (plurals included), `ignored`
lists phrases in which no category is meant, `qualifiers` maps a word ("baby") to the categories
before whose words it does not name an object. The last two may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import (
    Metric,
    Scorer,
    Scores,
    Statistics,
    SummableMetric,
    SummableScorer,
    detected,
    reference_digests,
)
from metaeval.options import OptionsOf
from metaeval.readers.files import read_json, user_path
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.vision.regions.gold import BoxNoise

COCO = Path(__file__).with_name("coco_objects.json")  # of WordNet: docs/metrics/chair.md
_TOKEN = re.compile(r"\w+(?:['-]\w+)*")


class Ontology:
    """The categories of an ontology and the words for them.

    `identity` is the file's name and the start of its SHA-256, for signatures. Raises InputError
    for a file that is not as it should be, and for a word of two categories.
    """

    def __init__(self, path: Path) -> None:
        value, sha256 = read_json(path)
        words = _mapping(value, "words", path)
        self.identity = f"{path.stem}-{sha256[:12]}"
        self.categories = tuple(words)
        self._owner: dict[tuple[str, ...], str | None] = {}
        for phrase in value.get("ignored", []):
            self._owner[_tokens(str(phrase))] = None
        for category, names in words.items():
            for name in names:
                tokens = _tokens(name)
                if (other := self._owner.get(tokens, category)) not in (category, None):
                    problem = f"belongs to '{other}' and to '{category}'"
                    raise InputError(problem, file=path, record=f"word '{name}'", field="words")
                self._owner.setdefault(tokens, category)
        self._qualified = {
            word: frozenset(categories)
            for word, categories in _mapping(value, "qualifiers", path, {}).items()
        }
        self._longest = max(map(len, self._owner), default=1)

    def mentions(self, caption: str) -> list[tuple[str, str]]:
        """(phrase, category) for each object that a caption mentions, in order.

        Read from the left, the longest phrase first; a word within a phrase does not count by
        itself.
        """
        tokens = _tokens(caption)
        mentions: list[tuple[str, str]] = []
        i = 0
        while i < len(tokens):
            length = next(
                (
                    n
                    for n in range(min(self._longest, len(tokens) - i), 0, -1)
                    if tokens[i : i + n] in self._owner
                ),
                0,
            )
            category = self._owner.get(tokens[i : i + length]) if length else None
            after = i + max(length, 1)
            if category is not None and not self._qualifies(tokens, i, after):
                mentions.append((" ".join(tokens[i:after]), category))
            i = after
        return mentions

    def categories_of(self, labels: Collection[str], texts: Sequence[str] = ()) -> frozenset[str]:
        """The categories that labels of objects are or mention, and that texts mention."""
        mentioned = {c for text in (*labels, *texts) for _, c in self.mentions(text)}
        return frozenset(mentioned | (set(labels) & set(self.categories)))

    def _qualifies(self, tokens: Sequence[str], start: int, after: int) -> bool:
        """Whether the word at `start` only modifies the next one."""
        known = self._qualified.get(tokens[start]) if after == start + 1 else None
        if not known:
            return False
        ends = range(after + 1, min(after + self._longest, len(tokens)) + 1)
        return any(self._owner.get(tuple(tokens[after:end])) in known for end in ends)


def _tokens(text: str) -> tuple[str, ...]:
    """Runs of word characters, in lower case."""
    return tuple(_TOKEN.findall(text.lower()))


def _mapping(value: Any, field: str, path: Path, default: Any = None) -> dict[str, list[str]]:
    """A mapping of texts to lists of texts; InputError for anything else."""
    entry = value.get(field, default) if isinstance(value, dict) else None
    good = isinstance(entry, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in entry.values()
    )
    if not good:
        raise InputError("should map names to lists of words", file=path, field=field)
    return entry  # type: ignore[return-value]


TRUTH = OBJECTS, REFERENCES = "objects", "references"


class Chair(SummableMetric):
    """CHAIR-i and CHAIR-s, in [0, 1]; *lower is better*.

    CHAIR-i is the share of a caption's mentions of objects that are of no object of the image, 0
    where it mentions none; CHAIR-s is 1 where there is any such mention, else 0. An image has the
    objects that are annotated and those that its references mention. Over a corpus, CHAIR-i is
    the share of all mentions, and CHAIR-s that of the captions with any.

    A run has one truth for all images, and the column names it where it is not the paper's:
    "CHAIR-s" has annotated objects and references of every image, "CHAIR-s (references)" has
    references only. Where some images have no annotated objects, references are the truth of all.

    A caption without objects is never wrong: use CHAIR together with a metric of completeness.
    Not a number where nothing is known of the image.

    Parameters
    ----------
    ontology
        The file of categories and words (see above); `None`: COCO's 80, made from WordNet.
        Labels of objects that are neither a category nor a word of it do not count.
    truth
        What an image has: "objects", "references", or both where every image has annotated objects
        (and references otherwise).
    """

    name = "chair"
    languages = frozenset({"en"})
    columns: tuple[ScoreColumn, ...] = (
        ScoreColumn("CHAIR-s", higher_is_better=False, headline=False),
        ScoreColumn("CHAIR-i", higher_is_better=False),
    )
    statistics_names = ("captions with a wrong object", "captions", "wrong mentions", "mentions")

    def __init__(
        self, ontology: str | Path | None = None, truth: Sequence[str] = (OBJECTS, REFERENCES)
    ) -> None:
        self.ontology = COCO if ontology is None else user_path(ontology)
        self.truth = tuple(map(str, truth))
        if not self.truth or not set(self.truth) <= set(TRUTH):
            raise ConfigError(f"metric.chair.truth must be a list of {', '.join(TRUTH)}")
        self.needs = frozenset(self.truth)  # type: ignore[misc]
        self.columns = named_columns(self.truth)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ChairScorer | Absent:
        truth = self.truth_of(dataset)
        if isinstance(truth, Absent):
            return truth
        if not self.ontology.is_file():
            return Absent(
                "ontology", f"ontology {self.ontology} not found", "correct metric.chair.ontology"
            )
        ontology = Ontology(self.ontology)
        settings = {"ontology": ontology.identity, "truth": "+".join(sorted(truth)), "v": 1}
        return ChairScorer(self, settings, dataset, ontology, truth)

    def truth_of(self, dataset: CaptionDataset) -> tuple[str, ...] | Absent:
        """The truth of every image of a dataset: one for all of them."""
        if set(self.truth) != set(TRUTH):
            return self.missing_part(dataset) or self.truth
        objects = dataset.part(OBJECTS)
        complete = not isinstance(objects, Absent) and all(i in objects for i in dataset.image_ids)
        if any(dataset.references):
            return TRUTH if complete else (REFERENCES,)
        return (OBJECTS,) if complete else Absent(REFERENCES, "none of the images has a reference")

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        shares = statistics[:, [0, 2]] / np.maximum(statistics[:, [1, 3]], 1)
        shares[np.isnan(statistics).any(axis=1)] = np.nan
        return shares


def named_columns(truth: Sequence[str]) -> tuple[ScoreColumn, ...]:
    """The columns of CHAIR, with the truth in brackets where it is not the paper's."""
    if set(truth) == set(TRUTH):
        return Chair.columns
    return tuple(
        replace(column, name=f"{column.name} ({truth[0]})", variant_of=column.name)
        for column in Chair.columns
    )


class ChairScorer(SummableScorer):
    """CHAIR against the objects and references of a dataset."""

    metric: Chair
    batch_size = 50_000

    def __init__(
        self,
        metric: Chair,
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        words: Ontology,
        truth: Sequence[str],
    ) -> None:
        columns = named_columns(truth)
        if OBJECTS in truth and detected(dataset):
            columns = tuple(column.seeing_detections() for column in columns)
        super().__init__(metric, settings, dataset, columns)
        self.ontology, self.truth = words, tuple(truth)

    def context(self, index: int) -> bytes:
        parts = []
        if REFERENCES in self.truth:
            parts.append(reference_digests(self.dataset)[index].hex())
        if OBJECTS in self.truth:
            parts += sorted(self._labels(index))
        return content_digest(parts)

    def prepare(self) -> None:
        self.objects_of = cache(self._objects_of)

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        rows = np.full((len(captions), 4), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            truth = self.objects_of(image)
            if truth is None:
                continue
            mentions = self.ontology.mentions(caption)
            wrong = sum(category not in truth for _, category in mentions)
            rows[row] = wrong > 0, 1, wrong, len(mentions)
        return rows

    def explain(self, caption: str, image_index: int) -> Mapping[str, object] | None:
        """Which objects the caption mentions, and which of them the image has."""
        truth = self.objects_of(image_index)
        if truth is None:
            return None
        mentions = self.ontology.mentions(caption)
        scores = self.score([caption], np.array([image_index]))[0].tolist()
        return {
            "kind": "objects",
            "candidate": [
                {"words": phrase, "object": category, "matched": category in truth}
                for phrase, category in mentions
            ],
            "image": sorted(truth),
            "values": {c.name: score for c, score in zip(self.columns, scores, strict=True)},
        }

    def _objects_of(self, image: int) -> frozenset[str] | None:
        """The categories that an image has; `None` where nothing is known of it."""
        references = self.dataset.references[image] if REFERENCES in self.truth else ()
        labels = self._labels(image)
        return self.ontology.categories_of(labels, references) if references or labels else None

    def _labels(self, image: int) -> set[str]:
        """The distinct labels of an image's annotated objects."""
        if OBJECTS not in self.truth:
            return set()
        annotated: Any = self.dataset.part("objects")
        objects = annotated.get(self.dataset.image_ids[image])
        return set() if objects is None else set(objects.labels)


class GoldLabels(Metric):
    """F1 and recall of the categories that a caption names, against those of the image's objects.

    A control for metrics that read gold objects: it reads the labels alone, no place and no
    reference. Categories count once, and are recognised as in CHAIR. In [0, 1]; 0 for a caption
    that names none; not a number where the image has no object of the ontology.

    Parameters
    ----------
    ontology
        The file of categories and words (see above); `None`: COCO's 80.
    noise
        What is made worse of the objects: the options of `BoxNoise`.
    """

    name = "gold_labels"
    needs = frozenset({"objects"})
    languages = frozenset({"en"})

    def __init__(
        self,
        ontology: str | Path | None = None,
        noise: Annotated[Mapping[str, Any], OptionsOf("metaeval.vision.regions.gold.BoxNoise")]
        | None = None,
        control: bool = True,
    ) -> None:
        self.ontology = COCO if ontology is None else user_path(ontology)
        self.noise = BoxNoise.of(noise)
        self.control = control

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        sees = ", ".join(filter(None, ("gold objects", self.noise.title)))
        behind = f" ({self.noise.title})" if self.noise.title else ""
        return tuple(
            ScoreColumn(f"{name}{behind}", control=self.control, sees=sees)
            for name in ("Gold label F1", "Gold label recall")
        )

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> GoldLabelsScorer | Absent:
        if not self.ontology.is_file():
            return Absent("ontology", f"there is no ontology at {self.ontology}", "give its file")
        return self.missing_part(dataset) or GoldLabelsScorer(self, dataset)


class GoldLabelsScorer(Scorer):
    """The categories of a dataset's objects, and those that captions name."""

    batch_size = 50_000

    def __init__(self, metric: GoldLabels, dataset: CaptionDataset) -> None:
        self._words = Ontology(metric.ontology)
        settings = {"ontology": self._words.identity, "src": f"gold{metric.noise.identity}", "v": 1}
        super().__init__(metric.columns, settings)
        objects: Any = dataset.part("objects")
        self._gold: list[frozenset[str]] = []
        for image_id in dataset.image_ids:
            given = objects.get(image_id)
            labels = () if given is None else metric.noise.apply(given, image_id).labels
            self._gold.append(self._words.categories_of(set(labels)))

    def context(self, index: int) -> bytes:
        return content_digest(sorted(self._gold[index]))

    def score_caption(self, caption: str, image_index: int) -> float | tuple[float, float]:
        if not (gold := self._gold[image_index]):
            return np.nan
        named = {category for _, category in self._words.mentions(caption)}
        right = len(named & gold)
        return 2 * right / (len(named) + len(gold)), right / len(gold)
