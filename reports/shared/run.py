"""A finished run as every page reads it, and what pages of several experiments read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.readers.files import read_text
from metaeval.reports.shared.row_kind import Record, visible_records
from metaeval.results.files import read_info, read_result
from metaeval.results.run import DatasetInfo, RunInfo, RunResult
from metaeval.runs import files
from metaeval.runs.records import ScoreColumn

_DECLARED = ("metric", *(f.name for f in fields(ScoreColumn) if f.name != "name"))


Result = TypeVar("Result", bound=RunResult[Any])


@dataclass(frozen=True)
class LoadedRun(Generic[Result]):
    """The files that every run has, read and checked.

    Attributes
    ----------
    directory
        The folder of the run.
    result
        The content of statistics.json.
    info
        The content of run.json.
    config
        The text of config.yaml; empty where the file is missing.
    """

    directory: Path
    result: Result
    info: RunInfo
    config: str

    @property
    def dataset(self) -> DatasetInfo:
        """The dataset as run.json describes it."""
        return self.info.dataset or DatasetInfo(name=self.result.dataset)

    @property
    def title(self) -> str:
        """The title of the experiment, or its name."""
        experiment = self.info.experiment
        return experiment.title if experiment is not None else self.result.experiment

    @property
    def question(self) -> str:
        """The question of the experiment."""
        return self.info.experiment.question if self.info.experiment is not None else ""


def load_run_files(directory: Path, expected: type[Result]) -> LoadedRun[Result]:
    """Read the files that every run has.

    Raises InputError where a file is missing or damaged, and where the result is of another class
    than `expected`.
    """
    path = directory / files.STATISTICS
    result = read_result(path)
    if not isinstance(result, expected):
        raise InputError(
            f"this is a run of '{result.experiment}', and this page shows other experiments",
            file=path,
            field="experiment",
        )
    config = directory / files.CONFIG
    text = read_text(config).text if config.is_file() else ""
    return LoadedRun(directory, result, read_info(directory / files.RUN), text)


@dataclass(frozen=True)
class FinishedRun:
    """The files that every run has: statistics.json, run.json, and the text of config.yaml."""

    directory: Path
    statistics: Mapping[str, Any]
    info: Mapping[str, Any]
    config: str

    @property
    def metrics(self) -> tuple[Record, ...]:
        """The records that the page shows, in the order of the configuration."""
        return visible_records(self.statistics["metrics"])

    @property
    def dataset(self) -> Mapping[str, Any]:
        """What run.json says of the dataset."""
        return self.info.get("dataset") or {}

    @property
    def title(self) -> str:
        experiment = self.info.get("experiment") or {}
        return str(experiment.get("title") or self.statistics["experiment"])

    @property
    def question(self) -> str:
        return str((self.info.get("experiment") or {}).get("question") or "")


def read_run(directory: Path) -> FinishedRun:
    """Read the files that every run has; `InputError` names the one that is missing or broken."""
    config = directory / files.CONFIG
    info = files.read_json(directory / files.RUN)
    if not isinstance(info, dict):
        raise InputError("is not what a run writes", file=directory / files.RUN)
    return FinishedRun(
        directory,
        read_statistics(directory),
        info,
        read_text(config).text if config.is_file() else "",
    )


def read_statistics(directory: Path) -> Mapping[str, Any]:
    """What statistics.json holds; `InputError` where a record lacks what a column declares."""
    path = directory / files.STATISTICS
    statistics = files.read_json(path)
    if not isinstance(statistics, dict) or not isinstance(statistics.get("experiment"), str):
        raise InputError("is not what a run writes", file=path, field="experiment")
    records = statistics.get("metrics")
    if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
        raise InputError("should be a list of records", file=path, field="metrics")
    for record in records:
        for field in _DECLARED:
            if field not in record:
                raise InputError(
                    f"the record of '{record.get('metric')}' lacks it: was the run made by "
                    "another version of metaeval?",
                    file=path,
                    field=field,
                )
    return statistics


def cell_indices(
    table: pd.DataFrame, sets: pd.Index[Any], images: pd.Index[Any], file: Path
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where each row of captions or scores belongs: (index of its set, index of its image).

    Raises InputError, naming `file`, for a set or an image that is not among these.
    """
    indices = []
    for field, known in (("set", sets), ("image_id", images)):
        index = known.get_indexer(pd.Index(table[field]))
        if (index < 0).any():
            stray = table[field].iloc[int(np.argmax(index < 0))]
            raise InputError(
                f"'{stray}' is not among those of the run's other files", file=file, field=field
            )
        indices.append(index)
    return indices[0], indices[1]


def image_paths(references: pd.DataFrame) -> tuple[str | None, ...]:
    """The image file of each image, `None` where the run knows none."""
    return tuple(p if isinstance(p, str) else None for p in references["image_path"])
