"""The judged captions of a run as arrays: what every statistic is computed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.measure import once_each
from metaeval.experiments.scores import scored_columns
from metaeval.runs import files
from metaeval.runs.records import HUMAN
from metaeval.scoring import MetricScores
from metaeval.stats.correlation.correlations import (
    Correlations,
    CorrelationValues,
    WeightedCorrelations,
    correlations,
)
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats, encode

Correlation = Literal["pearson", "spearman", "kendall_tau_b", "kendall_tau_c"]
SYMBOL: Mapping[Correlation, str] = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall_tau_b": "τ-b",
    "kendall_tau_c": "τ-c",
}


class JudgmentSettings(NamedTuple):
    """What the statistics depend on, besides the data.

    `fitted` is whether fitted controls were made.
    """

    replicates: int
    confidence: float
    seed: int
    fitted: bool | Literal["text"] = True


class RankedScores(NamedTuple):
    """One score of a metric that ran: its name and its scores [n], more is better."""

    name: str
    scores: Floats


class View(NamedTuple):
    """A part of the judged captions that has numbers of its own: "without Human", "8k"."""

    name: str
    captions: npt.NDArray[np.bool_]


class Ratings(NamedTuple):
    """The ratings of one dimension, as rows of correlations.

    `row` [rows] is the caption of each row, `value` [rows] its rating; `mean` [n] the mean rating
    of each caption; `image` [n] the number of each caption's image.
    """

    row: npt.NDArray[np.intp]
    value: Floats
    mean: Floats
    image: npt.NDArray[np.int64]
    n_images: int

    def images_of(self, scores: Floats) -> int:
        """How many images have a caption with a rating and a score [n]."""
        return len(np.unique(self.image[~(np.isnan(self.mean) | np.isnan(scores))]))


# scores [n] → their correlations with the ratings, over the rows, and the replicates of these
RowCorrelations = Callable[[Floats], tuple[CorrelationValues, Correlations]]


def row_correlations(given: Ratings, counts: Counts) -> RowCorrelations:
    """The correlations of scores with the ratings of a dimension; equal scores are computed once"""

    def of_rows(x: Floats) -> tuple[CorrelationValues, Correlations]:
        unit = given.image[given.row]
        weighted = WeightedCorrelations(x, given.value, unit, given.n_images)
        return correlations(x, given.value), weighted.of(counts)

    once = once_each(of_rows)
    return lambda scores: once(scores[given.row])


class Columns(NamedTuple):
    """The columns that ran, and which of them are ranked or are controls."""

    all: Sequence[RankedScores]
    ranked: Sequence[RankedScores]
    controls: Sequence[RankedScores]

    @classmethod
    def of(cls, scored: Sequence[MetricScores]) -> Columns:
        """The columns of metrics; more is better in each."""
        every = [
            (column, RankedScores(column.name, values if column.higher_is_better else -values))
            for column, values in scored_columns(scored)
        ]
        varying = [(column, one) for column, one in every if varies(one)]
        return cls(
            [one for _, one in every],
            [one for column, one in varying if column.is_ranked],
            [one for column, one in varying if column.control and not column.is_ranked],
        )


class Sample(NamedTuple):
    """What every statistic of a run is computed on.

    `image` [n] is the number of each caption's image, `counts` [replicates, images] the resampled
    images, `without_references` [n] marks captions without references.
    """

    judged: Judgments
    image: npt.NDArray[np.int64]
    counts: Counts
    systems: tuple[str, ...]
    views: Sequence[View]
    ratings: Mapping[str, Ratings]
    without_references: npt.NDArray[np.bool_]


def sample_of(judged: Judgments, settings: JudgmentSettings) -> Sample:
    """The ratings, images, resampled images and parts of judged captions."""
    image = image_numbers(judged)
    n_images = len(np.unique(image))
    systems = sorted({j.system for j in judged.judged if j.system is not None})
    ratings = {}
    for name in judged.dimensions:
        row, value = judged.rows(name)
        ratings[name] = Ratings(row, value, judged.means(name), image, n_images)
    return Sample(
        judged,
        image,
        bootstrap_counts(n_images, settings.replicates, settings.seed),
        tuple(systems),
        views_of(judged),
        ratings,
        np.array([not j.references for j in judged.judged], dtype=np.bool_),
    )


def image_numbers(judged: Judgments) -> npt.NDArray[np.int64]:
    """[n] The number of each judged caption's image, in the order of ids."""
    return encode([j.image for j in judged.judged])[1]


def quoted_statistic(judged: Judgments) -> Correlation:
    """The correlation that the protocol is quoted by."""
    return next(name for name in SYMBOL if name == judged.protocol.statistic)


def row_counts(judged: Judgments) -> dict[str, int]:
    """Dimension → how many rows the correlations have."""
    return {name: len(judged.rows(name)[0]) for name in judged.dimensions}


def views_of(judged: Judgments) -> list[View]:
    """The parts that have numbers of their own: without people's captions, and each subset."""
    views = []
    human = np.array([j.system == HUMAN for j in judged.judged], dtype=np.bool_)
    if human.any() and not human.all():
        views.append(View(f"without {HUMAN}", ~human))
    subsets = list(dict.fromkeys(j.subset for j in judged.judged if j.subset is not None))
    if len(subsets) > 1:
        views += [
            View(subset, np.array([j.subset == subset for j in judged.judged], dtype=np.bool_))
            for subset in subsets
        ]
    return views


def varies(column: RankedScores) -> bool:
    """Whether a column has two different scores."""
    scored = column.scores[~np.isnan(column.scores)]
    return len(scored) > 1 and bool((scored != scored[0]).any())


# The files of a run against human judgements, which have schemas of their own.
#
# `judgments.parquet`: one judged caption a row; `scores.parquet`: one score a row, with the number
# of its caption. See docs/judgments.md.


def write_judgments(out: Path, judged: Judgments, paths: Sequence[str | None]) -> None:
    """`caption` (its number), image_id, system, candidate, references, the image's file (`paths`,
    of each item of the dataset), and the ratings."""
    columns: dict[str, object] = {
        "caption": pa.array(range(len(judged)), pa.int64()),
        "image_id": pa.array([j.image for j in judged.judged], pa.string()),
        "system": pa.array([j.system for j in judged.judged], pa.string()),
        "candidate": pa.array([j.candidate for j in judged.judged], pa.string()),
        "references": pa.array([list(j.references) for j in judged.judged], pa.list_(pa.string())),
    }
    columns["image_path"] = pa.array([paths[k] for k in judged.image_index], pa.string())
    for name in judged.dimensions:
        given = [list(j.human.get(name, ())) for j in judged.judged]
        columns[f"human_{name}"] = pa.array(given, pa.list_(pa.float64()))
    files.write_arrow(out / files.JUDGMENTS, pa.table(columns))


def write_judged_scores(
    out: Path, scored: Sequence[MetricScores], fitted: Sequence[tuple[str, Floats]]
) -> None:
    """caption, metric, score (NaN = could not be scored); the ok metrics, one after another, and
    then the predictions of fitted controls."""
    parts = [(column.name, values) for column, values in scored_columns(scored)]
    write_score_columns(out, "caption", [*parts, *fitted])


def write_score_columns(
    out: Path, unit: str, parts: Sequence[tuple[str, Floats]], **constant: Sequence[int]
) -> None:
    """scores.parquet from the scores of each column; `constant` adds a column per part."""
    empty: Floats = np.empty(0)
    sizes = [len(v) for _, v in parts]
    numbers = [np.arange(n) for n in sizes]
    names = np.array([name for name, _ in parts], dtype=object)
    columns = {
        unit: pa.array(np.concatenate([np.arange(0), *numbers]), pa.int64()),
        **{
            key: pa.array(np.repeat(np.asarray(values, dtype=np.int64), sizes), pa.int64())
            for key, values in constant.items()
        },
        "metric": pa.array(np.repeat(names, sizes), pa.string()),
        "score": pa.array(np.concatenate([v for _, v in parts] or [empty]), pa.float64()),
    }
    files.write_arrow(out / files.SCORES, pa.table(columns))
