"""The judged captions of a run as arrays: what every statistic is computed on."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.fitted import (
    IMAGE,
    REFERENCES,
    TEXT,
    caption_features,
    image_features,
    predictions,
    reference_features,
)
from metaeval.experiments.measure import Mask, once_each
from metaeval.experiments.scores import open_store
from metaeval.runs import files
from metaeval.runs.records import HUMAN
from metaeval.runs.store import Store
from metaeval.stats.correlation.correlations import (
    Correlations,
    WeightedCorrelations,
    correlations,
)
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats, encode

SYMBOL = {"pearson": "r", "spearman": "ρ", "kendall_tau_b": "τ-b", "kendall_tau_c": "τ-c"}


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
RowCorrelations = Callable[[Floats], tuple[Correlations[float], Correlations[Floats]]]


def row_correlations(given: Ratings, counts: Counts) -> RowCorrelations:
    """The correlations of scores with the ratings of a dimension; equal scores are computed once"""

    def of_rows(x: Floats) -> tuple[Correlations[float], Correlations[Floats]]:
        unit = given.image[given.row]
        weighted = WeightedCorrelations(x, given.value, unit, given.n_images)
        return correlations(x, given.value), weighted.of(counts)

    once = once_each(of_rows)
    return lambda scores: once(scores[given.row])


class Sample(NamedTuple):
    """What every statistic of a run is computed on.

    `image` [n] is the number of each caption's image, `counts` [replicates, images] the resampled
    images; `system` [n] the place of each caption's system among `systems`, −1 without one; `views`
    are the parts of the captions [n] that have numbers of their own.
    """

    judged: Judgments
    image: npt.NDArray[np.int64]
    counts: Counts
    systems: Sequence[str]
    system: npt.NDArray[np.int64]
    views: Mapping[str, Mask]
    ratings: Mapping[str, Ratings]


def sample_of(judged: Judgments, stats: DictConfig) -> Sample:
    """The ratings, images, resampled images and parts of judged captions."""
    image = image_numbers(judged)
    n_images = len(np.unique(image))
    systems = sorted({j.system for j in judged.judged if j.system is not None})
    place: dict[str | None, int] = {name: k for k, name in enumerate(systems)}
    return Sample(
        judged,
        image,
        bootstrap_counts(n_images, stats.replicates, stats.seed),
        systems,
        np.array([place.get(j.system, -1) for j in judged.judged], dtype=np.int64),
        views_of(judged),
        {
            name: Ratings(*judged.rows(name), judged.means(name), image, n_images)
            for name in judged.dimensions
        },
    )


def image_numbers(judged: Judgments) -> npt.NDArray[np.int64]:
    """[n] The number of each judged caption's image, in the order of ids."""
    return encode([j.image for j in judged.judged])[1]


def row_counts(judged: Judgments) -> dict[str, int]:
    """Dimension → how many rows the correlations have."""
    return {name: len(judged.rows(name)[0]) for name in judged.dimensions}


def views_of(judged: Judgments) -> dict[str, Mask]:
    """The parts that have numbers of their own: without people's captions, and each subset."""
    views = {}
    human = np.array([j.system == HUMAN for j in judged.judged], dtype=np.bool_)
    if human.any() and not human.all():
        views[f"without {HUMAN}"] = ~human
    subset = np.array([j.subset for j in judged.judged], dtype=object)
    subsets = dict.fromkeys(name for name in subset if name is not None)
    return views | ({name: subset == name for name in subsets} if len(subsets) > 1 else {})


def varies(scores: Floats) -> bool:
    """Whether a column has two different scores."""
    known = scores[~np.isnan(scores)]
    return len(known) > 1 and bool((known != known[0]).any())


# The fitted controls of judged captions: regressions of the mean rating on what sees no truth.


class FittedControls(NamedTuple):
    """`features`: control → [n, k]. `predicted`: dimension → control → mean rating [n]."""

    features: Mapping[str, Floats]
    predicted: Mapping[str, Mapping[str, Floats]]

    def columns(self) -> list[tuple[str, Floats]]:
        """The predictions under the names that they have in scores.parquet."""
        several = len(self.predicted) > 1
        return [
            (f"{control} ({dimension})" if several else control, values)
            for dimension, of in self.predicted.items()
            for control, values in of.items()
        ]


def fitted_controls(
    judged: Judgments, which: bool | Literal["text"], config: DictConfig
) -> FittedControls:
    """The controls of the text, the references and the image; of the text alone, or none."""
    features: Mapping[str, Floats] = {}
    if which:
        with open_store(config) as store:
            features = _features(judged, store, text_alone=which == "text")
    image, seed = image_numbers(judged), config.stats.seed
    predicted = {
        name: {control: predictions(of, means, image, seed) for control, of in features.items()}
        for name, means in ((name, judged.means(name)) for name in judged.dimensions)
    }
    return FittedControls(features, predicted)


def _features(judged: Judgments, store: Store, *, text_alone: bool) -> Mapping[str, Floats]:
    """Fitted control → features [n, k]: of the caption, its references, the annotated objects.

    A control whose features no caption has is left out. NaN where one caption's are missing.
    """
    captions = [j.candidate for j in judged.judged]
    of_text = {TEXT: caption_features(judged.dataset, captions, judged.image_index, store)}
    if text_alone:
        return of_text
    features = {
        **of_text,
        REFERENCES: reference_features([j.references or () for j in judged.judged]),
        IMAGE: image_features(judged.dataset, judged.image_index),
    }
    return {name: table for name, table in features.items() if table is not None}


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
        "image_path": pa.array([paths[k] for k in judged.image_index], pa.string()),
    }
    for name in judged.dimensions:
        given = [list(j.human.get(name, ())) for j in judged.judged]
        columns[f"human_{name}"] = pa.array(given, pa.list_(pa.float64()))
    files.write_arrow(out / files.JUDGMENTS, pa.table(columns))


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
