"""Retrieval: `python -m metaeval experiment=retrieval dataset=coco_val2017 dataset.limit=1000`.

Every metric that can score any caption with any image is used as a search: is an image's own
caption the best of all captions, and is a caption's own image the best of all images?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from metaeval.experiments.record import RunRecord
from metaeval.experiments.retrieval.matrix import score_every_pair
from metaeval.experiments.retrieval.ranks import SearchRanks, ranks_of, recalls
from metaeval.experiments.scores import open_store
from metaeval.experiments.text_table import text_table
from metaeval.metrics.base import Metric
from metaeval.results.metric import MetricResult
from metaeval.results.retrieval import RetrievalResult, RetrievalSettings, RetrievalStatistics
from metaeval.runs import files
from metaeval.runs.columns import HUMAN
from metaeval.runs.records import Version
from metaeval.scoring import MetricScores, refuse_equal_columns
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
    report = "retrieval"

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
    ) -> RetrievalResult:
        stats = record.config.stats
        draws = (stats.replicates, stats.confidence, stats.seed)
        metrics = []
        for outcome in scores.metrics:
            for c, column in enumerate(outcome.columns):
                if column.part_of is not None:
                    continue
                ranks = scores.ranks.get(column.name)
                numbers = ranks and RetrievalStatistics(
                    n=len(ranks.items),
                    image_to_text=recalls(ranks.image_to_text, *draws),
                    text_to_image=recalls(ranks.text_to_image, *draws),
                )
                metrics.append(outcome.result(c, numbers))
        return RetrievalResult(
            dataset=data.name,
            metrics=tuple(metrics),
            n_images=len(data),
            settings=RetrievalSettings(
                replicates=stats.replicates, confidence=stats.confidence, seed=stats.seed
            ),
        )

    def printout(self, summary: RetrievalResult, record: RunRecord, file: Path) -> str:
        lines = [_line(metric) for metric in summary.metrics if metric.ok]
        absent = [f"{m.name} {m.status}: {m.reason}" for m in summary.metrics if not m.ok]
        return "\n".join([*text_table(lines, "recall, per cent"), *absent, f"{file.stem}: {file}"])


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


def _line(metric: MetricResult[RetrievalStatistics]) -> dict[str, str]:
    ways = {"i → t": metric.numbers.image_to_text, "t → i": metric.numbers.text_to_image}
    return {
        "metric": metric.name,
        **{
            f"{way} {name}": "–" if estimate.value is None else f"{100 * estimate.value:.1f}"
            for way, of_way in ways.items()
            for name, estimate in of_way.items()
        },
        "n": f"{metric.numbers.n:,}",
    }
