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
from metaeval.runs import files
from reports.shared.formatting import cut
from reports.shared.row_kind import Record
from reports.shared.run import FinishedRun, cell_indices, image_paths, read_run

EXPERIMENT = "captioners"
HUMAN = "Human"


@dataclass(frozen=True)
class CaptionersRun(FinishedRun):
    """One run directory in memory.

    With s systems in order of mean rank (the best first), n images and c sentence scores that are
    no components of others, `captions[s][n]` holds captions (`None` where a system lacks the
    image), `scores` is float64 [c, s, n], NaN where there is no score, and `disagreement` [n].
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
    def score_records(self) -> list[Record]:
        """The records of scores of systems that ran, without components of others."""
        return _whole(self.statistics["metrics"])

    @property
    def headlines(self) -> list[Record]:
        """The records that stand for their metrics."""
        return [r for r in self.score_records if r["headline"]]

    @property
    def human_records(self) -> list[Record]:
        """The records of sentence scores against Human, without components of others."""
        return _whole(self.statistics["against_human"])

    @property
    def absent(self) -> list[Record]:
        """One record per metric that did not run, and reason."""
        records: dict[tuple[str, str], Record] = {}
        for r in self.statistics["metrics"]:
            if r["status"] != "ok":
                records.setdefault((r["family"], str(r["reason"])), r)
        return list(records.values())

    @property
    def alpha(self) -> float:
        """The level of the tests: what the intervals leave out."""
        return 1 - float(self.statistics["settings"]["confidence"])

    def colour(self, system: str) -> str:
        """The class of a system's colour: the best has the last."""
        return f"l{len(self.systems) - 1 - self.systems.index(system)}"

    def most_disagreement_first(self) -> list[int]:
        """Positions of images by disagreement, the greatest first, undefined ones last."""
        values = np.where(np.isnan(self.disagreement), -1.0, self.disagreement)
        return [int(i) for i in np.argsort(-values, kind="stable")]


def _whole(records: list[Record]) -> list[Record]:
    return [r for r in records if r["status"] == "ok" and r["part_of"] is None]


def read_captioners_run(directory: Path) -> CaptionersRun:
    """Read all files of a run; `InputError` names the file that is missing or broken."""
    run = read_run(directory)
    if run.statistics.get("experiment") != EXPERIMENT:
        raise InputError(
            f"these are not the statistics of experiment={EXPERIMENT}",
            file=directory / files.STATISTICS,
            field="experiment",
        )
    references = files.read_table(directory / files.REFERENCES)
    captions = files.read_table(directory / files.CAPTIONS)
    scores = files.read_table(directory / files.SCORES)
    images = pd.Index(references["image_id"])
    ranks = {s["name"]: s["mean_rank"] for s in run.statistics["systems"]}
    systems = sorted(ranks, key=lambda name: (ranks[name] is None, ranks[name] or 0.0))
    names = pd.Index(systems)
    parts = {r["column"] for r in run.statistics["metrics"] if r["part_of"] is not None}
    columns = [c for c in dict.fromkeys(scores["metric"]) if c not in parts]

    text = np.full((len(systems), len(images)), None, dtype=object)
    machines = captions[captions["set"] != HUMAN]
    cells = cell_indices(machines, names, images, directory / files.CAPTIONS)
    text[cells] = [cut(caption) for caption in machines["caption"]]
    kept = scores[scores["metric"].isin(columns)]
    values = np.full((len(columns), len(systems), len(images)), np.nan)
    column = pd.Index(columns).get_indexer(pd.Index(kept["metric"]))
    values[(column, *cell_indices(kept, names, images, directory / files.SCORES))] = kept["score"]
    return CaptionersRun(
        **vars(run),
        systems=tuple(systems),
        image_ids=tuple(images.tolist()),
        image_paths=image_paths(references),
        references=tuple(tuple(map(cut, r)) for r in references["references"]),
        captions=tuple(tuple(row) for row in text),
        columns=tuple(columns),
        scores=values,
        disagreement=_disagreement(directory / files.DISAGREEMENT, images),
    )


def _disagreement(file: Path, images: pd.Index[Any]) -> npt.NDArray[np.float64]:
    """The disagreement of each image, NaN where the file has none."""
    if not file.is_file():
        raise InputError("no such file: is this the directory of a finished run?", file=file)
    values: dict[str, float] = {}
    for where, row in read_csv(read_text(file)):
        if not {"image_id", "disagreement"} <= row.keys():
            raise InputError("is not as it was written: a column is missing", file=file)
        if cell := row["disagreement"]:
            values[row["image_id"]] = read_number(cell, file, where, "disagreement")
    return np.array([values.get(str(i), float("nan")) for i in images])
