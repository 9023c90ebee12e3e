"""Run one metric over captions, through the score cache, and never let it end the run."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os.path import commonprefix

import numpy as np
import numpy.typing as npt

from metaeval import progress
from metaeval.compute.device import return_free_memory
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import (
    Metric,
    NotScored,
    ReferenceScorer,
    Scorer,
    Scores,
    SummableMetric,
    join_pair,
    round_scores,
)
from metaeval.results.base import Measured, MetricResult, Status
from metaeval.runs.files import digest
from metaeval.runs.records import (
    BATCH_DEPENDENT,
    NETWORK_PRECISION,
    ScoreColumn,
    Tally,
    TrainingFacts,
    seen_as,
)
from metaeval.runs.store import CacheError, Store, item_key

log = logging.getLogger(__name__)

_UNKNOWN_MS = 1.0  # a caption, by a metric that does not declare its speed
CLOSE = 2 * NETWORK_PRECISION  # equal scores: what networks differ by, and a step of their grid
_DEPENDENT = "metrics that depend on their batch"  # where the cache keeps them
_CHECKED = 4  # captions of which a run looks whether they score the same in other company
# the controls that runs compute themselves, next to the metrics: experiments/fitted.py, ceiling.py
FITTED, CEILING = ("Fitted text", "Fitted references", "Fitted image"), "Ceiling"
RUN_COLUMNS = (*FITTED, CEILING)
GREATEST = 1e150  # of scores of which statistics are computed: their squares are representable
ROUNDING = 1e-5  # how far a score may be outside its bounds: what single precision may add up to


@dataclass(frozen=True, slots=True)
class MetricScores:
    """Outcome of scoring one metric.

    Attributes
    ----------
    family
        The metric's name.
    citation
        Keys of what to cite.
    columns, signatures
        Its scores, and the exact identity of each (`None` where it could not be bound).
    status, reason, remedy
        "ok", "skipped" (something it needs is not there) or "failed" (it broke); why, and what
        would help.
    on_request
        Whether it was skipped as the user asked for no scores (a dry run).
    training
        What its models have learned from.
    scorer
        The bound metric, before its captions are scored; `None` afterwards, or where it could not
        be bound.
    scores
        float64 [n, len(columns)], `None` unless ok.
    unscored
        Why captions have no score, and what to do about it, where the metric says it.
    explains
        Whether its scores can be explained.
    counts
        What the metric counts of this run's captions and images, cached ones included.
    key
        What identifies the scored items and all else that their scores depend on, next to the
        signatures; `None` where some score may be another one the next time.
    n_scored, n_cached
        Distinct items that were computed now, and that came from the cache.
    n_damaged
        Of those computed now, the ones that the cache held damaged.
    """

    family: str
    columns: tuple[ScoreColumn, ...]
    signatures: tuple[str | None, ...]
    status: Status
    reason: str | None = None
    remedy: str | None = None
    on_request: bool = False
    training: TrainingFacts | None = None
    scorer: Scorer | None = None
    scores: Scores | None = None
    unscored: tuple[str, str] = ("", "")
    explains: bool = False
    counts: tuple[Tally, ...] = ()
    key: bytes | None = None
    n_scored: int = 0
    n_cached: int = 0
    n_damaged: int = 0
    seconds: float = 0.0
    citation: tuple[str, ...] = ()

    @property
    def note(self) -> str | None:
        """What a reader of its scores must know, found while they were computed."""
        return BATCH_DEPENDENT if any(c.batch_dependent for c in self.columns) else None

    def result(
        self,
        column: int,
        statistics: Measured | None,
        versions: Mapping[str, str] | None = None,
    ) -> MetricResult:
        """The result of one of its columns, with the statistics of the experiment.

        `versions` is the field of `TrainingFacts` that depends on the run.
        """
        return MetricResult(
            column=self.columns[column],
            family=self.family,
            citation=self.citation,
            signature=self.signatures[column],
            status=self.status,
            reason=self.reason,
            remedy=self.remedy,
            on_request=self.on_request,
            counts=self.counts,
            training=self.training and replace(self.training, versions=versions),
            statistics=statistics,
        )


def bind(
    metric: Metric, dataset: CaptionDataset, store: Store, *, fetch: bool = False
) -> MetricScores:
    """The metric on this dataset before any score: "ok" with its scorer, "skipped" or "failed".

    `doctor` and a run both call this, so that they report the same. With `fetch`, downloads that
    the user asked for come first. Any exception becomes "failed" with its message.
    """
    return replace(_bound(metric, dataset, store, fetch), citation=metric.citation)


def signatures_of(
    metrics: Iterable[Metric], dataset: CaptionDataset, store: Store
) -> dict[str, str | None]:
    """Column → the exact identity of its scores on a dataset; `None` where a metric cannot run."""
    known: dict[str, str | None] = {}
    for metric in metrics:
        bound = bind(metric, dataset, store)
        if bound.scorer is not None:
            bound.scorer.close()
        known |= {c.name: s for c, s in zip(bound.columns, bound.signatures, strict=True)}
    return known


def _bound(metric: Metric, dataset: CaptionDataset, store: Store, fetch: bool) -> MetricScores:
    try:
        if fetch:
            metric.fetch(dataset)
        scorer = metric.scorer(dataset, store)
        if isinstance(scorer, Absent):
            nothing = (None,) * len(metric.columns)
            remedy = scorer.remedy or None
            return MetricScores(
                metric.name, metric.columns, nothing, "skipped", scorer.reason, remedy
            )
        if scorer.foreign and store.get_many(_DEPENDENT, [_verdict_key(scorer)]):
            mark_batch_dependent(scorer)
        return MetricScores(
            metric.name,
            scorer.columns,
            scorer.signatures,
            "ok",
            training=scorer.training,
            scorer=scorer,
            explains=scorer.explains,
        )
    except CacheError:
        raise
    except Exception as error:
        return failed_with(
            MetricScores(metric.name, metric.columns, (None,) * len(metric.columns), "failed"),
            error,
        )


@dataclass(frozen=True, slots=True)
class SystemScores:
    """One metric over the captions of systems.

    `scored` is what `score_captions` says of its sentences. Where statistics add up to corpus
    scores, `statistics` [n, k] are those of the sentences, and `corpus` makes corpus scores
    [r, columns] of sums [r, k]; else `None`.
    """

    scored: MetricScores
    statistics: Scores | None = None
    corpus: Callable[[Scores], Scores] | None = None

    def corpus_score(self) -> npt.NDArray[np.float64]:
        """[columns] The score of all captions together: of their sums, or the mean of those that
        are numbers (NaN where none is)."""
        if self.corpus is not None and self.statistics is not None:
            sums = self.statistics[~np.isnan(self.statistics).any(axis=1)].sum(axis=0)
            return self.corpus(sums[None])[0]
        scores = self.scored.scores
        if scores is None:
            return np.full(len(self.scored.columns), np.nan)
        counts = np.sum(~np.isnan(scores), axis=0)
        return np.where(counts, np.nansum(scores, axis=0) / np.maximum(counts, 1), np.nan)


def system_scores(metric: Metric, scored: MetricScores) -> SystemScores:
    """A metric's scores, where need be made of the statistics that were scored in their place."""
    if not isinstance(metric, SummableMetric):
        return SystemScores(scored)
    dependent = any(column.batch_dependent for column in scored.columns)
    plain = [replace(column, batch_dependent=dependent) for column in metric.columns]
    columns = seen_as(plain, scored.columns)
    if scored.scores is None:
        return SystemScores(replace(scored, columns=columns, signatures=(None,) * len(columns)))
    # the statistics' signatures are those of the scores, except for the column's name
    settings = str(scored.signatures[0]).partition("|")[2]
    sentences = replace(
        scored,
        columns=columns,
        signatures=tuple(metric.signature(column, settings) for column in columns),
        scores=metric.of_statistics(scored.scores),
    )
    return SystemScores(sentences, scored.scores, partial(metric.of_statistics, corpus=True))


@dataclass(slots=True)
class Lookup:
    """One metric over a run's captions: what the cache contains, and what is still to be computed.

    Attributes
    ----------
    bound
        The metric; not "ok" where it was skipped or broke.
    dataset
        What it is bound to.
    items
        The distinct (caption, image) items.
    inverse
        [n] The item of each caption.
    whole
        The key of all items together, in their order; `None` where nothing may be kept.
    keys
        Each item's key in the cache; empty where all items together are known.
    table
        float64 [items, columns + counted]: what is known, NaN elsewhere.
    todo
        The items that are not known.
    n_damaged
        How many of these the cache holds damaged.
    """

    bound: MetricScores
    dataset: CaptionDataset
    items: list[tuple[str, int]] = field(default_factory=list)
    inverse: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    whole: bytes | None = None
    keys: list[bytes] = field(default_factory=list)
    table: Scores = field(default_factory=lambda: np.empty((0, 0)))
    todo: list[int] = field(default_factory=list)
    n_damaged: int = 0

    @property
    def title(self) -> str:
        """What a reader calls the metric: what the names of its columns have in common."""
        names = [column.name for column in self.bound.columns]
        return commonprefix(names).rstrip("- (") or self.bound.family  # noqa: RUF071

    @property
    def runs_in_subprocess(self) -> bool:
        """Whether there is something to do that leaves this process free for others."""
        scorer = self.bound.scorer
        return bool(self.todo) and scorer is not None and scorer.runs_in_subprocess

    @property
    def usual_seconds(self) -> float:
        """How long what is to be done usually takes on two cores."""
        scorer, texts = self.bound.scorer, len(self.todo)
        each = 0.0 if scorer is None else scorer.usual_ms or _UNKNOWN_MS
        if texts and isinstance(scorer, ReferenceScorer):  # which reads all references first
            texts += sum(map(len, self.dataset.references))
        return texts * each / 1000


def score_captions(
    metric: Metric,
    dataset: CaptionDataset,
    captions: Sequence[str],
    image_index: npt.NDArray[np.intp],
    store: Store,
    batch_size: int | None = None,
    rivals: Sequence[str] | None = None,
) -> MetricScores:
    """Score n captions, caption j against image `image_index[j]`, computing only what is new.

    Distinct (image, caption) items are scored once, in batches of at most `batch_size` (by default
    the scorer's); each batch is in the cache before the next begins. A pairwise metric compares
    each caption with one of `rivals`. Any exception of the metric becomes a "failed" result with
    its message.
    """
    known = look_up(metric, dataset, captions, image_index, store, rivals=rivals)
    return complete(known, image_index, store, batch_size)


def look_up(
    metric: Metric,
    dataset: CaptionDataset,
    captions: Sequence[str],
    image_index: npt.NDArray[np.intp],
    store: Store,
    items: DistinctItems | None = None,
    rivals: Sequence[str] | None = None,
    systems: Sequence[str | None] | None = None,
) -> Lookup:
    """Bind a metric and read from the cache what is known of its scores; `complete` does the rest.

    Arguments as for `score_captions`; `items` are the `distinct` ones of the captions, for callers
    that score several metrics. `rivals` are the captions that a pairwise metric compares them with,
    `systems` what wrote them.
    """
    started = time.perf_counter()
    if metric.pairwise:
        if rivals is None:
            skipped = MetricScores(
                metric.name,
                metric.columns,
                (None,) * len(metric.columns),
                "skipped",
                "it compares two captions, and this experiment scores single ones",
                "use experiment=pairs, or experiment=forced_choice",
            )
            return Lookup(skipped, dataset)
        captions, items = [join_pair(c, r) for c, r in zip(captions, rivals, strict=True)], None
    elif systems is not None and metric.reads_systems:
        captions = [join_pair(c, s or "") for c, s in zip(captions, systems, strict=True)]
        items = None
    lookup = Lookup(bind(metric, dataset, store, fetch=True), dataset)
    if (scorer := lookup.bound.scorer) is not None:
        try:
            items = items or distinct(captions, image_index)
            lookup.items, lookup.inverse = items.items, items.inverse
            _read_cache(lookup, scorer, items, image_index, store)
        except CacheError:  # no fault of the metric, and the next would meet it too
            scorer.close()
            raise
        except Exception as error:
            scorer.close()
            lookup = Lookup(replace(failed_with(lookup.bound, error), scorer=None), dataset)
    lookup.bound = replace(lookup.bound, seconds=time.perf_counter() - started)
    return lookup


def complete(
    lookup: Lookup,
    image_index: npt.NDArray[np.intp],
    store: Store,
    batch_size: int | None = None,
) -> MetricScores:
    """Compute what a lookup has found unknown, and close the scorer."""
    started, bound = time.perf_counter(), lookup.bound
    if (scorer := bound.scorer) is not None:
        return_free_memory()  # of the metric before this one
        try:
            bound = _compute(lookup, scorer, image_index, store, batch_size)
        except CacheError:
            raise
        except Exception as error:
            bound = failed_with(bound, error)
        finally:
            scorer.close()
            lookup.bound = replace(lookup.bound, scorer=None)  # its memory is free for the next one
    seconds = bound.seconds + time.perf_counter() - started
    return replace(bound, scorer=None, seconds=seconds)


def failed_with(bound: MetricScores, error: Exception) -> MetricScores:
    """The same metric with the status, reason and remedy of an error that it raised."""
    if isinstance(error, NotScored):
        remedy = error.remedy or None
        return replace(bound, status="skipped", reason=str(error), remedy=remedy, on_request=True)
    log.info("%s failed", bound.family, exc_info=error)  # a run's metaeval.log has the traceback
    message = str(error).strip().splitlines()
    reason = message[0] if message else "no message"
    remedy = getattr(error, "remedy", None) or None
    if remedy is None:
        reason = f"{type(error).__name__}: {reason}"
    return replace(bound, status="failed", reason=reason, remedy=remedy)


def _read_cache(
    lookup: Lookup,
    scorer: Scorer,
    items: DistinctItems,
    image_index: npt.NDArray[np.intp],
    store: Store,
) -> None:
    """Fill in a lookup: the rows of the items that the cache knows.

    A run's scores are also stored together: read again, 50,000 rows take .05 s
    rather than .3.
    """
    contexts = {int(i): scorer.context(int(i)) for i in np.unique(image_index)}
    shape = len(lookup.items), len(scorer.columns) + len(scorer.counted)
    unknown = np.full(shape[1], np.nan).tobytes()
    known: dict[bytes, bytes] = {}
    whole = digest(items.key + b"".join(map(digest, contexts.values())))
    if scorer.cacheable:
        lookup.whole = whole
        table = store.get_many(_namespace(scorer), [lookup.whole]).get(lookup.whole)
        if table and len(table) == shape[0] * len(unknown):
            lookup.table = np.frombuffer(bytearray(table)).reshape(shape)
            return
    # most metrics read the references alone, so that their keys are the same
    lookup.keys = items.keys.get(whole) or [item_key(contexts[i], c) for c, i in lookup.items]
    items.keys[whole] = lookup.keys
    damaged_before = store.damaged
    if scorer.cacheable:
        known = store.get_many(_namespace(scorer), lookup.keys)
    lookup.n_damaged = store.damaged - damaged_before
    values = [
        value if len(value := known.get(key, b"")) == len(unknown) else None for key in lookup.keys
    ]
    lookup.todo = [row for row, value in enumerate(values) if value is None]
    content = bytearray().join(unknown if value is None else value for value in values)
    lookup.table = np.frombuffer(content).reshape(shape)


def _compute(
    lookup: Lookup,
    scorer: Scorer,
    image_index: npt.NDArray[np.intp],
    store: Store,
    batch_size: int | None,
) -> MetricScores:
    """The scores of all captions, those from the cache and those computed now."""
    table, todo, inverse = lookup.table, lookup.todo, lookup.inverse
    unsure = False  # whether some NaN has a cause that may pass
    if todo:
        scorer.prepare()
        most, namespace = batch_size or scorer.batch_size, _namespace(scorer)
        if most < 1:
            raise ValueError(f"{most} captions at a time cannot be scored")
        if scorer.foreign and batch_size:  # whole calls
            most = max(1, batch_size // scorer.batch_size) * scorer.batch_size
        pace, start, line = Pace(scorer, most), 0, progress.current()
        with progress.progress_bar(
            total=len(todo), desc=lookup.bound.family, unit=" captions"
        ) as bar:
            while start < len(todo):
                rows = todo[start : start + pace.size]
                texts = [lookup.items[row][0] for row in rows]
                images = np.array([lookup.items[row][1] for row in rows], dtype=np.intp)
                started = time.perf_counter()
                table[rows] = checked_scores(scorer, texts, images)
                pace.update(len(rows), time.perf_counter() - started)
                if scorer.cacheable:
                    again = scorer.temporary  # those that the next run is to score again
                    lasting = rows if again is None else np.array(rows)[~again].tolist()
                    unsure |= len(lasting) < len(rows)
                    new = {lookup.keys[row]: table[row].tobytes() for row in lasting}
                    store.put_many(namespace, new)
                start += len(rows)
                bar.update(len(rows))
                line.report(start, len(todo))
    if lookup.whole is not None and lookup.keys and not unsure:
        store.put_many(_namespace(scorer), {lookup.whole: table.tobytes()})
    n, outcome = len(scorer.columns), with_verdict(lookup.bound, scorer, store)
    scores = table[inverse, :n]
    without = [lookup.items[row] for row in np.flatnonzero(np.isnan(table[:, :n]).all(axis=1))]
    places = np.array([image for _, image in without], dtype=np.intp)
    why, remedy = scorer.why_unscored([caption for caption, _ in without], places)
    if len(scores) and np.isnan(scores).all():
        reason = why or f"none of the {len(scores):,} captions could be scored: all scores are NaN"
        remedy = remedy or "python -m metaeval check calls the metric in every way"
        return replace(outcome, status="failed", reason=reason, remedy=remedy, n_scored=len(todo))
    return replace(
        outcome,
        scores=scores,
        unscored=(why, remedy),
        counts=_counts(scorer, table[inverse, n:], image_index, lookup.dataset),
        key=None if unsure else lookup.whole,
        n_scored=len(todo),
        n_cached=len(lookup.items) - len(todo),
        n_damaged=lookup.n_damaged,
    )


class Pace:
    """How many captions to score before the next write to the cache.

    A batch is to take at most about eight seconds, so that a killed run loses no more. Where a call
    has a cost of its own, and for a foreign scorer, whose scores may depend on the captions of a
    call, all batches have `most` captions.

    Attributes
    ----------
    size
        Captions in the next batch.
    """

    SECONDS, GROWTH = 8.0, 4

    def __init__(self, scorer: Scorer, most: int) -> None:
        self._most = self.size = most
        self._fixed = scorer.fixed_cost or scorer.saves_itself or scorer.foreign
        self.update(1, (scorer.usual_ms or _UNKNOWN_MS) / 1000, most)

    def update(self, n: int, seconds: float, growth: int = GROWTH) -> None:
        """Choose the next size after a batch of n captions that took so long."""
        if not self._fixed:
            lasting = n * self.SECONDS / max(seconds, 1e-9)
            self.size = max(1, int(min(lasting, growth * n, self._most)))


def checked_scores(scorer: Scorer, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Scores:
    """Scores rounded to their columns' precision, and counts: [n, columns + counted].

    The first call of a foreign scorer also finds whether its scores depend on the captions of the
    call, and says so in its columns. Raises TypeError or ValueError where the scorer breaks its
    contract.
    """
    scores = scorer.score(captions, images)
    expected = (len(captions), len(scorer.columns))
    if scores.shape != expected or scores.dtype != np.float64:
        raise TypeError(
            f"score() returned {scores.dtype} {list(scores.shape)} "
            f"instead of float64 {list(expected)}"
        )
    for column, values in zip(scorer.columns, scores.T, strict=True):
        require_in_bounds(column, values, captions)
    tallies = scorer.tally(captions, images)
    if tallies.shape != (len(captions), len(scorer.counted)):
        raise TypeError(
            f"tally() returned {list(tallies.shape)} "
            f"instead of {[len(captions), len(scorer.counted)]}"
        )
    scores = round_scores(scorer.columns, scores)
    if scorer.foreign and not scorer.batch_checked and len(captions) > 1:
        scorer.batch_checked = True
        temporary = scorer.temporary
        if _depends_on_batch(scorer, captions, images, scores):
            mark_batch_dependent(scorer)
        scorer.temporary = temporary
    return np.concatenate([scores, tallies], axis=1)


def _depends_on_batch(
    scorer: Scorer, captions: Sequence[str], images: npt.NDArray[np.intp], scores: Scores
) -> bool:
    """Whether a few of these captions score otherwise in reverse order and alone.

    Scores whose call fails for a time are left out; a call that raises has another outcome.
    """
    places = np.arange(len(captions))
    if scorer.temporary is not None:
        places = places[~scorer.temporary]
    if len(places) < 2:
        return False
    few = places[np.unique(np.linspace(0, len(places) - 1, _CHECKED).astype(int))[::-1]]
    alone = few[-1:] if scorer.fixed_cost else few
    for rows in (few, *(alone[k : k + 1] for k in range(len(alone)))):
        try:
            other = scorer.score([captions[k] for k in rows], images[rows])
        except Exception as error:
            log.info("%s fails on other captions", scorer.columns[-1].name, exc_info=error)
            return True
        lasting = np.ones(len(rows), bool) if scorer.temporary is None else ~scorer.temporary
        if not close(scores[rows[lasting]], round_scores(scorer.columns, other)[lasting]):
            return True
    return False


def gaps(one: Scores, other: Scores) -> Scores:
    """How far two arrays of scores are apart; infinite where only one is NaN."""
    apart = np.where(one == other, 0.0, np.abs(one - other))
    result: Scores = np.where(np.isnan(one) & np.isnan(other), 0.0, apart)
    return np.nan_to_num(result, nan=np.inf, posinf=np.inf)


def close(one: Scores, other: Scores) -> bool:
    """Whether two arrays of scores of the same captions are equal, up to single precision."""
    largest = float(np.nanmax(np.abs(one), initial=1.0))
    return bool((gaps(one, other) <= CLOSE * largest).all())


def mark_batch_dependent(scorer: Scorer) -> None:
    """Note in a scorer's columns that its scores depend on the captions of a call."""
    scorer.columns = tuple(replace(column, batch_dependent=True) for column in scorer.columns)


def with_verdict(bound: MetricScores, scorer: Scorer, store: Store) -> MetricScores:
    """The metric with the columns of its scorer, which has scored; a mark is kept in the cache, for
    runs that find all scores there."""
    if scorer.cacheable and any(column.batch_dependent for column in scorer.columns):
        store.put_many(_DEPENDENT, {_verdict_key(scorer): b"1"})
    return replace(bound, columns=scorer.columns)


def _verdict_key(scorer: Scorer) -> bytes:
    return digest(json.dumps(scorer.signatures))


def require_in_bounds(
    column: ScoreColumn, values: npt.NDArray[np.float64], captions: Sequence[str]
) -> None:
    """Raise ValueError, with score and caption, for one that its column rules out."""
    bounds = np.clip(column.bounds, -GREATEST, GREATEST)
    wrong = np.flatnonzero((values < bounds[0] - ROUNDING) | (values > bounds[1] + ROUNDING))
    if len(wrong):
        k = int(wrong[0])
        raise ValueError(
            f"{column.name} gives {captions[k]!r:.100} the score {values[k]:.6g}, which is outside "
            f"its bounds {bounds[0]:g} to {bounds[1]:g}"
        )


def refuse_equal_columns(columns: Iterable[tuple[str, Sequence[ScoreColumn]]]) -> None:
    """Raise ConfigError where two metrics have a column of one name, or one has the name of a
    control that runs compute (`RUN_COLUMNS`); (metric, columns) of each."""
    owner: dict[str, str] = {}
    for metric, of_metric in columns:
        for column in of_metric:
            if column.name in RUN_COLUMNS:
                raise ConfigError(
                    f"metric.{metric}: '{column.name}' is the name of a control that runs compute; "
                    "give the column another name"
                )
            if (other := owner.get(column.name)) is not None:
                raise ConfigError(
                    f"two columns are called '{column.name}', of the metrics '{other}' and "
                    f"'{metric}': give one another name, or leave one out"
                )
            owner[column.name] = metric


def _namespace(scorer: Scorer) -> str:
    """Where the cache keeps the rows of this metric: scores, and behind them what it counts."""
    if not scorer.counted:
        return "scores:" + json.dumps(scorer.signatures)
    return "scores and counts:" + json.dumps([*scorer.signatures, list(scorer.counted)])


def _counts(
    scorer: Scorer,
    tallies: npt.NDArray[np.float64],
    image_index: npt.NDArray[np.intp],
    dataset: CaptionDataset,
) -> tuple[Tally, ...]:
    """The counts of a run from what was counted of each of its captions [n, len(counted)]."""
    counts = []
    for (what, unit), column in zip(scorer.counted.items(), tallies.T, strict=True):
        if unit == "images":
            n = dataset.count_images(image_index[column > 0])
            counts.append(Tally(what, unit, n, dataset.count_images(image_index)))
        else:
            of = len(column) if unit == "captions" else None
            counts.append(Tally(what, unit, int(column.sum()), of))
    return tuple(counts)


@dataclass(frozen=True)
class DistinctItems:
    """The distinct (caption, image) items of a request, each input's item [n], and the store's keys
    of the items, by a digest of what they are computed from."""

    items: list[tuple[str, int]]
    inverse: npt.NDArray[np.intp]
    keys: dict[bytes, list[bytes]] = field(default_factory=dict)

    @cached_property
    def key(self) -> bytes:
        """16 bytes that identify the items in their order."""
        return digest(json.dumps(self.items))


def distinct(captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> DistinctItems:
    """The distinct (caption, image) items in order of appearance."""
    position: dict[tuple[str, int], int] = {}
    inverse = np.empty(len(captions), dtype=np.intp)
    for j, item in enumerate(zip(captions, image_index.tolist(), strict=True)):
        inverse[j] = position.setdefault(item, len(position))
    return DistinctItems(list(position), inverse)
