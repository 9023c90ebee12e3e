"""The jobs of a sweep, from the files that they left, and in groups: what was varied, and mean and
spread over seeds."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.reports.shared.formatting import count, kind_of, percent
from metaeval.results.files import read_result
from metaeval.results.graded import CEILING, dose_rows, floor_of
from metaeval.results.measured import SETS, MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs import files
from metaeval.runs.records import HUMAN
from metaeval.stats.dose import dose_record
from metaeval.stats.resampling.bootstrap import bootstrap_counts

SEED = "seed"
DEFAULT = "default"

Settings = tuple[tuple[str, str], ...]


class SweepJob(NamedTuple):
    """One job: its folder below the sweep's, its overrides, and its statistics.

    `statistics` is `None` for a job that did not finish; `error` says why, where that is known.
    `seed` is that of its corruptions; `n_scored` scores were computed, `n_cached` came from the
    cache: from the jobs before, or from earlier runs.
    """

    name: str
    overrides: Mapping[str, str]
    statistics: MeasuredResult | None
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
    return sorted(
        jobs, key=lambda job: (int(job.name) if job.name.isdigit() else sys.maxsize, job.name)
    )


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


def saved_scores(jobs: Sequence[SweepJob]) -> str:
    """How many scores were looked up rather than computed; empty without scores."""
    cached, scored = (sum(getattr(job, key) for job in jobs) for key in ("n_cached", "n_scored"))
    if not cached + scored:
        return ""
    return (
        f"Of {count(cached + scored)} scores {count(cached)} were looked up "
        f"({percent(cached / (cached + scored))}), {count(scored)} computed."
    )


class Value(NamedTuple):
    """A value and its interval over images (`None` without one)."""

    value: float
    ci: tuple[float, float] | None = None


def values_of(statistics: MeasuredResult) -> dict[Measure, dict[str, Value]]:
    """Measure → metric → value of one job.

    Metrics that did not run, parts and random weights are left out, controls are not.
    """
    table: dict[Measure, dict[str, Value]] = {}
    for metric in statistics.metrics:
        if kind_of(metric) in ("result", "control"):
            for measure, estimate in statistics.measures(metric):
                if estimate.value is not None:
                    value = Value(estimate.value, estimate.interval)
                    table.setdefault(measure, {})[metric.name] = value
    return table


class SeedSpread(NamedTuple):
    """One measure of a metric over the seeds of one group.

    Mean, standard deviation (None for one), values, and the mean of the intervals over images
    (None where a job has none).
    """

    mean: float
    sd: float | None
    values: tuple[float, ...]
    ci: tuple[float, float] | None = None


class JobGroup(NamedTuple):
    """Jobs that differ in the seed alone: their settings, their number, values by measure."""

    settings: Settings
    jobs: int
    values: Mapping[Measure, Mapping[str, SeedSpread]]

    @property
    def label(self) -> str:
        """ "corruption.rates=[0.1]", or "all jobs" where only the seed was swept."""
        return ", ".join(f"{key}={value}" for key, value in self.settings) or "all jobs"


def swept(overrides: Sequence[Mapping[str, str]]) -> list[str]:
    """The parameters, the seed aside, whose value differs between jobs.

    Numbers before categories, as they make an axis; then those with most values first.
    """
    values: dict[str, dict[str | None, None]] = {}
    for key in dict.fromkeys(key for job in overrides for key in job):
        values[key] = dict.fromkeys(job.get(key) for job in overrides)
    varied = [key for key, seen in values.items() if len(seen) > 1 and key != SEED]
    return sorted(varied, key=lambda key: (not _numeric(values[key]), -len(values[key]), key))


def constant(overrides: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What was given for all jobs alike."""
    first = overrides[0] if overrides else {}
    return {k: v for k, v in first.items() if all(job.get(k) == v for job in overrides)}


def groups(jobs: Sequence[SweepJob], parameters: Sequence[str]) -> list[JobGroup]:
    """The finished jobs by their values of `parameters`: numbers ascend, categories stand in the
    order in which they came."""
    by_settings: dict[Settings, list[SweepJob]] = {}
    for job in jobs:
        if job.statistics:
            key = tuple((name, job.overrides.get(name, DEFAULT)) for name in parameters)
            by_settings.setdefault(key, []).append(job)
    made = []
    for settings, members in by_settings.items():
        table: dict[Measure, dict[str, list[Value]]] = {}
        for job in members:
            assert job.statistics is not None
            for measure, metrics in values_of(job.statistics).items():
                for metric, value in metrics.items():
                    table.setdefault(measure, {}).setdefault(metric, []).append(value)
        values = {
            measure: {metric: spread(v) for metric, v in metrics.items()}
            for measure, metrics in table.items()
        }
        made.append(JobGroup(settings, len(members), values))
    return sorted(made, key=_sort_key(made, parameters))


def _sort_key(
    made: Sequence[JobGroup], parameters: Sequence[str]
) -> Callable[[JobGroup], list[float]]:
    """The position of a group: of each parameter the number, or the place of the category."""
    places: list[dict[str, float]] = []
    for k in range(len(parameters)):
        seen = list(dict.fromkeys(g.settings[k][1] for g in made))
        numbers = [as_number(value) for value in seen]
        places.append(
            {
                value: float(place) if None in numbers else n or 0.0
                for place, (value, n) in enumerate(zip(seen, numbers, strict=True))
            }
        )
    return lambda g: [places[k][value] for k, (_, value) in enumerate(g.settings)]


def spread(values: Sequence[Value]) -> SeedSpread:
    """Mean and spread (n − 1) of the values of several seeds."""
    numbers = tuple(v.value for v in values)
    mean = math.fsum(numbers) / len(numbers)
    intervals = [v.ci for v in values if v.ci is not None]
    ci = None
    if len(intervals) == len(values):
        low, high = (math.fsum(ends) / len(ends) for ends in zip(*intervals, strict=True))
        ci = (low, high)
    if len(numbers) < 2:
        return SeedSpread(mean, None, numbers, ci)
    variance = math.fsum((v - mean) ** 2 for v in numbers) / (len(numbers) - 1)
    return SeedSpread(mean, math.sqrt(variance), numbers, ci)


def as_number(value: str) -> float | None:
    """An override's value as a number: 0.1, and [0.1] as well; None for anything else."""
    try:
        parsed = float(value.strip("[] "))
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def _numeric(values: Mapping[str | None, None]) -> bool:
    """Whether a parameter's values make an axis: all are numbers, and no two the same."""
    numbers = [as_number(value or "") for value in values]
    return None not in numbers and len(set(numbers)) == len(numbers)


def is_axis(made: Sequence[JobGroup], place: int) -> bool:
    """Whether the parameter at this place of the settings has numbers for values."""
    return bool(made) and _numeric(dict.fromkeys(g.settings[place][1] for g in made))


RATES = "corruption.rates"
FEWEST = 3  # rates that make a curve
REPLICATES = 500  # a band of every metric, rate and seed in seconds

Floats = npt.NDArray[np.float64]


class Curves(NamedTuple):
    """The jobs that make one panel: `settings` are their overrides except rates and seed."""

    title: str
    settings: tuple[tuple[str, str], ...]
    jobs: list[tuple[SweepJob, MeasuredResult]]


def dose_records(
    directory: Path, jobs: Sequence[SweepJob]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of "dose_points" and "dose" for each corruption, as `dose_blocks` reads them.

    Where others than rates and seed were varied, each setting has curves of its own. Only jobs of
    graded corruption count, and of their seeds those that have all the rates.
    """
    together: dict[tuple[Any, ...], Curves] = {}
    for job in jobs:
        result = job.statistics
        if result is not None and (rated := _rated(result)):
            title = rated[0]["set"].rpartition(" ")[0] or rated[0]["set"]
            rest = tuple(sorted((k, v) for k, v in job.overrides.items() if k not in (RATES, SEED)))
            key = (title, rest, result.dataset, floor_of(result.extra(SETS).records))
            together.setdefault(key, Curves(title, rest, [])).jobs.append((job, result))
    titles = [curves.title for curves in together.values()]
    points, summary = [], []
    for curves in together.values():
        name = curves.title
        if titles.count(name) > 1:
            same = set.intersection(
                *(set(c.settings) for c in together.values() if c.title == name)
            )
            name += f" ({', '.join(f'{k}={v}' for k, v in curves.settings if (k, v) not in same)})"
        for row, of_metric in _curves(directory, curves.jobs):
            summary.append({"corruption": name, **row})
            points += [{"corruption": name, **point} for point in of_metric]
    return points, summary


def _rated(result: MeasuredResult) -> list[dict[str, Any]]:
    """The sets of a graded run that are corrupted at a rate; none of another run."""
    return [
        row
        for extra in result.extras
        if extra.name == SETS
        for row in extra.records
        if row["requested_rate"] is not None
    ]


def _curves(
    directory: Path, jobs: Sequence[tuple[SweepJob, MeasuredResult]]
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The curves of jobs that differ in rates and seeds: of each metric its row of "dose", and its
    rows of "dose_points"; none with fewer than FEWEST rates."""
    names: dict[float, tuple[str, float | None]] = {}
    by_seed: dict[int, list[SweepJob]] = {}
    for job, result in jobs:
        by_seed.setdefault(job.seed, []).append(job)
        for row in _rated(result):
            names[row["requested_rate"]] = (row["set"], row["mean_realised_rate"])
    doses = sorted(names)
    if len(doses) < FEWEST:
        return []
    first = jobs[0][1]
    floor = floor_of(first.extra(SETS).records)
    order = [HUMAN, *(names[dose][0] for dose in doses), *([floor] if floor else [])]
    tables = [_tables(directory, members) for _, members in sorted(by_seed.items())]
    whole = [t for t in tables if t and all(set(order) <= set(sets) for sets in t.values())]
    images = _common_images(whole)
    if not len(images):
        return []
    settings: Mapping[str, Any] = first.settings
    counts = bootstrap_counts(
        len(images), min(REPLICATES, settings["replicates"]), settings["seed"]
    )
    realised = [0.0, *(names[dose][1] for dose in doses)]
    curves = []
    for metric in first.metrics:
        name = metric.name
        is_shown = kind_of(metric) in ("result", "control") and metric.family != CEILING
        if not is_shown or not all(name in table for table in whole):
            continue
        values = np.stack([table[name].loc[images, order].to_numpy(float) for table in whole])
        if not metric.column.higher_is_better:
            values = -values
        k = len(doses) + 1
        record = dose_record(
            values[:, :, :k],
            [0.0, *doses],
            counts,
            floor=values[:, :, k] if floor else None,
            confidence=settings["confidence"],
        )
        row, points = dose_rows(record, [0.0, *doses], realised)
        is_control = metric.column.control
        of_metric = [{"metric": name, "control": is_control, **point} for point in points]
        curves.append(({"metric": name, **row}, of_metric))
    return curves


def _tables(directory: Path, jobs: Sequence[SweepJob]) -> dict[str, pd.DataFrame]:
    """Metric → its scores by image and set, from all jobs of one seed.

    A set that several jobs have (Human) must score the same in all: a metric of which that is not
    so has no curve.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    for job in jobs:
        scores = files.read_table(directory / job.name / files.SCORES)
        for name, part in scores.groupby("metric", sort=False):
            wide = part.pivot_table(
                index="image_id", columns="set", values="score", sort=False, dropna=False
            )
            parts.setdefault(str(name), []).append(wide)
    together = {}
    for name, tables in parts.items():
        joined = pd.concat(tables, axis=1)
        duplicated = joined.columns.duplicated()
        first = joined.loc[:, ~duplicated]
        if len(tables) == len(jobs) and joined.loc[:, duplicated].equals(
            first[list(joined.columns[duplicated])].set_axis(joined.columns[duplicated], axis=1)
        ):
            together[name] = first
    return together


def _common_images(tables: Sequence[Mapping[str, pd.DataFrame]]) -> pd.Index[Any]:
    """The images that all tables have, in the order of the first."""
    every = [frame.index for table in tables for frame in table.values()]
    images = every[0] if every else pd.Index([])
    for index in every[1:]:
        images = images[images.isin(index)]
    return images
