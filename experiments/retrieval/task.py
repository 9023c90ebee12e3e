"""Retrieval: `python -m metaeval experiment=retrieval dataset=coco_val2017 dataset.limit=1000`.

Every metric that can score any caption with any image is used as a search: is an image's own
caption the best of all captions, and is a caption's own image the best of all images?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass
from metaeval.experiments.captions import (
    dataset_info,
    describe_dataset,
    require_captions,
    write_references,
    write_versions,
)
from metaeval.experiments.judgments.files import write_table
from metaeval.experiments.means import Means
from metaeval.experiments.printout import printout
from metaeval.experiments.record import RunRecord
from metaeval.experiments.retrieval.matrix import score_every_pair
from metaeval.experiments.retrieval.ranks import MEASURES, SearchRanks, hits_at, ranks_of
from metaeval.experiments.scores import open_store
from metaeval.metrics.base import Metric
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import Measured
from metaeval.runs import files
from metaeval.runs.columns import HUMAN
from metaeval.runs.records import Version
from metaeval.scoring import MetricScores, refuse_equal_columns
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats

MOST_IMAGES = 5000  # a metric's scores are held in memory: 200 MB a column with so many


@dataclass(frozen=True, slots=True)
class SearchScores:
    """The outcomes of all metrics, and the ranks of each column that is not a part."""

    metrics: list[MetricScores]
    ranks: dict[str, SearchRanks]


class Retrieval(MetricExperiment[CaptionDataset, SearchScores]):
    """Each image's human caption among the human captions of all images, and the other way."""

    name = "retrieval"
    title = "Retrieval"
    question = "Does a metric find an image's own caption, and a caption's own image?"

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset = load_dataset(config)
        if not isinstance(dataset, CaptionDataset):
            raise ConfigError(
                "experiment=retrieval needs images with captions (coco_val2017, scenes, own)"
            )
        require_captions(dataset)
        if len(dataset) > MOST_IMAGES:
            raise ConfigError(
                f"experiment=retrieval scores every caption with every image: {len(dataset):,} "
                f"images are too many; give dataset.limit={MOST_IMAGES} or less"
            )
        if not all(dataset.human):
            raise ConfigError("experiment=retrieval needs a human caption of every image")
        return dataset

    def describe(self, data: CaptionDataset) -> str:
        return f"{describe_dataset(data)}; {len(data) ** 2:,} pairs of a caption and an image"

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        captioned = zip(data.image_ids, data.human, strict=True)
        write_versions(record.out, ((i, Version(HUMAN, 0, c, c)) for i, c in captioned))
        write_references(record.out, data, record.config)
        record.update(dataset=dataset_info(data))

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> SearchScores:
        outcomes: list[MetricScores] = []
        ranks: dict[str, SearchRanks] = {}
        tables = []
        with open_store(record.config) as store:
            for metric in metrics.values():
                outcome, scores = score_every_pair(metric, data, data.human, store)
                if scores is not None:
                    try:
                        of_metric = _ranks(outcome, scores)
                    except ValueError as error:
                        outcomes.append(_failed(outcome, error))
                        continue
                    ranks |= of_metric
                    tables += [_table(data, outcome, name, r) for name, r in of_metric.items()]
                outcomes.append(outcome)
        refuse_equal_columns((o.family, o.columns) for o in outcomes)
        if tables:
            table = pa.Table.from_pandas(pd.concat(tables), preserve_index=False)
            write_table(record.out / files.SCORES, table)
        return SearchScores(outcomes, ranks)

    def passes(self, scores: SearchScores) -> Sequence[Pass]:
        return [Pass(outcome) for outcome in scores.metrics]

    def statistics(
        self, data: CaptionDataset, scores: SearchScores, record: RunRecord
    ) -> MeasuredResult:
        stats = record.config.stats
        counts = bootstrap_counts(len(data), stats.replicates, stats.seed)
        entries = [
            (column, outcome, c)
            for outcome in scores.metrics
            for c, column in enumerate(outcome.columns)
            if column.part_of is None
        ]
        columns = [column for column, _, _ in entries if column.name in scores.ranks]
        ranked = [column.name for column in columns if column.is_ranked]
        controls = [column.name for column in columns if column.is_control]
        means = {
            measure.key: Means(
                measure.key,
                hits_at(scores.ranks, way, depth, len(data)),
                np.arange(len(data)),
                counts,
                confidence=stats.confidence,
            )
            for measure, way, depth in MEASURES
        }
        against = {key: each.against_control(ranked, controls) for key, each in means.items()}
        return MeasuredResult(
            experiment="retrieval",
            dataset=data.name,
            facts={"Images": len(data)},
            settings={
                "replicates": stats.replicates,
                "confidence": stats.confidence,
                "seed": stats.seed,
            },
            metrics=tuple(
                outcome.result(c, _recalls(means, column.name, scores))
                for column, outcome, c in entries
            ),
            declared=tuple(measure for measure, _, _ in MEASURES),
            comparisons={key: each.comparisons(ranked) for key, each in means.items()},
            controls={key: each for key, each in against.items() if each is not None},
            notes=("Equal scores count against a metric.",),
        )

    def printout(self, summary: MeasuredResult, record: RunRecord, file: Path) -> str:
        return printout(summary, file)


def _recalls(means: Mapping[str, Means], name: str, scores: SearchScores) -> Measured | None:
    """The recalls of a column; `None` where it has no ranks."""
    if name not in scores.ranks:
        return None
    return Measured(values={key: each.estimate(name) for key, each in means.items()})


def _ranks(outcome: MetricScores, scores: Floats) -> dict[str, SearchRanks]:
    """Column → the ranks by its scores; parts of other columns are left out."""
    return {
        column.name: ranks_of(table if column.higher_is_better else -table)
        for column, table in zip(outcome.columns, scores, strict=True)
        if column.part_of is None
    }


def _failed(outcome: MetricScores, error: ValueError) -> MetricScores:
    return MetricScores(
        outcome.family, outcome.columns, outcome.signatures, "failed", str(error),
        seconds=outcome.seconds,
    )  # fmt: skip


def _table(
    data: CaptionDataset, outcome: MetricScores, name: str, ranks: SearchRanks
) -> pd.DataFrame:
    """One row an image: the score of its own caption, and both ranks, 1 = first."""
    assert outcome.scores is not None
    column = [c.name for c in outcome.columns].index(name)
    return pd.DataFrame(
        {
            "image_id": [data.image_ids[i] for i in ranks.items],
            "metric": name,
            "score": outcome.scores[ranks.items, column],
            "rank_of_caption": ranks.image_to_text + 1,
            "rank_of_image": ranks.text_to_image + 1,
        }
    )
