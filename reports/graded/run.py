"""A finished run of graded corruption as its report reads it: its files in arrays of one shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.reports.graded.diff_markup import marked
from metaeval.reports.shared.formatting import MOST_CHARACTERS, cut
from metaeval.reports.shared.run import LoadedRun, cell_indices, image_paths, load_run_files
from metaeval.results.graded import CaptionSet, GradedResult, GradedStatistics
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.columns import (
    APPLIED,
    CAPTION,
    EDITS,
    IMAGE_ID,
    METRIC,
    REFERENCES,
    SCORE,
    SOURCE_CAPTION,
)
from metaeval.runs.records import PaperValue, paper_value

Metric = MetricResult[GradedStatistics]


@dataclass(frozen=True)
class GradedRun(LoadedRun[GradedResult]):
    """One run directory in memory.

    `sets` are in ascending level (0 = worst). With s sets, n images
    and c metric columns that ran, `captions[s][n]` holds marked captions (see
    `metaeval.reports.graded.diff_markup`; None where an image is missing in a set), `applied` is
    bool [s, n] and `scores` float64 [c, s, n], NaN for missing scores. `explanations` are the
    metrics of explanations.json, none where the run has no such file.
    """

    sets: tuple[CaptionSet, ...]
    image_ids: tuple[int | str, ...]
    image_paths: tuple[str | None, ...]
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    captions: tuple[tuple[str | None, ...], ...]
    applied: npt.NDArray[np.bool_]
    columns: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    explanations: Mapping[str, Any]

    @property
    def seed(self) -> int:
        return self.info.seed or 0

    @property
    def names(self) -> list[str]:
        """The names of the sets, worst first."""
        return [s.name for s in self.sets]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that the page shows, in the order of the configuration."""
        return self.result.visible

    @property
    def ran(self) -> dict[str, Metric]:
        """Column → metric, of the columns that ran."""
        return {m.name: m for m in self.metrics if m.ok}

    @property
    def comparable(self) -> bool:
        """Whether published values, if there are any, can be compared with this run's."""
        return self.info.published is None or self.info.published.comparable

    @property
    def why_not_comparable(self) -> str:
        """Why published values cannot be compared; empty where they can."""
        published = self.info.published
        return (
            "" if published is None or published.comparable else published.why_not or "other data"
        )

    def paper(self, metric: Metric) -> PaperValue | None:
        """The published value of a column; `None` where nothing was published."""
        values = self.info.published.rank_order_rho if self.info.published else {}
        return paper_value(values, metric.name, metric.column.variant_of)

    def places(self) -> dict[str, npt.NDArray[np.intp]]:
        """Column → the place of each image [n] in the column's `worst_images`, worst first.

        All other images have the place n.
        """
        position = {image: k for k, image in enumerate(self.image_ids)}
        places = {}
        for column, metric in self.ran.items():
            place = np.full(len(position), len(position), dtype=np.intp)
            worst = [position[image] for image in metric.numbers.worst_images]
            place[worst] = np.arange(len(worst))
            places[column] = place
        return places

    def worst_first(self) -> list[int]:
        """Positions of images by their worst inversions, taking turns among the metrics."""
        turns = np.full(len(self.image_ids), len(self.image_ids))
        for place in self.places().values():
            turns = np.minimum(turns, place)
        return [int(i) for i in np.argsort(turns, kind="stable")]

    def commonest(self, column: str) -> tuple[float, float]:
        """The most frequent score of a column, and the share of scored captions that have it."""
        values = self.scores[self.columns.index(column)].ravel()
        values = values[~np.isnan(values)]
        if not values.size:
            return float("nan"), 0.0
        unique, counts = np.unique(values, return_counts=True)
        top = int(counts.argmax())
        return float(unique[top]), float(counts[top] / values.size)


def _shown(source: str, caption: str, edits: Iterable[Mapping[str, Any]] | None) -> str:
    """A caption with its changes marked; one that is cut has no marks."""
    if max(len(source), len(caption)) > MOST_CHARACTERS:
        return cut(caption)
    return marked(source, caption, edits)


def read_graded_run(directory: Path) -> GradedRun:
    """Read all files of a run; `InputError` names the file that is missing or broken."""
    run = load_run_files(directory, GradedResult)
    explanations = directory / files.EXPLANATIONS
    references = files.read_table(directory / files.REFERENCES)
    captions = files.read_table(directory / files.CAPTIONS)
    scores = files.read_table(directory / files.SCORES)

    images = pd.Index(references[IMAGE_ID])
    if not images.is_unique:
        raise InputError(
            "an image occurs twice", file=directory / files.REFERENCES, field="image_id"
        )
    sets = tuple(sorted(run.result.sets, key=lambda s: (s.level, s.name)))
    names = pd.Index([s.name for s in sets])
    columns = tuple(m.name for m in run.result.visible if m.ok)

    shape = (len(names), len(images))
    cells = cell_indices(captions, names, images, directory / files.CAPTIONS)
    text = np.full(shape, None, dtype=object)
    text[cells] = [
        _shown(source, caption, edits)
        for source, caption, edits in zip(
            captions[SOURCE_CAPTION], captions[CAPTION], captions[EDITS], strict=True
        )
    ]
    sources = np.full(len(images), "", dtype=object)
    sources[cells[1]] = [cut(source) for source in captions[SOURCE_CAPTION]]
    applied = np.ones(shape, dtype=bool)
    applied[cells] = captions[APPLIED]

    shown_scores = scores[scores[METRIC].isin(columns)]
    column = pd.Index(columns).get_indexer(pd.Index(shown_scores[METRIC]))
    values = np.full((len(columns), *shape), np.nan)
    values[(column, *cell_indices(shown_scores, names, images, directory / files.SCORES))] = (
        shown_scores[SCORE]
    )

    return GradedRun(
        **vars(run),
        sets=sets,
        image_ids=tuple(images.tolist()),
        image_paths=image_paths(references),
        sources=tuple(sources),
        references=tuple(tuple(map(cut, r)) for r in references[REFERENCES]),
        captions=tuple(tuple(row) for row in text),
        applied=applied,
        columns=columns,
        scores=values,
        explanations=files.read_json(explanations)["metrics"] if explanations.is_file() else {},
    )
