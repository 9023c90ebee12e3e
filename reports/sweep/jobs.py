"""The jobs of a sweep, from the files that they left."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.results.files import read_result
from metaeval.results.run import RunResult
from metaeval.runs import files


class SweepJob(NamedTuple):
    """One job: its folder below the sweep's, its overrides, and its statistics.

    `statistics` is `None` for a job that did not finish; `error` says why, where that is known.
    `seed` is that of its corruptions; `n_scored` scores were computed, `n_cached` came from the
    cache: from the jobs before, or from earlier runs.
    """

    name: str
    overrides: Mapping[str, str]
    statistics: RunResult[Any] | None
    error: str = ""
    seed: int = 0
    has_page: bool = False
    n_scored: int = 0
    n_cached: int = 0

    @property
    def columns(self) -> Sequence[tuple[str, str, str]]:
        """Name, status and reason of each score column; empty for a job that did not finish."""
        metrics = self.statistics.metrics if self.statistics is not None else ()
        return [(m.name, m.status, m.reason or "") for m in metrics]

    @property
    def controls(self) -> frozenset[str]:
        """The names of the controls."""
        metrics = self.statistics.metrics if self.statistics is not None else ()
        return frozenset(m.name for m in metrics if m.column.control)

    @property
    def experiment_and_dataset(self) -> tuple[str, str]:
        """The names of the experiment and of the dataset; empty where the job did not finish."""
        if self.statistics is None:
            return "", ""
        return self.statistics.experiment, self.statistics.dataset


def read_jobs(sweep_dir: Path) -> list[SweepJob]:
    """The jobs below a sweep's directory, at any depth, in the order of their numbers.

    A job's folder contains run.json, or is directly below the sweep and named by a number. A
    number that is left out is a job without any files.
    """
    folders = {path.parent for path in sweep_dir.rglob(files.RUN)} - {sweep_dir}
    folders |= {p for p in sweep_dir.iterdir() if p.is_dir() and p.name.isdigit()}
    inner = {f for f in folders if any(parent in folders for parent in f.parents)}
    jobs = [_read_job(folder, sweep_dir) for folder in folders - inner]
    numbers = {int(job.name) for job in jobs if job.name.isdigit()}
    gaps = set(range(max(numbers, default=-1) + 1)) - numbers
    jobs += [SweepJob(str(k), {}, None, "it has no files") for k in gaps]
    return sorted(jobs, key=lambda job: _by_number(job.name))


def _read_job(folder: Path, sweep_dir: Path) -> SweepJob:
    name = folder.relative_to(sweep_dir).as_posix()
    if not (folder / files.RUN).is_file():
        return SweepJob(name, {}, None, "ended before it wrote anything")
    info = files.read_json(folder / files.RUN)
    overrides = dict(
        str(text).lstrip("+").partition("=")[::2] for text in info.get("overrides") or ()
    )
    status = info.get("status", files.FINISHED)
    error = info.get("error") or ("" if status == files.FINISHED else str(status))
    if status != files.FINISHED:
        return SweepJob(name, overrides, None, error)
    if not (folder / files.STATISTICS).is_file():
        return SweepJob(name, overrides, None, error or "without statistics")
    # the ceiling is not a metric: nothing of it is computed
    metrics = [m for m in info.get("metrics") or () if m["metric"] != "ceiling"]
    return SweepJob(
        name,
        overrides,
        read_result(folder / files.STATISTICS),
        seed=int(info.get("seed") or 0),
        has_page=(folder / files.REPORT).is_file(),
        n_scored=sum(int(m.get("n_scored") or 0) for m in metrics),
        n_cached=sum(int(m.get("n_cached") or 0) for m in metrics),
    )


def _by_number(name: str) -> tuple[int, str]:
    return (int(name) if name.isdigit() else sys.maxsize, name)
