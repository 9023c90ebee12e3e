"""Scoring the captions of a run with every metric, and the file of their scores."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval import progress
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.captions import items_of
from metaeval.metrics.base import Metric
from metaeval.readers.files import user_path
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, RIVAL
from metaeval.runs.store import MemoryStore, SqliteStore
from metaeval.scoring import Lookup, MetricScores, complete, distinct, look_up, refuse_equal_columns

log = logging.getLogger(__name__)


def score_all(
    metrics: Iterable[Metric], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[MetricScores]:
    """Every metric over every caption (columns `image_id`, `caption`), in the metrics' order.

    A column `item` says which item of the dataset each caption is compared with, where an image has
    several. A column `rival` holds the other caption of its pair, for pairwise metrics.

    All are looked up in the cache before the first is computed, so that the progress line can
    show how much is left. A metric that works in its own process runs in parallel with the others.
    """
    index = np.array(items_of(dataset, captions), dtype=np.intp)
    texts = captions[CAPTION].tolist()
    size, line = config.cache.batch_size, progress.current()
    with open_store(config) as store:
        items = distinct(texts, index)
        rivals = captions[RIVAL].tolist() if "rival" in captions else None
        lookups = [
            look_up(metric, dataset, texts, index, store, items, rivals) for metric in metrics
        ]
        refuse_equal_columns((known.bound.family, known.bound.columns) for known in lookups)
        parts = line.plan([(known.title, known.usual_seconds) for known in lookups], kind="metric")

        def finish(known: Lookup) -> MetricScores:
            scored = complete(known, index, store, size)
            if scored.status != "ok":
                remedy = f"; {scored.remedy}" if scored.remedy else ""
                if scored.status == "failed" and not remedy:
                    remedy = " (the traceback is in metaeval.log)"
                log.warning("%s %s: %s%s", scored.family, scored.status, scored.reason, remedy)
            elif (n := unscored(scored)) and (known.todo or scored.unscored[0]):
                why = "".join(f"; {part}" for part in scored.unscored if part)
                log.warning(
                    "%s: %s of %s captions have no score%s",
                    known.title, f"{n:,}", f"{len(texts):,}", why,
                )  # fmt: skip
            return scored

        with _lane() as lane:
            parallel = {
                k: lane.submit(finish, x) for k, x in enumerate(lookups) if x.runs_in_subprocess
            }
            results: list[MetricScores] = []
            for k, (known, part) in enumerate(zip(lookups, parts, strict=True)):
                if k in parallel:
                    line.strike(part)
                    continue
                line.begin(part)
                results.append(finish(known))
            for k, future in parallel.items():
                line.begin(parts[k])
                results.insert(k, future.result())
    return results


def unscored(scored: MetricScores) -> int:
    """How many captions have no score in some column that is not a part of another one.

    A part may be undefined where its whole is defined (no size is mentioned: no SPICE-size).
    """
    if scored.scores is None:
        return 0
    whole = [c for c, column in enumerate(scored.columns) if column.part_of is None]
    return int(np.isnan(scored.scores[:, whole]).any(axis=1).sum())


@contextmanager
def _lane() -> Iterator[ThreadPoolExecutor]:
    """A thread for metrics that work elsewhere; what it has not begun is left if the run breaks."""
    pool = ThreadPoolExecutor(1)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def open_store(config: DictConfig) -> Iterator[MemoryStore | SqliteStore]:
    """The score cache, or a store that lasts as long as the block with `cache.enabled=false`."""
    store: MemoryStore | SqliteStore = (
        SqliteStore(user_path(config.paths.cache) / "content.sqlite")
        if config.cache.enabled
        else MemoryStore()
    )
    try:
        yield store
    finally:
        if store.damaged:
            log.warning("%d damaged values in the score cache: computed again", store.damaged)
        store.close()


def write_scores(out: Path, captions: pd.DataFrame, results: Sequence[MetricScores]) -> None:
    """scores.parquet: the ok metrics' columns, one after another, in the captions' order."""
    columns = (
        (column.name, scored.scores[:, c])
        for scored in results
        if scored.scores is not None
        for c, column in enumerate(scored.columns)
    )
    files.write_scores(out / files.SCORES, captions, columns)
