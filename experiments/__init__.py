"""What a small experiment needs besides the engine (`measure.py`); `retrieval/task.py` uses it."""

from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.record import (
    RunRecord,
    dataset_info,
    describe_dataset,
    require_captions,
    write_dataset,
)
from metaeval.experiments.scores import open_store, score_all, write_scores
from metaeval.metrics.base import Metric
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import HUMAN, Version
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats

__all__ = [
    "HUMAN",
    "CaptionDataset",
    "ConfigError",
    "Extra",
    "Floats",
    "Measure",
    "MeasuredResult",
    "Metric",
    "MetricExperiment",
    "MetricScores",
    "Pass",
    "RunRecord",
    "ToScore",
    "Version",
    "dataset_info",
    "describe_dataset",
    "open_store",
    "require_captions",
    "score_all",
    "write_dataset",
    "write_scores",
]
