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

from metaeval.cache import Store, item_key
from metaeval.data.types import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scores

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of one metric.

    `status` is "ok", "skipped" (something it needs is not there) or "failed" (it broke); `reason`
    and `remedy` say why and what would help. `scores` is float64 [n, len(columns)], `None` unless
    ok; `n_scored` distinct items were computed now, `n_cached` came from the cache.
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
        namespace = "scores:" + json.dumps(signatures)
        items, inverse = _distinct(captions, image_index)
        contexts = {int(i): metric.context(dataset, int(i)) for i in np.unique(image_index)}
        keys = [item_key(contexts[i], caption) for caption, i in items]
        known = store.get_many(namespace, keys)
        table = np.full((len(items), len(metric.columns)), np.nan)
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
            scores=table[inverse],
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
    """Fill the rows `todo` of the table, batch by batch, through the cache."""
    metric.prepare(dataset)
    with tqdm(total=len(todo), desc=metric.name, unit=" captions", leave=False, delay=2) as bar:
        for start in range(0, len(todo), size):
            rows = todo[start : start + size]
            scores = metric.score(
                [items[row][0] for row in rows],
                np.array([items[row][1] for row in rows], dtype=np.intp),
            )
            expected = (len(rows), len(metric.columns))
            if scores.shape != expected or scores.dtype != np.float64:
                raise TypeError(
                    f"score() returned {scores.dtype} {list(scores.shape)} "
                    f"instead of float64 {list(expected)}"
                )
            if np.isinf(scores).any():
                raise ValueError("score() returned infinite scores")
            table[rows] = scores
            store.put_many(namespace, {keys[row]: table[row].tobytes() for row in rows})
            bar.update(len(rows))


def _distinct(
    captions: Sequence[str], image_index: npt.NDArray[np.intp]
) -> tuple[list[tuple[str, int]], npt.NDArray[np.intp]]:
    """The distinct (caption, image) items in order of appearance, and each input's item."""
    position: dict[tuple[str, int], int] = {}
    inverse = np.empty(len(captions), dtype=np.intp)
    for j, item in enumerate(zip(captions, image_index.tolist(), strict=True)):
        inverse[j] = position.setdefault(item, len(position))
    return list(position), inverse
