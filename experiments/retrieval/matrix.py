"""Scores of every caption with every image, block by block."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.progress import progress_bar
from metaeval.runs.digests import digest
from metaeval.runs.store import CacheError, Store, content_digest
from metaeval.scoring import MetricScores, bind, checked_scores, failed_with, with_verdict

BLOCK = 20_000  # pairs that are scored together, and kept together in the cache


def score_every_pair(
    metric: Metric, dataset: CaptionDataset, captions: Sequence[str], store: Store
) -> tuple[MetricScores, Scores | None]:
    """The outcome of a metric, and its scores [columns, captions, images]; `None` unless ok.

    The outcome's own scores are those of each caption with its own image.
    """
    started = time.perf_counter()
    if metric.pairwise:
        skipped = MetricScores(
            metric.name, metric.columns, (None,) * len(metric.columns), "skipped",
            "it compares two captions, and retrieval scores single ones", "use experiment=pairs",
        )  # fmt: skip
        return skipped, None
    bound = bind(metric, dataset, store, fetch=True)
    scorer = bound.scorer
    if scorer is None:
        return bound, None
    try:
        table, computed = _matrix(scorer, captions, len(dataset), store)
    except CacheError:
        raise
    except Exception as error:
        return replace(failed_with(bound, error), scorer=None), None
    finally:
        scorer.close()
    own = np.ascontiguousarray(table[:, np.arange(len(captions)), np.arange(len(captions))].T)
    outcome = replace(
        with_verdict(bound, scorer, store),
        scorer=None,
        scores=own,
        n_scored=computed,
        n_cached=table[0].size - computed,
        seconds=time.perf_counter() - started,
    )
    return outcome, table


def _matrix(
    scorer: Scorer, captions: Sequence[str], n_images: int, store: Store
) -> tuple[Scores, int]:
    """The scores, and how many pairs were computed now."""
    images = digest(b"".join(digest(scorer.context(i)) for i in range(n_images)))
    namespace = f"retrieval:{scorer.signatures}"
    table = np.empty((len(scorer.columns), len(captions), n_images))
    rows = max(1, BLOCK // n_images)
    prepared, computed = False, 0
    for start in progress_bar(range(0, len(captions), rows), desc=scorer.columns[0].name):
        block = captions[start : start + rows]
        key, size = digest(images + content_digest(block)), len(block) * n_images
        known = store.get_many(namespace, [key]).get(key, b"") if scorer.cacheable else b""
        if len(known) != 8 * size * len(scorer.columns):
            if not prepared:
                scorer.prepare()
                prepared = True
            texts = [caption for caption in block for _ in range(n_images)]
            index: npt.NDArray[np.intp] = np.tile(np.arange(n_images), len(block))
            scores = checked_scores(scorer, texts, index)[:, : len(scorer.columns)]
            known, computed = np.ascontiguousarray(scores.T).tobytes(), computed + size
            if scorer.cacheable and scorer.temporary is None:
                store.put_many(namespace, {key: known})
        of_block = np.frombuffer(known).reshape(len(scorer.columns), len(block), n_images)
        table[:, start : start + len(block)] = of_block
    return table, computed
