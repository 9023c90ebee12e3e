"""Run one metric over captions, through the score cache, and never let it bring the run down."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scores
from metaeval.runs.files import Count
from metaeval.runs.store import Store, item_key

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of one metric.

    `status` is "ok", "skipped" (something it needs is not there) or "failed" (it broke); `reason`
    and `remedy` say why and what would help. `scores` is float64 [n, len(columns)], `None` unless
    ok; `n_scored` distinct items were computed now, `n_cached` came from the cache. `counts` is
    what the metric counts of this run's captions and images, cached ones included.
    """

    family: str
    columns: tuple[str, ...]
    signatures: tuple[str | None, ...]
    higher_is_better: bool
    bounds: tuple[float, float]
    status: str
    reason: str | None = None
    remedy: str | None = None
    scores: Scores | None = None
    counts: tuple[Count, ...] = ()
    n_scored: int = 0
    n_cached: int = 0
    seconds: float = 0.0


def score_captions(
    metric: Metric,
    dataset: CaptionDataset,
    captions: Sequence[str],
    image_index: npt.NDArray[np.intp],
    store: Store,
    batch_size: int | None = None,
) -> Scored:
    """Score n captions, caption j against image `image_index[j]`, computing only what is new.

    Distinct (image, caption) items are scored once, in batches of `batch_size` (by default as many
    as the metric likes); each batch is in the cache before the next begins. Any exception of the
    metric becomes a "failed" result with its message.
    """
    started = time.perf_counter()

    def result(status: str, absent: Absent | None = None, **found: object) -> Scored:
        signatures = found.pop("signatures", (None,) * len(metric.columns))
        return Scored(
            metric.name,
            metric.columns,
            signatures,  # type: ignore[arg-type]
            metric.higher_is_better,
            metric.bounds,
            status,
            absent.reason if absent else None,
            (absent.remedy or None) if absent else None,
            seconds=time.perf_counter() - started,
            **found,  # type: ignore[arg-type]
        )

    try:
        metric.store = store
        if (absent := metric.missing(dataset)) is not None:
            return result("skipped", absent)
        metric.identify(dataset)
        signatures = tuple(metric.signature(column) for column in metric.columns)
        namespace = _namespace(metric, signatures)
        items, inverse = _distinct(captions, image_index)
        contexts = {int(i): metric.context(dataset, int(i)) for i in np.unique(image_index)}
        keys = [item_key(contexts[i], caption) for caption, i in items]
        known = store.get_many(namespace, keys)
        table = np.full((len(items), len(metric.columns) + len(metric.counted)), np.nan)
        todo = []
        for row, key in enumerate(keys):
            if (value := known.get(key)) is not None:
                table[row] = np.frombuffer(value)
            else:
                todo.append(row)
        if todo:
            size = batch_size or metric.batch_size
            _compute(metric, dataset, items, keys, todo, table, namespace, store, size)
        return result(
            "ok",
            signatures=signatures,
            scores=table[inverse, : len(metric.columns)],
            counts=_counts(metric, table[inverse, len(metric.columns) :], image_index),
            n_scored=len(todo),
            n_cached=len(items) - len(todo),
        )
    except Exception as error:
        log.debug("%s failed", metric.name, exc_info=True)
        message = str(error).strip().splitlines()
        reason = message[0] if message else "no message"
        return result("failed", Absent(metric.name, f"{type(error).__name__}: {reason}"))
    finally:
        metric.close()


def _compute(
    metric: Metric,
    dataset: CaptionDataset,
    items: Sequence[tuple[str, int]],
    keys: Sequence[bytes],
    todo: Sequence[int],
    table: Scores,
    namespace: str,
    store: Store,
    size: int,
) -> None:
    """Fill the rows `todo` of the table, scores and counts, batch by batch, through the cache."""
    metric.prepare(dataset)
    with tqdm(total=len(todo), desc=metric.name, unit=" captions", leave=False, delay=2) as bar:
        for start in range(0, len(todo), size):
            rows = todo[start : start + size]
            captions = [items[row][0] for row in rows]
            images = np.array([items[row][1] for row in rows], dtype=np.intp)
            scores = metric.score(captions, images)
            expected = (len(rows), len(metric.columns))
            if scores.shape != expected or scores.dtype != np.float64:
                raise TypeError(
                    f"score() returned {scores.dtype} {list(scores.shape)} "
                    f"instead of float64 {list(expected)}"
                )
            if np.isinf(scores).any():
                raise ValueError("score() returned infinite scores")
            tallies = metric.tally(captions, images)
            if tallies.shape != (len(rows), len(metric.counted)):
                raise TypeError(
                    f"tally() returned {list(tallies.shape)} "
                    f"instead of {[len(rows), len(metric.counted)]}"
                )
            table[rows] = np.concatenate([scores, tallies], axis=1)
            store.put_many(namespace, {keys[row]: table[row].tobytes() for row in rows})
            bar.update(len(rows))


def _namespace(metric: Metric, signatures: Sequence[str]) -> str:
    """Where the cache keeps the rows of this metric: scores, and behind them what it counts."""
    if not metric.counted:
        return "scores:" + json.dumps(signatures)
    return "scores and counts:" + json.dumps([*signatures, list(metric.counted)])


def _counts(
    metric: Metric, tallies: npt.NDArray[np.float64], image_index: npt.NDArray[np.intp]
) -> tuple[Count, ...]:
    """The counts of a run from what was counted of each of its captions [n, len(counted)]."""
    found = []
    for (what, unit), column in zip(metric.counted.items(), tallies.T, strict=True):
        if unit == "images":
            n = len(np.unique(image_index[column > 0]))
            found.append(Count(what, unit, n, len(np.unique(image_index))))
        else:
            of = len(column) if unit == "captions" else None
            found.append(Count(what, unit, int(column.sum()), of))
    return tuple(found)


def _distinct(
    captions: Sequence[str], image_index: npt.NDArray[np.intp]
) -> tuple[list[tuple[str, int]], npt.NDArray[np.intp]]:
    """The distinct (caption, image) items in order of appearance, and each input's item."""
    position: dict[tuple[str, int], int] = {}
    inverse = np.empty(len(captions), dtype=np.intp)
    for j, item in enumerate(zip(captions, image_index.tolist(), strict=True)):
        inverse[j] = position.setdefault(item, len(position))
    return list(position), inverse
