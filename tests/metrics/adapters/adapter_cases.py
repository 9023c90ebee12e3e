"""Datasets and modules on disk for the tests of metrics that users bring."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric, Scores
from metaeval.runs.store import MemoryStore
from metaeval.scoring import MetricScores, score_captions
from tests.metrics.metric_cases import images
from tests.shared import write_texts

REFERENCES = (
    ("a man swings a bat at a baseball", "a baseball player on a field"),
    ("two dogs run over the grass.", "Dogs are running."),
    ("a red bus is parked by the road",),
)
HUMAN = ("A man plays baseball.", "two dogs run", "a bus by the road")


def small(references: tuple[tuple[str, ...], ...] = REFERENCES) -> CaptionDataset:
    return images(references, HUMAN[: len(references)])


def scored(
    metric: Metric,
    dataset: CaptionDataset,
    captions: tuple[str, ...] | list[str],
    index: list[int],
    store: MemoryStore | None = None,
) -> MetricScores:
    return score_captions(
        metric, dataset, captions, np.array(index, dtype=np.intp), store or MemoryStore()
    )


def scores_of(*arguments: object) -> Scores:
    """Like `scored`, of a metric that must run."""
    done = scored(*arguments)  # type: ignore[arg-type]
    assert done.status == "ok", done.reason
    return done.scores


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]


DESCRIBED = {
    "metric": "CLAIR",
    "benchmark": "table",
    "citation": ["@misc{clair, title = {CLAIR}}"],
    "source": "https://example.org",
    "licence": "CC BY 4.0",
    "reads": ["references"],
}


def bank_file(folder: Path, name: str, rows: list[tuple[Any, ...]], **described: Any) -> Path:
    """NAME.csv with rows of image, caption and score, and NAME.yaml."""
    write_texts(folder, {f"{name}.yaml": json.dumps({**DESCRIBED, **described})})
    file = folder / f"{name}.csv"
    pd.DataFrame(rows, columns=["image_id", "caption", "score"]).to_csv(file, index=False)
    return file
