"""The jobs of a sweep, from the files that they left, and in groups of equal settings."""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from metaeval.errors import InputError
from metaeval.reports.shared.formatting import count, percent
from metaeval.results.base import Estimate
from metaeval.results.files import read_info, read_result
from metaeval.results.graded import CEILING
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import RunInfo
from metaeval.runs import files
from metaeval.runs.files import csv_text

SEED = "seed"
DEFAULT = "default"
NOTHING = Estimate(value=None)


class SweepJob(NamedTuple):
    """A job that finished: its folder below the sweep's, and the files that it left there."""

    name: str
    info: RunInfo
    result: MeasuredResult
    has_page: bool = False

    @property
    def overrides(self) -> dict[str, str]:
        """Option → value, as the job was given them."""
        return dict(text.lstrip("+").partition("=")[::2] for text in self.info.overrides)


class Jobs(NamedTuple):
    """The finished jobs below a folder, and the name of each other job → why it has no result, both
    in the order of their numbers."""

    finished: list[SweepJob]
    unfinished: dict[str, str]


def read_jobs(sweep_dir: Path) -> Jobs:
    """The jobs below a sweep's directory, at any depth.

    A job's folder contains run.json, or is directly below the sweep and named by a number. A
    number that is left out is a job without any files. Raises InputError where no job finished.
    """
    if not sweep_dir.is_dir():
        raise InputError("directory not found", file=sweep_dir)
    folders = {path.parent for path in sweep_dir.rglob(files.RUN)} - {sweep_dir}
    folders |= {p for p in sweep_dir.iterdir() if p.is_dir() and p.name.isdigit()}
    inner = {f for f in folders if any(parent in folders for parent in f.parents)}
    names = {folder.relative_to(sweep_dir).as_posix() for folder in folders - inner}
    names |= {str(k) for k in range(max((int(n) for n in names if n.isdigit()), default=0))}
    jobs = Jobs([], {})
    for name in sorted(names, key=lambda n: (int(n) if n.isdigit() else sys.maxsize, n)):
        job = _read_job(sweep_dir / name, name)
        if isinstance(job, str):
            jobs.unfinished[name] = job
        else:
            jobs.finished.append(job)
    if not jobs.finished:
        reasons = "; ".join(dict.fromkeys(jobs.unfinished.values()))
        reason = f" ({reasons})" if reasons else ""
        raise InputError(f"no job of this sweep has written its statistics{reason}", file=sweep_dir)
    return jobs


def _read_job(folder: Path, name: str) -> SweepJob | str:
    """The job, or why it has no result."""
    if not (folder / files.RUN).is_file():
        return "ended before it wrote anything" if folder.is_dir() else "it has no files"
    try:
        info = read_info(folder / files.RUN)
        if info.status == files.FINISHED and (folder / files.STATISTICS).is_file():
            result = read_result(folder / files.STATISTICS)
            return SweepJob(name, info, result, (folder / files.REPORT).is_file())
    except InputError as error:  # the other jobs have their page
        return str(error)
    reason = "without statistics" if info.status == files.FINISHED else info.status
    return f"{info.error or reason} ({' '.join(info.overrides)})"


def saved_scores(jobs: Sequence[SweepJob]) -> str:
    """How many scores were looked up rather than computed; empty without scores."""
    # the ceiling is not a metric: nothing of it is computed
    metrics = [m for job in jobs for m in job.info.metrics if m.metric != CEILING]
    cached, scored = sum(m.n_cached for m in metrics), sum(m.n_scored for m in metrics)
    if not cached + scored:
        return ""
    return (
        f"Of {count(cached + scored)} scores {count(cached)} were looked up "
        f"({percent(cached / (cached + scored))}), {count(scored)} computed."
    )


def csv_of(jobs: Sequence[SweepJob]) -> str:
    """One line per job and metric, every measure in full with its interval."""
    keys = sorted({key for job in jobs for key in job.overrides})
    measures = list(dict.fromkeys(m.key for job in jobs for m in job.result.declared))
    heads = [f"{key}{end}" for key in measures for end in ("", "_ci_low", "_ci_high")]
    rows: list[list[object]] = [["job", *keys, "metric", "status", *heads]]
    for job in jobs:
        given = [job.overrides.get(key, "") for key in keys]
        for metric in job.result.metrics:
            known = metric.statistics.values if metric.statistics is not None else {}
            values = [known.get(key, NOTHING) for key in measures]
            cells = [x for e in values for x in (e.value, *(e.interval or (None, None)))]
            rows.append([job.name, *given, metric.name, metric.status, *cells])
    return csv_text(rows)


class Setting(NamedTuple):
    """Jobs that differ in the seed alone, and the values of what was varied."""

    values: tuple[tuple[str, str], ...]
    jobs: list[SweepJob]

    @property
    def label(self) -> str:
        """ "corruption.rates=[0.1]", or "all jobs" where only the seed was swept; the number of
        jobs follows where there are several."""
        label = ", ".join(f"{key}={value}" for key, value in self.values) or "all jobs"
        return f"{label} ({len(self.jobs)} jobs)" if len(self.jobs) > 1 else label


def swept(overrides: Sequence[Mapping[str, str]]) -> list[str]:
    """The parameters, the seed aside, whose value differs between jobs.

    Numbers before categories, as they make an axis; then those with most values first.
    """
    keys = dict.fromkeys(key for job in overrides for key in job)
    values = {key: dict.fromkeys(job.get(key, "") for job in overrides) for key in keys}
    varied = [key for key, seen in values.items() if len(seen) > 1 and key != SEED]
    return sorted(varied, key=lambda key: (not is_axis(values[key]), -len(values[key]), key))


def settings_of(jobs: Sequence[SweepJob], parameters: Sequence[str]) -> list[Setting]:
    """The jobs by their values of `parameters`: numbers ascend, categories stand in the order in
    which they came."""
    made: dict[tuple[tuple[str, str], ...], Setting] = {}
    for job in jobs:
        given = job.overrides
        values = tuple((name, given.get(name, DEFAULT)) for name in parameters)
        made.setdefault(values, Setting(values, [])).jobs.append(job)
    orders = [
        sorted(dict.fromkeys(column), key=_number_first) for column in zip(*made, strict=True)
    ]
    return sorted(
        made.values(), key=lambda s: [o.index(v) for o, v in zip(orders, s.values, strict=True)]
    )


def _number_first(value: tuple[str, str]) -> float:
    number = as_number(value[1])
    return math.inf if number is None else number


def as_number(value: str) -> float | None:
    """An override's value as a number: 0.1, and [0.1] as well; None for anything else."""
    try:
        parsed = float(value.strip("[] "))
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def is_axis(values: Sequence[str] | Mapping[str, None]) -> bool:
    """Whether a parameter's values make an axis: all are numbers, and no two the same."""
    numbers = {as_number(value) for value in values}
    return None not in numbers and len(numbers) == len(values)
