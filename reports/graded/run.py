"""A finished run as the report sees it: its files, read once, in arrays of one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.runs import files as results
from reports.graded.diff_markup import marked
from reports.graded.row_kind import told


@dataclass(frozen=True)
class Run:
    """One run directory in memory.

    `sets` are the records of statistics.json in ascending level (0 = worst). With s sets, n images
    and c metric columns that ran, `captions[s][n]` holds marked captions (see
    `reports.graded.diff_markup`; None where a set lacks the image), `applied` is bool [s, n] and
    `scores` float64 [c, s, n], NaN where there is no score. `explanations` are the metrics of
    explanations.json, none where the run has no such file.
    """

    directory: Path
    statistics: Mapping[str, Any]
    info: Mapping[str, Any]
    config: str
    sets: tuple[Mapping[str, Any], ...]
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
    def metrics(self) -> list[Mapping[str, Any]]:
        """The records to tell of, in the order of the configuration."""
        return list(told(self.statistics["metrics"]))

    @property
    def seed(self) -> int:
        return int(self.info.get("seed") or 0)


def commonest(run: Run, column: str) -> tuple[float, float]:
    """The most frequent score of a column, and the share of scored captions that have it."""
    values = run.scores[run.columns.index(column)].ravel()
    values = values[~np.isnan(values)]
    if not values.size:
        return float("nan"), 0.0
    unique, counts = np.unique(values, return_counts=True)
    top = int(counts.argmax())
    return float(unique[top]), float(counts[top] / values.size)


def load(directory: Path) -> Run:
    """Read all files of a run; `InputError` names the file that is missing or broken."""
    statistics = results.read_json(directory / results.STATISTICS)
    info = results.read_json(directory / results.RUN)
    config, explained = directory / results.CONFIG, directory / results.EXPLANATIONS
    references = results.read_table(directory / results.REFERENCES)
    captions = results.read_table(directory / results.CAPTIONS)
    scores = results.read_table(directory / results.SCORES)

    images = pd.Index(references["image_id"])
    if not images.is_unique:
        raise InputError(
            "an image occurs twice", file=directory / results.REFERENCES, field="image_id"
        )
    sets = tuple(sorted(statistics["sets"], key=lambda s: (s["level"], s["name"])))
    names = pd.Index([s["name"] for s in sets])
    columns = tuple(m["metric"] for m in statistics["metrics"] if m["status"] == "ok")

    shape = (len(names), len(images))
    at = _cells(captions, names, images, directory / results.CAPTIONS)
    text = np.full(shape, None, dtype=object)
    text[at] = [
        marked(source, caption, edits)
        for source, caption, edits in zip(
            captions["source_caption"], captions["caption"], captions["edits"], strict=True
        )
    ]
    source = np.full(len(images), "", dtype=object)
    source[at[1]] = captions["source_caption"]
    applied = np.ones(shape, dtype=bool)
    applied[at] = captions["applied"]

    kept = scores[scores["metric"].isin(columns)]
    column = pd.Index(columns).get_indexer(pd.Index(kept["metric"]))
    values = np.full((len(columns), *shape), np.nan)
    values[(column, *_cells(kept, names, images, directory / results.SCORES))] = kept["score"]

    return Run(
        directory=directory,
        statistics=statistics,
        info=info,
        config=config.read_text(encoding="utf-8") if config.is_file() else "",
        sets=sets,
        image_ids=tuple(images.tolist()),
        image_paths=tuple(p if isinstance(p, str) else None for p in references["image_path"]),
        sources=tuple(source),
        references=tuple(tuple(r) for r in references["references"]),
        captions=tuple(tuple(row) for row in text),
        applied=applied,
        columns=columns,
        scores=values,
        explanations=results.read_json(explained)["metrics"] if explained.is_file() else {},
    )


def _cells(
    table: pd.DataFrame, sets: pd.Index[Any], images: pd.Index[Any], file: Path
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Row → (set index, image index)."""
    row, image = (
        sets.get_indexer(pd.Index(table["set"])),
        images.get_indexer(pd.Index(table["image_id"])),
    )
    for index, field in ((row, "set"), (image, "image_id")):
        if (index < 0).any():
            stray = table[field].iloc[int(np.argmax(index < 0))]
            raise InputError(
                f"'{stray}' is not among those of the run's other files", file=file, field=field
            )
    return row, image
