"""The scores of captioners' captions: by sentence, and the parts that corpus scores are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric
from metaeval.metrics.summable import StatisticsAdapter, SummableMetric
from metaeval.runs.columns import IMAGE_ID, SET
from metaeval.scoring import SystemScores, system_scores
from metaeval.stats.resampling.items import Floats


def with_all_references(dataset: CaptionDataset) -> CaptionDataset:
    """The dataset with the Human caption among the references, before the others: five on COCO."""
    pairs = zip(dataset.human, dataset.references, strict=True)
    return replace(
        dataset,
        references=tuple((human, *others) if human else others for human, others in pairs),
    )


def score_families(
    metrics: Sequence[Metric], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[SystemScores]:
    """Score all captions with all metrics, through the cache.

    Of BLEU, SacreBLEU and METEOR the statistics are computed and kept; the scores of sentences are
    made of them, to the last bit what the metrics' `score` gives.
    """
    adapted = [StatisticsAdapter(m) if isinstance(m, SummableMetric) else m for m in metrics]
    results = score_all(adapted, dataset, captions, config)
    return [system_scores(metric, scored) for metric, scored in zip(metrics, results, strict=True)]


def by_image_and_set(
    values: npt.NDArray[np.float64], captions: pd.DataFrame, images: pd.Index[Any], sets: list[str]
) -> Floats:
    """Rows [n, k], one per caption, as [n_images, n_sets, k]; NaN for missing images."""
    table = np.full((len(images), len(sets), values.shape[1]), np.nan)
    row = images.get_indexer(pd.Index(captions[IMAGE_ID]))
    column = pd.Index(sets).get_indexer(pd.Index(captions[SET]))
    table[row, column] = values
    return table
