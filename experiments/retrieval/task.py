"""Retrieval: `python -m metaeval experiment=retrieval dataset=coco_val2017 dataset.limit=1000`.

Every metric that can score any caption with any image is used as a search: is an image's own
caption the best of all captions, and is a caption's own image the best of all images?
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.experiments import (
    HUMAN,
    CaptionDataset,
    ConfigError,
    Floats,
    Measure,
    MeasuredResult,
    Metric,
    MetricExperiment,
    MetricScores,
    RunRecord,
    Version,
    describe_dataset,
    open_store,
    require_captions,
    write_dataset,
)
from metaeval.experiments.measure import Items, MeanOutcome, Outcomes, measure, of_stats
from metaeval.metrics.base import Scorer, Scores
from metaeval.progress import progress_bar
from metaeval.runs import files
from metaeval.runs.store import CacheError, Store, content_digest
from metaeval.scoring import bind, checked_scores, failed_with, refuse_equal_columns, with_verdict

# a measure, the field of `SearchRanks` that it is of, and how many places count
MEASURES = tuple(
    (
        Measure(f"{way}_R{k}", f"R@{k}, {way.replace('_', ' ')}", unit="share", primary=k == 1),
        way,
        k,
    )
    for way in ("image_to_text", "text_to_image")
    for k in (1, 5, 10)
)
Ints = npt.NDArray[np.int64]


class SearchRanks(NamedTuple):
    """The items that take part [n], and the rank of each one's own match, 0 = first, both ways."""

    items: Ints
    image_to_text: Ints
    text_to_image: Ints


def ranks_of(scores: Floats) -> SearchRanks:
    """The ranks from scores [captions, images], more is better; caption i belongs to image i.

    A rank counts the others with a score at least as high: ties count against the metric. An image
    or caption that has no score with any other leaves with its counterpart; ValueError where single
    scores are still missing then.

    >>> ranks_of(np.array([[3.0, 1.0], [2.0, 2.0]]))
    SearchRanks(items=array([0, 1]), image_to_text=array([0, 0]), text_to_image=array([0, 1]))
    """
    missing = np.isnan(scores)
    items = np.flatnonzero(~(missing.all(axis=0) | missing.all(axis=1)))
    kept = scores[np.ix_(items, items)]
    if np.isnan(kept).any():
        raise ValueError("some pairs of a caption and an image have no score")
    own = np.diag(kept)
    return SearchRanks(
        items,
        (kept >= own[None, :]).sum(axis=0) - 1,
        (kept >= own[:, None]).sum(axis=1) - 1,
    )


def hits_at(ranks: Mapping[str, SearchRanks], way: str, depth: int, n: int) -> dict[str, Floats]:
    """Column → [n] whether a query's own match is among the first `depth`; NaN without a rank."""
    hits = {}
    for name, of_column in ranks.items():
        hits[name] = np.full(n, np.nan)
        hits[name][of_column.items] = getattr(of_column, way) < depth
    return hits


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
    images = files.digest(b"".join(files.digest(scorer.context(i)) for i in range(n_images)))
    namespace = f"retrieval:{scorer.signatures}"
    table = np.empty((len(scorer.columns), len(captions), n_images))
    rows = max(1, BLOCK // n_images)
    prepared, computed = False, 0
    for start in progress_bar(range(0, len(captions), rows), desc=scorer.columns[0].name):
        block = captions[start : start + rows]
        key, size = files.digest(images + content_digest(block)), len(block) * n_images
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


MOST_IMAGES = 5000  # a metric's scores are held in memory: 200 MB a column with so many


@dataclass(frozen=True, slots=True)
class SearchScores:
    """The outcomes of all metrics, and the ranks of each column that is not a part."""

    metrics: list[MetricScores]
    ranks: dict[str, SearchRanks]


class Retrieval(
    MetricExperiment[CaptionDataset, SearchScores],
    name="retrieval",
    stored=True,
    title="Retrieval",
    question="Does a metric find an image's own caption, and a caption's own image?",
    data=CaptionDataset,
    needs="experiment=retrieval needs images with captions (coco_val2017, scenes, own)",
):
    """Each image's human caption among the human captions of all images, and the other way."""

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset: CaptionDataset = super().load(config)
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
        write_dataset(record, data, ((i, Version(HUMAN, 0, c, c)) for i, c in captioned))

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> SearchScores:
        outcomes: list[MetricScores] = []
        ranks: dict[str, SearchRanks] = {}
        tables = []
        with open_store(record.config) as store:
            for metric in metrics.values():
                outcome, scores = score_every_pair(metric, data, data.human, store)
                of_metric: dict[str, SearchRanks] = {}
                pairs = [] if scores is None else zip(outcome.columns, scores, strict=True)
                try:
                    of_metric = {
                        column.name: ranks_of(table if column.higher_is_better else -table)
                        for column, table in pairs
                        if column.part_of is None
                    }
                except ValueError as error:
                    outcome = replace(outcome, status="failed", reason=str(error), scores=None)
                outcomes.append(outcome)
                ranks |= of_metric
                tables += [_table(data, outcome, name, r) for name, r in of_metric.items()]
        refuse_equal_columns((o.family, o.columns) for o in outcomes)
        if tables:
            table = pa.Table.from_pandas(pd.concat(tables), preserve_index=False)
            files.write_arrow(record.out / files.SCORES, table)
        return SearchScores(outcomes, ranks)

    def statistics(
        self, data: CaptionDataset, scores: SearchScores, record: RunRecord
    ) -> MeasuredResult:
        stats, items = record.config.stats, Items(np.arange(len(data)))
        columns = [column for outcome in scores.metrics for column in outcome.columns]
        recall = MeanOutcome(items, items.resamples(stats))
        measured = measure(
            [
                Outcomes(m, hits_at(scores.ranks, way, k, len(data)), recall, family=m.key)
                for m, way, k in MEASURES
            ],
            columns,
            stats.confidence,
        )
        return measured.result(
            scores.metrics,
            left_out=[column.name for column in columns if column.part_of is not None],
            experiment=self.name,
            dataset=data.name,
            facts={"Images": len(data)},
            settings=of_stats(stats),
            declared=tuple(m for m, _, _ in MEASURES),
            notes=("Equal scores count against a metric.",),
        )


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
