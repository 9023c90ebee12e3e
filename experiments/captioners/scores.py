"""The scores of captioners' captions: by sentence, and the parts that corpus scores are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from experiments.run import score
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.metrics.summable import Additive, Sufficient
from metaeval.runs.files import is_part
from metaeval.scoring import Scored
from metaeval.stats.resampling.items import Floats


@dataclass(frozen=True, slots=True)
class Family:
    """One metric over all captions.

    `scored` is what `scoring.score_captions` says of its sentences. `statistics` [n, k] and
    `metric` are there where statistics add up to corpus scores; else `None`.
    """

    scored: Scored
    statistics: Floats | None = None
    metric: Additive | None = None

    def corpus(self, sums: Floats) -> Floats:
        """Corpus scores [r, columns] from sums of statistics [r, k]."""
        assert self.metric is not None
        return self.metric.of_statistics(sums, corpus=True)


def with_all_references(dataset: CaptionDataset) -> CaptionDataset:
    """The dataset with the Human caption among the references, before the others: five on COCO."""
    pairs = zip(dataset.human, dataset.references, strict=True)
    return replace(dataset, references=tuple((human, *others) for human, others in pairs))


def score_families(
    metrics: Sequence[Metric], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[Family]:
    """Score all captions with all metrics, through the cache.

    Of BLEU, SacreBLEU and METEOR the statistics are computed and kept; the scores of sentences are
    made of them, to the last bit what the metrics' `score` gives.
    """
    asked = [Sufficient(m) if isinstance(m, Additive) else m for m in metrics]
    found = score(list(asked), dataset, captions, config)
    return [_family(metric, scored) for metric, scored in zip(metrics, found, strict=True)]


def _family(metric: Metric, scored: Scored) -> Family:
    if not isinstance(metric, Additive):
        return Family(scored)
    columns: dict[str, Any] = {"columns": metric.columns, "bounds": metric.bounds}
    if scored.scores is None:
        return Family(replace(scored, **columns, signatures=(None,) * len(metric.columns)))
    sentences = replace(
        scored,
        **columns,
        signatures=tuple(metric.signature(column) for column in metric.columns),
        scores=metric.of_statistics(scored.scores),
    )
    return Family(sentences, scored.scores, metric)


def by_image_and_set(
    values: npt.NDArray[np.float64], captions: pd.DataFrame, images: pd.Index[Any], sets: list[str]
) -> Floats:
    """Rows [n, k], one per caption, as [n_images, n_sets, k]; NaN where a set lacks the image."""
    table = np.full((len(images), len(sets), values.shape[1]), np.nan)
    row = images.get_indexer(pd.Index(captions["image_id"]))
    column = pd.Index(sets).get_indexer(pd.Index(captions["set"]))
    table[row, column] = values
    return table


def part_of(column: str, columns: Sequence[str]) -> str | None:
    """The column that this one is a component of: SPICE for SPICE-object, TIGEr for TIGEr-RRS.

    A score with references ("VIFIDEL-ref") is a score of its own.
    """
    for other in columns:
        if is_part(column, other) and not column.endswith("-ref"):
            return other
    return None


def head(family: Family, column: int, label: str, aggregate: str) -> dict[str, Any]:
    """What a record says of its metric, whatever it says of the systems; `label` is its name."""
    s = family.scored
    return {
        "metric": label,
        "column": s.columns[column],
        "family": s.family,
        "part_of": part_of(s.columns[column], s.columns),
        "aggregate": aggregate,
        "signature": s.signatures[column],
        "status": s.status,
        "reason": s.reason,
        "remedy": s.remedy,
        "higher_is_better": s.higher_is_better,
        "bounds": s.bounds,
    }
