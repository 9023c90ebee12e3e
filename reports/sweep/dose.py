"""Dose and response of a sweep: jobs with other rates and seeds of one corruption, combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.sweep.jobs import SEED, SweepJob
from metaeval.results.graded import CEILING, dose_rows, floor_of
from metaeval.results.measured import SETS, MeasuredResult
from metaeval.runs import files
from metaeval.runs.columns import HUMAN
from metaeval.stats.dose import dose_record
from metaeval.stats.resampling.bootstrap import bootstrap_counts

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
