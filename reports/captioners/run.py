"""A finished run of `experiment=models` as its report sees it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.runs import files as results

DISAGREEMENT = "disagreement.csv"
HUMAN = "Human"


@dataclass(frozen=True)
class ModelsRun:
    """One run directory in memory.

    With s systems in order of mean rank (the best first), n images and c sentence scores that are
    no components of others, `captions[s][n]` holds captions (`None` where a system lacks the
    image), `scores` is float64 [c, s, n], NaN where there is no score, and `disagreement` [n].
    """

    directory: Path
    statistics: Mapping[str, Any]
    info: Mapping[str, Any]
    config: str
    systems: tuple[str, ...]
    image_ids: tuple[int | str, ...]
    image_paths: tuple[str | None, ...]
    references: tuple[tuple[str, ...], ...]
    captions: tuple[tuple[str | None, ...], ...]
    columns: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    disagreement: npt.NDArray[np.float64]

    @property
    def metrics(self) -> list[Mapping[str, Any]]:
        """The records of scores of systems that ran, without components of others."""
        return [
            r for r in self.statistics["metrics"] if r["status"] == "ok" and r["part_of"] is None
        ]

    @property
    def headlines(self) -> list[Mapping[str, Any]]:
        """The records that stand for their metrics."""
        return [r for r in self.metrics if r["headline"]]

    @property
    def absent(self) -> list[Mapping[str, Any]]:
        """One record per metric that did not run, and reason."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for r in self.statistics["metrics"]:
            if r["status"] != "ok":
                found.setdefault((r["family"], str(r["reason"])), r)
        return list(found.values())

    @property
    def alpha(self) -> float:
        """The level of the tests: what the intervals leave out."""
        return 1 - float(self.statistics["settings"]["confidence"])

    def colour(self, system: str) -> str:
        """The class of a system's colour: the best has the last."""
        return f"l{len(self.systems) - 1 - self.systems.index(system)}"


def load(directory: Path) -> ModelsRun:
    """Read all files of a run; `InputError` names the file that is missing or broken."""
    statistics = results.read_json(directory / results.STATISTICS)
    if statistics.get("experiment") != "models":
        raise InputError(
            "these are not the statistics of experiment=models",
            file=directory / results.STATISTICS,
            field="experiment",
        )
    references = results.read_table(directory / results.REFERENCES)
    captions = results.read_table(directory / results.CAPTIONS)
    scores = results.read_table(directory / results.SCORES)
    config = directory / results.CONFIG
    images = pd.Index(references["image_id"])
    ranks = {s["name"]: s["mean_rank"] for s in statistics["systems"]}
    systems = sorted(ranks, key=lambda name: (ranks[name] is None, ranks[name] or 0.0))
    names = pd.Index(systems)
    parts = {r["column"] for r in statistics["metrics"] if r["part_of"] is not None}
    columns = [c for c in dict.fromkeys(scores["metric"]) if c not in parts]

    text = np.full((len(systems), len(images)), None, dtype=object)
    machines = captions[captions["set"] != HUMAN]
    text[_cells(machines, names, images, directory / results.CAPTIONS)] = machines["caption"]
    kept = scores[scores["metric"].isin(columns)]
    values = np.full((len(columns), len(systems), len(images)), np.nan)
    column = pd.Index(columns).get_indexer(pd.Index(kept["metric"]))
    values[(column, *_cells(kept, names, images, directory / results.SCORES))] = kept["score"]
    return ModelsRun(
        directory=directory,
        statistics=statistics,
        info=results.read_json(directory / results.RUN),
        config=config.read_text(encoding="utf-8") if config.is_file() else "",
        systems=tuple(systems),
        image_ids=tuple(images.tolist()),
        image_paths=tuple(p if isinstance(p, str) else None for p in references["image_path"]),
        references=tuple(tuple(r) for r in references["references"]),
        captions=tuple(tuple(row) for row in text),
        columns=tuple(columns),
        scores=values,
        disagreement=_disagreement(directory / DISAGREEMENT, images),
    )


def _cells(
    table: pd.DataFrame, systems: pd.Index[Any], images: pd.Index[Any], file: Path
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Row → (system, image)."""
    system = systems.get_indexer(pd.Index(table["set"]))
    image = images.get_indexer(pd.Index(table["image_id"]))
    for index, field in ((system, "set"), (image, "image_id")):
        if (index < 0).any():
            stray = table[field].iloc[int(np.argmax(index < 0))]
            raise InputError(
                f"'{stray}' is not among those of the run's other files", file=file, field=field
            )
    return system, image


def _disagreement(file: Path, images: pd.Index[Any]) -> npt.NDArray[np.float64]:
    """The disagreement of each image, NaN where the file has none."""
    if not file.is_file():
        raise InputError("no such file: is this the directory of a finished run?", file=file)
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    try:
        found = {row["image_id"]: float(row["disagreement"] or "nan") for row in rows}
    except (KeyError, ValueError) as error:
        raise InputError(f"is not as it was written ({error})", file=file) from None
    return np.array([found.get(str(i), float("nan")) for i in images])
