"""A finished run of `experiment=captioners` as its report sees it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.readers.files import read_text
from metaeval.readers.tables import read_csv
from metaeval.readers.values import read_number
from metaeval.reports.shared.formatting import cut
from metaeval.reports.shared.run import LoadedRun, cell_indices, image_paths, load_run_files
from metaeval.results.captioners import CaptionersResult, CaptionersStatistics
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, HUMAN, IMAGE_ID, METRIC, REFERENCES, SCORE, SET
from metaeval.runs.csv_text import without_apostrophe

SystemsScore = MetricResult[CaptionersStatistics]


@dataclass(frozen=True)
class CaptionersRun(LoadedRun[CaptionersResult]):
    """One run directory in memory.

    With s systems in order of mean rank (the best first), n images and c sentence scores that are
    no parts of others, `captions[s][n]` holds captions (`None` where a system has none of the
    image), `scores` is float64 [c, s, n], NaN for missing scores, and `disagreement` [n].
    """

    systems: tuple[str, ...]
    image_ids: tuple[int | str, ...]
    image_paths: tuple[str | None, ...]
    references: tuple[tuple[str, ...], ...]
    captions: tuple[tuple[str | None, ...], ...]
    columns: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    disagreement: npt.NDArray[np.float64]

    @property
    def scores_of_systems(self) -> tuple[SystemsScore, ...]:
        """The scores of systems that ran, without parts of others."""
        return self.result.scores

    @property
    def headlines(self) -> tuple[SystemsScore, ...]:
        """The scores that represent their metrics."""
        return self.result.headlines

    @property
    def absent(self) -> list[SystemsScore]:
        """One column for each metric that did not run and reason."""
        metrics: dict[tuple[str, str | None], SystemsScore] = {}
        for metric in self.result.metrics:
            if not metric.ok:
                metrics.setdefault((metric.family, metric.reason), metric)
        return list(metrics.values())

    @property
    def alpha(self) -> float:
        """The level of the tests: what the intervals leave out."""
        return self.result.settings.alpha

    def colour(self, system: str) -> str:
        """The class of a system's colour: the best has the last."""
        return f"l{len(self.systems) - 1 - self.systems.index(system)}"

    def most_disagreement_first(self) -> list[int]:
        """Positions of images by disagreement, the greatest first, undefined ones last."""
        values = np.where(np.isnan(self.disagreement), -1.0, self.disagreement)
        return [int(i) for i in np.argsort(-values, kind="stable")]


def read_captioners_run(directory: Path) -> CaptionersRun:
    """Read all files of a run; `InputError` names the file that is missing or broken."""
    run = load_run_files(directory, CaptionersResult)
    references = files.read_table(directory / files.REFERENCES)
    captions = files.read_table(directory / files.CAPTIONS)
    scores = files.read_table(directory / files.SCORES)
    images = pd.Index(references[IMAGE_ID])
    systems = run.result.by_mean_rank()
    names = pd.Index(systems)
    parts = {
        m.numbers.sentence_column
        for m in run.result.metrics
        if m.ok and m.column.part_of is not None
    }
    columns = [c for c in dict.fromkeys(scores[METRIC]) if c not in parts]

    text = np.full((len(systems), len(images)), None, dtype=object)
    machines = captions[captions[SET] != HUMAN]
    cells = cell_indices(machines, names, images, directory / files.CAPTIONS)
    text[cells] = [cut(caption) for caption in machines[CAPTION]]
    shown_scores = scores[scores[METRIC].isin(columns)]
    values = np.full((len(columns), len(systems), len(images)), np.nan)
    column = pd.Index(columns).get_indexer(pd.Index(shown_scores[METRIC]))
    values[(column, *cell_indices(shown_scores, names, images, directory / files.SCORES))] = (
        shown_scores[SCORE]
    )
    return CaptionersRun(
        **vars(run),
        systems=tuple(systems),
        image_ids=tuple(images.tolist()),
        image_paths=image_paths(references),
        references=tuple(tuple(map(cut, r)) for r in references[REFERENCES]),
        captions=tuple(tuple(row) for row in text),
        columns=tuple(columns),
        scores=values,
        disagreement=_disagreement(directory / files.DISAGREEMENT, images),
    )


def _disagreement(file: Path, images: pd.Index[Any]) -> npt.NDArray[np.float64]:
    """The disagreement of each image, NaN where the file has none."""
    if not file.is_file():
        raise InputError("file not found; give the directory of a finished run", file=file)
    values: dict[str, float] = {}
    for where, row in read_csv(read_text(file)):
        if not {"image_id", "disagreement"} <= row.keys():
            raise InputError("a column is missing; the file was changed after the run", file=file)
        if cell := row["disagreement"]:
            image = without_apostrophe(row["image_id"])
            values[image] = read_number(cell, file, where, "disagreement")
    return np.array([values.get(str(i), float("nan")) for i in images])
