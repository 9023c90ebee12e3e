"""The contract of a metric: options that can be bound to a dataset, and the scorer that results.

A `Metric` is its options: immutable, cheap to make, picklable. `bind` says what it is on a dataset:
a `Scorer`, or the `Absent` that keeps it from running there. The scorer knows its columns and their
signatures at once; it looks at references and images in `prepare`, and then scores any number of
captions. A signature holds whatever would change a number, so that a score can be cached under
(signature, item) for ever.

To add one, copy `ngram/bleu.py`, then name it in `conf/metric/`.

Metrics whose score comes from statistics that add up over captions: BLEU, SacreBLEU, METEOR.

Such a metric has two values for a system, and they are not the same number: the mean of the scores
of its sentences, and the score of its *corpus*, made of the sums of their statistics. Everything
else that has a mean only is the mean of sentences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, language_of
from metaeval.data.language import TOKENIZERS, UNSPACED
from metaeval.errors import MetaevalError
from metaeval.runs.environment import hidden
from metaeval.runs.records import GOLD_OBJECTS, ScoreColumn, TrainingFacts, seen_as
from metaeval.runs.source import UNSAVED, source_digest
from metaeval.runs.store import Store, content_digest

if TYPE_CHECKING:
    from metaeval.vision.regions.boxes import FileRegions

Scores = npt.NDArray[np.float64]

FOREIGN_BATCH = 64  # captions in a call of code that is not metaeval's
CUT = "captions cut to the model's length"  # in `Scorer.counted`
_PAIR = "\x1f"  # between a caption and its rival: no caption contains it


class NotScored(MetaevalError):
    """Raised by a scorer that must not score, e.g. in a dry run: its metric is skipped."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy


def detected(dataset: CaptionDataset) -> bool:
    """Return whether a detector found the dataset's objects: their file has scores."""
    return bool(getattr(dataset.part("objects"), "detected", False))


def join_pair(caption: str, rival: str) -> str:
    """Join a caption and the one that it is compared with into a text, for a pairwise metric."""
    return f"{caption}{_PAIR}{rival}"


def split_pair(text: str) -> tuple[str, str | None]:
    """Split a text of `join_pair` into the caption and its rival, `None` without a rival."""
    caption, mark, rival = text.partition(_PAIR)
    return caption, rival if mark else None


class Metric(ABC):
    """A family of scores computed together (BLEU-1 … BLEU-4 are one metric with four columns).

    Nothing of it changes after it was made: what depends on a dataset is the scorer's.

    Class attributes
    ----------------
    name
        The configuration's name: "bleu".
    needs
        What must be there of the dataset: "references", "images", "objects", "scene_graphs".
    languages
        The languages of the captions that it reads ("en"); `None`: any.
    runs_network
        Whether it runs a neural network on this machine, which a GPU makes faster.
    pairwise
        Whether it scores a caption against another one: its captions come as `join_pair` gives
        them, and it runs only in experiments that compare two captions.
    citation
        Keys of `citations.bib`: what a paper that uses it cites, from its configuration.
    from_environment
        The values of its options that the environment gives → as the configuration has them.
    boxes
        The file of boxes that takes the place of a dataset's objects; `None`: they are as they are.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    languages: frozenset[str] | None = None
    citation: tuple[str, ...] = ()
    from_environment: Mapping[str, str] = MappingProxyType({})
    runs_network: bool = False
    boxes: FileRegions | None = None

    @property
    def pairwise(self) -> bool:
        return False

    @property
    def reads_systems(self) -> bool:
        """Say whether a caption's score depends on the system that wrote it.

        Captions whose systems are known are then texts of `join_pair`, with the system in the
        rival's place.
        """
        return False

    @property
    @abstractmethod
    def columns(self) -> tuple[ScoreColumn, ...]:
        """Return the scores by the options alone, for a metric that cannot be bound.

        A scorer's may say more: which of several models serves on its dataset.
        """

    @abstractmethod
    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        """Bind the metric to a dataset, or return what is missing there, with the remedy.

        Cheap; changes nothing, computes no score, never touches the network, and does not raise
        for what is missing. `store` is where the scorer may keep intermediate results (parsed
        sentences, image embeddings); scores themselves are cached by `metaeval.scoring`.
        """

    def scorer(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        """Bind the metric, with the digest of code that is not metaeval's in its signatures.

        Call this to score captions; a metric implements `bind`.
        """
        if (absent := self.missing_language(dataset)) is not None:
            return absent
        if self.boxes is not None:
            dataset = self.boxes.objects_of(dataset)
        bound = self.bind(dataset, store)
        if not isinstance(bound, Absent):
            sees_objects = any(GOLD_OBJECTS in (column.sees or "") for column in bound.columns)
            if sees_objects and detected(dataset):
                bound.columns = tuple(column.seeing_detections() for column in bound.columns)
                boxes = self.boxes
                bound.settings["objects"] = boxes.objects_identity if boxes else "detected"
            for part in (self, bound):
                if (digest := source_digest(part)) is not None:
                    bound.add_source(digest)
            for key, value in bound.settings.items() if self.from_environment else ():
                bound.settings[key] = hidden(str(value), self.from_environment, digests=True)
        return bound

    def fetch(self, dataset: CaptionDataset) -> None:  # noqa: B027  (most have nothing to fetch)
        """Download what the user asked for (`download: true`) and this dataset needs, if anything.

        A run calls it before `bind`; `doctor` does not.
        """

    @property
    def reads(self) -> frozenset[str]:
        """Return what a score depends on besides the caption.

        "references", "image" (photographs, or the objects that people or a detector marked), both
        or neither.
        """
        image = {"image"} if self.needs & {"images", "objects", "scene_graphs"} else set()
        return frozenset(image | (self.needs & {"references"}))

    @property
    def needs_spaces(self) -> bool:
        """Return whether the tokenizer finds words by the spaces between them."""
        return bool(getattr(getattr(self, "tokenizer", None), "needs_spaces", False))

    def missing_language(self, dataset: CaptionDataset) -> Absent | None:
        """Return why the metric does not read the captions' language; `None` where it does."""
        if self.languages is None and not self.needs_spaces:
            return None
        language = language_of(dataset)
        if language is None:
            return None
        if self.languages is not None and language not in self.languages:
            known = ", ".join(sorted(self.languages))
            return Absent(
                "language",
                f"it reads captions in {known}, and these are in '{language}'",
                f"dataset.language={min(self.languages)} if that is wrong",
            )
        if self.needs_spaces and language in UNSPACED:
            return Absent(
                "language",
                f"its tokenizer splits at spaces, which captions in '{language}' do not have",
                f"metric.{self.name}.tokenizer={TOKENIZERS.get(language, 'char')} (or char)",
            )
        return None

    def missing_part(self, dataset: CaptionDataset) -> Absent | None:
        """Return the first of the metric's parts that is missing: the dataset's, its tokenizer."""
        for need in sorted(self.needs - {"references"}):
            part = dataset.part(need)
            if isinstance(part, Absent):
                return part
        if "references" in self.needs and not any(dataset.references):
            return Absent("references", "none of the images has a reference")
        tokenizer = getattr(self, "tokenizer", None)
        absent: Absent | None = tokenizer.missing() if tokenizer is not None else None
        return absent

    def __getstate__(self) -> dict[str, object]:
        """Without what is read on first use: another process reads it itself."""
        lazy = {
            k
            for kind in type(self).__mro__
            for k, v in vars(kind).items()
            if isinstance(v, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in lazy}


class Scorer(ABC):
    """A metric bound to a dataset.

    Attributes
    ----------
    columns
        What the scores are, in order.
    settings
        Whatever would change a number, as key → value, in the order of the signature.
    signatures
        The exact identity of each column: `bleu-4|tok:ptb-3.4.1|smooth:none|ref:closest|v:1`.
    batch_size
        The most captions per call of `score`. Slow metrics are called with fewer, so that a killed
        run loses at most about ten seconds of work.
    foreign
        Whether code that is not metaeval's computes the scores. Its calls have `batch_size`
        captions each (64 where its class does not say), however long they take, and a run checks
        whether scores depend on the captions of a call.
    batch_checked
        Whether that has been checked.
    usual_ms
        What a new caption usually takes on two cores, in milliseconds, and a reference of a
        `ReferenceScorer`; `None` where that is not known. The first batch and the first estimate of
        the remaining time are made with it.
    fixed_cost
        Whether a call takes about the same time for any number of captions: then it is always
        called with `batch_size` captions.
    saves_itself
        Whether it stores its results while it works: then it is called once with all captions.
    temporary
        After `score`: the rows [n] whose NaN has a cause that may pass, such as a timeout. They
        are not cached. `None` where there are none.
    runs_in_subprocess
        Whether another process does the work, so that other metrics may be computed meanwhile.
    explanation_version
        Raise it when the output of `explain` changes: explanations are cached under it and under
        the signatures.
    counted
        Facts about the captions besides their scores, as name → unit: "captions"
        and "words" are added up over the captions of a run, "images" counts the images that have
        any. {"captions cut to the model's length": "captions"}; see `tally`.
    training
        What its models have learned from; `None` where it has none, or nothing is known.
    cacheable
        Whether its scores may be kept under its signatures; false of code that is in no file.

    The order of calls is `prepare`, then `score` and `tally` or `explain` any number of times, then
    `close`. `context` may be called at any time: a run whose scores are all cached never prepares.
    """

    batch_size: int = 5000
    foreign: bool = False
    batch_checked: bool = False
    usual_ms: ClassVar[float | None] = 0.05
    fixed_cost: ClassVar[bool] = False
    saves_itself: ClassVar[bool] = False
    temporary: npt.NDArray[np.bool_] | None = None
    runs_in_subprocess: ClassVar[bool] = False
    explanation_version: ClassVar[int] = 1
    counted: Mapping[str, str] = MappingProxyType({})
    training: TrainingFacts | None = None
    cacheable: bool = True

    def __init__(self, columns: Iterable[ScoreColumn], settings: Mapping[str, Any]) -> None:
        self.columns, self.settings = tuple(columns), dict(settings)

    @property
    def signatures(self) -> tuple[str, ...]:
        settings = [f"{key}:{value}" for key, value in self.settings.items()]
        signatures = []
        for column in self.columns:
            parts = [(column.signature_name or column.name).lower(), *settings]
            if column.precision is not None:
                parts.append(f"prec:{column.precision:g}")
            signatures.append("|".join(parts))
        return tuple(signatures)

    def add_source(self, digest: str) -> None:
        """Put the digest of code that is not metaeval's into the settings, next to others."""
        kinds = type(self).__mro__
        below = kinds[: kinds.index(Scorer)]  # the classes that are more special than `Scorer`
        if not self.foreign and not any("batch_size" in vars(kind) for kind in below):
            self.batch_size = FOREIGN_BATCH
        self.foreign = True
        known = self.settings.get("source", "").split("+")
        self.settings["source"] = "+".join(dict.fromkeys(d for d in (*known, digest) if d))
        self.cacheable = self.cacheable and digest != UNSAVED

    @abstractmethod
    def context(self, index: int) -> bytes:
        """Return what a score depends on besides caption and signature, for this image."""

    def prepare(self) -> None:  # noqa: B027  (some need nothing)
        """Compute, once, all that depends on references and images but not on candidates."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """Score n captions, caption j against image `image_index[j]` of the dataset.

        Returns float64 [n, len(columns)]. NaN where a caption cannot be scored; never a silent 0.
        The score of a caption must not depend on the others in the call, except within the
        precision that its column declares. By default each is scored by `score_caption`.
        """
        scores = np.empty((len(captions), len(self.columns)))
        for row, (caption, i) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            scores[row] = self.score_caption(caption, i)
        return scores

    def score_caption(self, caption: str, image_index: int) -> float | Sequence[float]:
        """Score one caption: a number for each column, or one for all of them."""
        raise NotImplementedError

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        """Return what `counted` names, of the n captions just scored: [n, len(counted)].

        Called right after `score`, with the same arguments, and kept in the cache with the scores:
        so the counts of a run are as true for a score from the cache as for a new one. Like a
        score, a count depends on its own caption and image alone. In the column of something
        counted by image, any number but 0 says that the image has it.
        """
        return np.zeros((len(captions), len(self.counted)), dtype=np.int64)

    def why_unscored(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> tuple[str, str]:
        """Return why these captions have no score, and what to do about it; empty if unknown.

        Called with the captions of a run that have none, cached or not.
        """
        return "", ""

    @property
    def explains(self) -> bool:
        """Return whether the metric implements `explain` or `explain_all`."""
        kind = type(self)
        return (kind.explain, kind.explain_all) != (Scorer.explain, Scorer.explain_all)

    def explain(self, caption: str, image_index: int) -> Mapping[str, object] | None:
        """Explain this caption's score, for the report's drill-down; `None` if unknown.

        Called on a scorer of a few images only, so the explanation of one image must not depend on
        the others. JSON-serialisable, a "kind" and what belongs to it:

        - "transport" (VIFIDEL): which object went to which word; see `explain_transport`.
        - "grounding" (TIGEr): `regions` (r of {"label", "box": x1 y1 x2 y2 in [0, 1]}, and
          "cell": true for one of a grid, which is drawn beneath the others), and the
          grounding weights [r] of the `candidate` and, averaged, of the `references`.
        - "matches" (FAIEr): `regions`, `words` and their `matches` [words, r], `relations` and
          their `relation_matches` [relations, r], and `references`, each with its own `words` and
          `matches`.
        - "alignment" (BERTScore): the caption's tokens, `words`, with their `weights`, and
          `references`, each with its own `words`, `weights`, the `similarity` [caption's tokens,
          its own], `precision`, `recall` and `f1`; `best`: the place of the one that counts.
        - "tuples" (SPICE): what the `candidate` and the `references` say, each a list of
          {"tuple": one to three names, "matched"}.
        - "objects" (CHAIR): the `candidate`'s mentions, each {"words", "object", "matched"}, and
          the objects that the `image` has.

        `values`, in all except the first, is column → score.
        """
        if not self.explains:
            return None
        return self.explain_all([caption], np.array([image_index]))[0]

    def explain_all(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> list[Mapping[str, object] | None]:
        """Explain n captions, bit for bit as `explain` does."""
        return [
            self.explain(caption, i)
            for caption, i in zip(captions, image_index.tolist(), strict=True)
        ]

    def close(self) -> None:  # noqa: B027  (most scorers hold nothing)
        """Release processes and memory. Called once, also after a failure."""


class ReferenceScorer(Scorer):
    """A scorer of captions against the references of their images alone.

    Its columns are the metric's own, unless it is given others.
    """

    metric: Metric

    def __init__(
        self,
        metric: Metric,
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        columns: Iterable[ScoreColumn] | None = None,
    ) -> None:
        super().__init__(metric.columns if columns is None else columns, settings)
        self.metric, self.dataset = metric, dataset

    def context(self, index: int) -> bytes:
        return reference_digests(self.dataset)[index]


def round_scores(columns: Sequence[ScoreColumn], scores: Scores) -> Scores:
    """Round scores [n, len(columns)] to the precision that each column declares.

    Two scores at the same place of the grid are the same float64. A column without a precision
    stays as it is. Rounding cannot make kernels agree on a score that lies halfway between two
    places: it may come out one step apart.

    >>> column = ScoreColumn("BERTScore", precision=1e-5)
    >>> round_scores([column], np.array([[0.1234567], [0.1234568]]))[:, 0].tolist()
    [0.12346, 0.12346]
    """
    rounded = scores.copy()
    for k, column in enumerate(columns):
        if column.precision is not None:
            steps = round(1 / column.precision)  # dividing by a whole number gives short decimals
            rounded[:, k] = np.rint(scores[:, k] * steps) / steps + 0.0  # + 0.0: never -0.0
    return rounded


def best_of_groups(values: Scores, counts: npt.NDArray[np.intp]) -> Scores:
    """Return the highest value of each group [n], group after group; NaN for one without any."""
    best, some = np.full(len(counts), np.nan), counts > 0
    if some.any():
        best[some] = np.maximum.reduceat(values, (np.cumsum(counts) - counts)[some])
    return best


def reference_digests(dataset: CaptionDataset) -> list[bytes]:
    """Return 16 bytes per image that identify its references, for `Scorer.context`."""
    return dataset.derive(
        "digests of references", lambda: [content_digest(texts) for texts in dataset.references]
    )


Statistics = npt.NDArray[np.float64]


class SummableMetric(Metric):
    """A metric that can return the sufficient statistics of a caption's score."""

    @property
    @abstractmethod
    def statistics_names(self) -> tuple[str, ...]:
        """Return the names of the k statistics, in order."""

    @abstractmethod
    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """Compute scores [n, len(columns)] from n rows of statistics.

        A row is a caption's own statistics (then this is what `score` gives, to the last bit), or
        with `corpus` the sum over the captions of a system. A row with NaN scores NaN.
        """

    def signature(self, column: ScoreColumn, settings: str) -> str:
        """Return the signature of a column, with settings as "key:value|key:value"."""
        return f"{(column.signature_name or column.name).lower()}|{settings}"

    @abstractmethod
    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> SummableScorer | Absent: ...


class SummableScorer(ReferenceScorer):
    """A scorer that makes its scores of statistics."""

    metric: SummableMetric

    @property
    def signatures(self) -> tuple[str, ...]:
        settings = "|".join(f"{key}:{value}" for key, value in self.settings.items())
        return tuple(self.metric.signature(column, settings) for column in self.columns)

    @abstractmethod
    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        """Compute integers [n, k] for n captions, as `score` is called; NaN without a score."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        return self.metric.of_statistics(self.statistics(captions, image_index))


class StatisticsAdapter(Metric):
    """A metric's statistics instead of its scores, for `scoring.score_captions` and its cache."""

    def __init__(self, metric: SummableMetric) -> None:
        self.metric = metric
        self.name = metric.name  # type: ignore[misc]
        self.citation = metric.citation

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        names = self.metric.statistics_names
        return tuple(
            ScoreColumn(f"{self.metric.name} {name}", bounds=(0.0, float("inf"))) for name in names
        )

    def fetch(self, dataset: CaptionDataset) -> None:
        self.metric.fetch(dataset)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        scorer = self.metric.scorer(dataset, store)
        if isinstance(scorer, Absent):
            return scorer
        columns = seen_as(self.columns, scorer.columns)
        return _StatisticsScorer(columns, scorer.settings, scorer)


class WrappedScorer(Scorer):
    """A scorer of what another scorer, `inner`, gives."""

    def __init__(
        self, columns: Iterable[ScoreColumn], settings: Mapping[str, object], inner: Scorer
    ) -> None:
        super().__init__(columns, settings)
        self.batch_size, self.foreign, self.inner = inner.batch_size, inner.foreign, inner

    def context(self, index: int) -> bytes:
        return self.inner.context(index)

    def prepare(self) -> None:
        self.inner.prepare()

    def close(self) -> None:
        self.inner.close()


class _StatisticsScorer(WrappedScorer):
    """Hands out what a scorer's scores are made of; its identity is that of the scores."""

    inner: SummableScorer

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        return self.inner.statistics(captions, image_index)
