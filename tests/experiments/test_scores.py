"""All metrics over a run's captions: their order, and which run in parallel."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from metaeval.config import compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric, ReferenceScorer, Scorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import look_up


class Length(Metric):
    """A caption's letters; `elsewhere` says that another process counts them."""

    def __init__(
        self, name: str, elsewhere: bool = False, waits_for: threading.Event | None = None,
        sets: threading.Event | None = None, breaks: bool = False,
    ) -> None:  # fmt: skip
        self.title, self.elsewhere, self.breaks = name, elsewhere, breaks
        self.waits_for, self.sets = waits_for, sets

    name = "length"

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        bounds = 0.0, float("inf")
        return tuple(ScoreColumn(f"{self.title}-{part}", bounds=bounds) for part in "ab")

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer:
        return (ElsewhereScorer if self.elsewhere else LengthScorer)(self, {"v": 1}, dataset)


class LengthScorer(ReferenceScorer):
    metric: Length

    def prepare(self) -> None:
        if self.metric.waits_for is not None:
            assert self.metric.waits_for.wait(30)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        if self.metric.breaks:
            raise ValueError("no")
        if self.metric.sets is not None:
            self.metric.sets.set()
        return np.array([[len(caption)] * 2 for caption in captions], dtype=np.float64)


class ElsewhereScorer(LengthScorer):
    runs_in_subprocess = True


def _score(metrics: Sequence[Metric]) -> list[tuple[str, str, object]]:
    ids, human = (1, 2), ("a", "bb")
    dataset = CaptionDataset("two", ids, human, (("x",), ("y",)), ids, human)
    captions = pd.DataFrame({"image_id": [1, 2], "caption": human})
    config = compose_config(["cache.enabled=false"])
    results = score_all(metrics, dataset, captions, config)
    return [
        (r.columns[0].name, r.status, None if r.scores is None else r.scores.tolist())
        for r in results
    ]


def test_metrics_keep_their_order_whichever_is_ready_first() -> None:
    here, there = threading.Event(), threading.Event()
    # A cannot go on before C, which works elsewhere, has scored; nor E before D, which is here
    metrics = [
        Length("A", waits_for=there), Length("B", breaks=True),
        Length("C", elsewhere=True, sets=there), Length("D", sets=here),
        Length("E", elsewhere=True, waits_for=here),
    ]  # fmt: skip
    scores = [[1.0, 1.0], [2.0, 2.0]]
    assert _score(metrics) == [
        ("A-a", "ok", scores), ("B-a", "failed", None), ("C-a", "ok", scores),
        ("D-a", "ok", scores), ("E-a", "ok", scores),
    ]  # fmt: skip


def test_a_failure_elsewhere_is_a_row_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    rows = _score([Length("A", elsewhere=True, breaks=True), Length("B")])
    assert [status for _, status, _ in rows] == ["failed", "ok"]
    assert "length failed: ValueError: no" in caplog.text


def test_a_lookup_counts_what_is_to_be_done() -> None:
    ids, human = (1, 2), ("a", "bb")
    dataset = CaptionDataset("two", ids, human, (("x",), ("y",)), ids, human)
    lookup = look_up(Length("A", elsewhere=True), dataset, human, np.arange(2), MemoryStore())
    assert (lookup.title, lookup.runs_in_subprocess, lookup.todo) == ("A", True, [0, 1])
    assert lookup.usual_seconds == pytest.approx(2 * Scorer.usual_ms / 1000)
