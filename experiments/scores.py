"""Scoring the captions of a run with every metric, and the file of their scores."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.runs import files
from metaeval.runs.store import MemoryStore, SqliteStore
from metaeval.scoring import Scored, score_captions

log = logging.getLogger(__name__)


def score_all(
    metrics: Iterable[Metric], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[Scored]:
    """Every metric over every caption (columns `image_id`, `caption`), in the metrics' order."""
    position = {image_id: index for index, image_id in enumerate(dataset.image_ids)}
    index = np.array([position[image_id] for image_id in captions["image_id"]], dtype=np.intp)
    texts = captions["caption"].tolist()
    results = []
    with open_store(config) as store:
        for metric in metrics:
            scored = score_captions(metric, dataset, texts, index, store, config.cache.batch_size)
            if scored.status != "ok":
                remedy = f"; {scored.remedy}" if scored.remedy else ""
                log.warning("%s %s: %s%s", scored.family, scored.status, scored.reason, remedy)
            results.append(scored)
    return results


@contextmanager
def open_store(config: DictConfig) -> Iterator[MemoryStore | SqliteStore]:
    """The score cache, or a store that lasts as long as the block with `cache.enabled=false`."""
    store: MemoryStore | SqliteStore = (
        SqliteStore(Path(config.paths.cache).expanduser() / "content.sqlite")
        if config.cache.enabled
        else MemoryStore()
    )
    try:
        yield store
    finally:
        store.close()


def write_scores(out: Path, captions: pd.DataFrame, results: Sequence[Scored]) -> None:
    """scores.parquet: the ok metrics' columns, one after another, in the captions' order."""
    keys = captions[["image_id", "set", "level"]]
    parts = [
        keys.assign(metric=column.name, score=scored.scores[:, c])
        for scored in results
        if scored.scores is not None
        for c, column in enumerate(scored.columns)
    ]
    empty = keys.iloc[:0].assign(metric="", score=0.0)
    files.write_table(out / files.SCORES, pd.concat(parts) if parts else empty)
