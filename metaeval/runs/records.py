"""The records that the stages of a run hand to one another: what a file's row or entry *means*.

A metric declares its `ScoreColumn`s; an experiment makes `Version`s of captions; the next stages
read their fields. Nothing depends on the spelling of a name, by a bracket or by a part of a
signature.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema


def _unbounded(value: Any) -> Any:
    """Null, by which JSON writes an infinite bound, as infinity on that side."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return value
    low, high = value
    return (-math.inf if low is None else low, math.inf if high is None else high)


_BOUND = {"type": ["number", "null"]}
Bounds = Annotated[
    tuple[float, float],
    BeforeValidator(_unbounded),
    WithJsonSchema({"type": "array", "prefixItems": [_BOUND] * 2, "minItems": 2, "maxItems": 2}),
]


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One score of a metric, and how to read it.

    Attributes
    ----------
    name
        What tables call it: "SPICE-object".
    part_of
        The column of the same metric that this one is a component of ("SPICE"), or `None`.
    bounds
        The lowest and the highest possible score, infinite where there is none.
    higher_is_better
        Whether a better caption has the higher score.
    headline
        Whether it stands for its metric where rankings or votes of metrics are counted. Of
        BLEU-1 … BLEU-4 the highest order does.
    variant_of
        The published metric that this one is with another model or another setting ("BERTScore" of
        "BERTScore (MiniLM)"), or `None` where it is the published metric or has none.
    model
        The model in brackets, where it is not the paper's ("MiniLM"), or `None`.
    untrained
        The network's weights are random: its score is not a result.
    learned_from_corruptions
        The weights were trained on corrupted captions, so that corruptions do not test it.
    control
        It is not a metric but what metrics must beat: length, chance, a language model. Never
        ranked.
    precision
        The step of the grid that scores are rounded to before they are stored or used; `None`
        where the arithmetic is exact on every machine. A network's float32 sums depend on the
        processor, the number of threads and the batch; its scores hold to this step only.
    sees
        What it reads of the image in place of pixels, as the name says in brackets: "gold objects"
        (annotated by people), "detected objects", "bottom-up features"; `None` where it reads
        pixels, or nothing of the image.
    batch_dependent
        A run found that its scores depend on the captions scored with it.
    signature_name
        What signatures call it, `None` if as tables do. A column that is renamed while its scores
        stay keeps its signature by it, and with that its cached scores.
    """

    name: str
    part_of: str | None = None
    bounds: Bounds = (0.0, 1.0)
    higher_is_better: bool = True
    headline: bool = True
    variant_of: str | None = None
    model: str | None = None
    untrained: bool = False
    learned_from_corruptions: bool = False
    control: bool = False
    precision: float | None = None
    sees: str | None = None
    batch_dependent: bool = False
    signature_name: str | None = None

    @property
    def is_ranked(self) -> bool:
        """Whether it takes part in comparisons: no part, no untrained weights, no control."""
        return self.part_of is None and not self.untrained and not self.control

    @property
    def is_control(self) -> bool:
        """Whether metrics are compared with it: a control, and no part of one."""
        return self.part_of is None and self.control

    @property
    def remarks(self) -> str:
        """What a reader must know wherever the column is named; empty for most."""
        facts = {BATCH_DEPENDENT: self.batch_dependent, LOWER: not self.higher_is_better}
        return "; ".join(text for text, holds in facts.items() if holds)

    def seeing_detections(self) -> ScoreColumn:
        """The column with a detector's objects in the place of the annotated ones."""

        def renamed(text: str | None) -> str | None:
            return text and text.replace(GOLD_OBJECTS, DETECTED_OBJECTS)

        name = str(renamed(self.name))
        if name == self.name:
            name = with_notes(name, DETECTED_OBJECTS)
        return replace(self, name=name, part_of=renamed(self.part_of), sees=renamed(self.sees))


BATCH_DEPENDENT = "depends on the captions scored with it"
LOWER = "a lower score is better"

GOLD_OBJECTS, DETECTED_OBJECTS = "gold objects", "detected objects"  # values of `sees`
BOTTOM_UP_FEATURES = "bottom-up features"


def seen_as(columns: Sequence[ScoreColumn], like: Iterable[ScoreColumn]) -> tuple[ScoreColumn, ...]:
    """Columns of the same metric as `like`, with detected objects where these have some."""
    if any(DETECTED_OBJECTS in column.name for column in like):
        return tuple(column.seeing_detections() for column in columns)
    return tuple(columns)


def with_notes(name: str, *notes: str | None) -> str:
    """A column's name with what is unusual about it in brackets.

    >>> with_notes("FAIEr", "gold objects", None, "no references"), with_notes("AIEr")
    ('FAIEr (gold objects, no references)', 'AIEr')
    """
    all_notes = ", ".join(note for note in notes if note)
    return f"{name} ({all_notes})" if all_notes else name


NETWORK_PRECISION = 1e-5  # of a score from a float32 network: 30 times what its kernels differ by

# What is wrong with a corrupted caption. A corruption of a run and one that a training drew are
# compared by it.
WRONG_WORDS, WRONG_PLACES = "wrong words", "words at wrong places"
MISSING_WORDS, OTHER_CAPTION = "missing words", "another image's caption"


@dataclass(frozen=True, slots=True)
class CaptionModel:
    """A model of others that was trained on captions of benchmark images: pairs by data set."""

    model: str
    pairs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DrawnCorruption:
    """Corrupted captions that a training drew.

    `corruption` is the one of `corruptions/` that makes such captions, `flaw` what is wrong with
    them, `rates` the least and the greatest share of words, `None` without a rate.
    """

    corruption: str
    flaw: str
    rates: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """What the models behind a metric have learned from, as far as it bears on a run's findings.

    Attributes
    ----------
    caption_models
        Models that the metric is built on or started from, trained on benchmark captions.
    chosen_on
        The experiments by whose ρ, on images held out, the recipe of the training was chosen.
    drawn
        The corrupted captions that the training drew.
    versions
        Version of a run → whether the training drew captions like it; `None` before a run says it.
    own
        The metric's own training in one line, by the card of its weights.
    """

    caption_models: tuple[CaptionModel, ...] = ()
    chosen_on: tuple[str, ...] = ()
    drawn: tuple[DrawnCorruption, ...] = ()
    versions: Mapping[str, str] | None = None
    own: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something that a metric counts occurred: `n`, of `of` where the unit has a total.

    `unit` is "captions", "images" or "words", as in `Scorer.counted`.
    """

    what: str
    unit: str
    n: int
    of: int | None

    def __str__(self) -> str:
        if self.of is None:
            return f"{self.n:,} {self.what}"
        return f"{self.n:,} of {self.of:,} {self.what} ({self.n / max(1, self.of):.1%})"


class PaperValue(NamedTuple):
    """A published value, and whether it is of the same model as ours."""

    value: float
    same_model: bool


def paper_value(
    published: Mapping[str, float], metric: str, variant_of: str | None
) -> PaperValue | None:
    """What was published for a column, or for the metric of which it is a variant.

    What is true of one model need not be of another, so no one may call a variant's distance from
    the published value agreement or disagreement. `None` if nothing was published.
    """
    if metric in published:
        return PaperValue(published[metric], True)
    if variant_of in published:
        return PaperValue(published[str(variant_of)], False)
    return None


class Edit(NamedTuple):
    """One changed word: its position among the white-space tokens of the source, before and after.

    `before` is empty for an insertion, `after` for a deletion. Both are whole tokens, with the
    punctuation attached to them: (3, "field.", "dog.").
    """

    position: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one caption: a row of `captions.parquet`.

    Attributes
    ----------
    set, level
        The name of the set of versions ("Replace 25%") and its place in the right order, 0 = worst.
    caption, source_caption
        The text, and the human caption it was made from.
    applied
        False where nothing could be changed.
    expected
        What it should do to a score, against the source: "lower", "same", or "none" (nothing is
        known: another system's caption, the source itself).
    severity
        How bad the version is: "none", "mild", "major" or "critical" (docs/corruptions.md); `None`
        of sets that do not declare it.
    effect, harm
        Of corruptions that know the truth: "contradiction", "hallucination" or "omission", and the
        share of the caption's statements that became false or were lost, in [0, 1].
    requested_rate, realised_rate
        The share of words that was to be changed and that was, in [0, 1].
    edits
        The changed words.
    """

    set: str
    level: int
    caption: str
    source_caption: str
    applied: bool = True
    expected: str = "none"
    severity: str | None = None
    effect: str | None = None
    harm: float | None = None
    requested_rate: float | None = None
    realised_rate: float | None = None
    edits: tuple[Edit, ...] = ()

    def as_row(self) -> tuple[Any, ...]:
        """The values of all columns but the first, `image_id`, in the order of the file's."""
        return _ROW(self)


_ROW = attrgetter(*Version.__slots__)


# The names of the columns of a run's tables, declared once.
#
# `metaeval.runs.files` gives their types and says which table has which column.

IMAGE_ID = "image_id"
SET = "set"
LEVEL = "level"
CAPTION = "caption"
SOURCE_CAPTION = "source_caption"
APPLIED = "applied"
EXPECTED = "expected"
SEVERITY = "severity"
EFFECT = "effect"
HARM = "harm"
REQUESTED_RATE = "requested_rate"
REALISED_RATE = "realised_rate"
EDITS = "edits"
REFERENCES = "references"
IMAGE_PATH = "image_path"
METRIC = "metric"
SCORE = "score"
SEED = "seed"
# of captions that are judged in pairs: the other caption of the pair; in no file
RIVAL = "rival"
# what wrote a caption; in no file
SYSTEM = "system"
# the position in the dataset of what a caption is compared with, where its image alone does not say
# it (an image may have several sets of references); in no file
ITEM = "item"

HUMAN = "Human"  # the set of people's captions, and what a system is called that is people
