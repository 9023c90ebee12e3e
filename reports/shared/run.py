"""A finished run as every page reads it, and what pages of several experiments read alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.readers.files import read_text
from metaeval.results.files import read_info, read_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import DatasetInfo, RunInfo
from metaeval.runs import files
from metaeval.runs.files import file_sha256
from metaeval.runs.records import IMAGE_PATH


@dataclass(frozen=True)
class LoadedRun:
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
    result: MeasuredResult
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

    def digests(self, *names: str) -> str:
        """The SHA-256 of these files of the run, which content that is made of them is known by;
        empty for one that is missing."""
        paths = [self.directory / name for name in names]
        return " ".join(file_sha256(path) if path.is_file() else "" for path in paths)

    @property
    def question(self) -> str:
        """The question of the experiment."""
        return self.info.experiment.question if self.info.experiment is not None else ""


def load_run_files(directory: Path) -> LoadedRun:
    """Read the files that every run has. Raises InputError where one is missing or damaged."""
    result = read_result(directory / files.STATISTICS)
    config = directory / files.CONFIG
    text = read_text(config).text if config.is_file() else ""
    return LoadedRun(directory, result, read_info(directory / files.RUN), text)


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
            raise InputError(f"'{stray}' is not in the run's other files", file=file, field=field)
        indices.append(index)
    return indices[0], indices[1]


def image_paths_in(references: pd.DataFrame) -> tuple[str | None, ...]:
    """The image file of each image, `None` where the run knows none."""
    return tuple(p if isinstance(p, str) else None for p in references[IMAGE_PATH])
