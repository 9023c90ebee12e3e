"""Small datasets, and metrics bound to them and prepared as a run does it."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset, Objects
from metaeval.metrics.base import Metric, Scores
from metaeval.runs.store import MemoryStore, Store

# metrics that users bring
USERS = {
    "callable",
    "coco",
    "combined",
    "command",
    "torchmetrics",
    "evaluate",
    "scores",
    "bank",
    "judge",
}


def images(
    references: Sequence[Sequence[str]],
    human: Sequence[str] = (),
    labels: Sequence[Sequence[str]] | None = None,
    **more: Any,
) -> CaptionDataset:
    """Images 0 … n - 1 with these references, human captions and labels of objects."""
    ids = tuple(range(len(references)))
    texts = tuple(human) or tuple(f"caption {i}" for i in ids)
    if labels is not None:
        objects = {i: Objects(tuple(n), np.zeros((len(n), 4))) for i, n in enumerate(labels)}
        more = {"parts": {"objects": lambda: objects}, **more}
    return CaptionDataset("toy", ids, texts, tuple(map(tuple, references)), ids, texts, **more)


def bound(metric: Metric, dataset: CaptionDataset, store: Store | None = None) -> Any:
    """The metric's scorer, which must be able to run."""
    scorer = metric.bind(dataset, store or MemoryStore())
    assert not isinstance(scorer, Absent), scorer
    return scorer


def ready(metric: Metric, dataset: CaptionDataset, store: Store | None = None) -> Any:
    """The metric's scorer, prepared."""
    scorer = bound(metric, dataset, store)
    scorer.prepare()
    return scorer


def scores_of(
    metric: Metric, dataset: CaptionDataset, captions: Sequence[str], index: Sequence[int] = ()
) -> Scores:
    """Scores [n, columns] of captions; of the first image unless an index says otherwise."""
    with closing(ready(metric, dataset)) as scorer:
        rows = np.array(index if len(index) else [0] * len(captions), dtype=np.intp)
        return scorer.score(captions, rows)
