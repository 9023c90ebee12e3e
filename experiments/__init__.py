"""What most experiments need besides the engine (`measure.py`)."""

from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.base import MetricExperiment, Pass, Streaming, ToScore
from metaeval.experiments.record import (
    RunRecord,
    dataset_info,
    describe_dataset,
    require_captions,
    write_dataset,
)
from metaeval.experiments.scores import open_store, score_all, write_scores
from metaeval.metrics.base import Metric
from metaeval.results.base import Estimate
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.runs.records import HUMAN, ScoreColumn, Version
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats

__all__ = [
    "HUMAN",
    "CaptionDataset",
    "ConfigError",
    "Estimate",
    "Extra",
    "Floats",
    "ImageId",
    "InputError",
    "Measure",
    "MeasuredResult",
    "Metric",
    "MetricExperiment",
    "MetricScores",
    "Pass",
    "RunRecord",
    "ScoreColumn",
    "Streaming",
    "ToScore",
    "Version",
    "dataset_info",
    "describe_dataset",
    "fill_sentences",
    "open_store",
    "require_captions",
    "score_all",
    "write_dataset",
    "write_scores",
]
