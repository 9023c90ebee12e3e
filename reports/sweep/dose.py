"""Dose and response of a sweep: jobs with other rates and seeds of one corruption, combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.reports.dose.curves import Panel, corruption_title, panel
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.sweep.groups import SEED
from metaeval.reports.sweep.jobs import SweepJob
from metaeval.results.graded import CEILING, CaptionSet, DoseCurve, GradedResult
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
    jobs: list[tuple[SweepJob, GradedResult]]


def dose_panels(directory: Path, jobs: Sequence[SweepJob]) -> list[Panel]:
    """A panel for each corruption (and setting, where others than rates and seed were varied).

    Only jobs of graded corruption count, and of their seeds those that have all the rates.
    """
    together: dict[tuple[Any, ...], Curves] = {}
    for job in jobs:
        result = job.statistics
        if isinstance(result, GradedResult) and (rated := _rated(result)):
            title = corruption_title([HUMAN, rated[0].name])
            rest = tuple(sorted((k, v) for k, v in job.overrides.items() if k not in (RATES, SEED)))
            key = (title, rest, result.dataset, _floor(result))
            together.setdefault(key, Curves(title, rest, [])).jobs.append((job, result))
    titles = [curves.title for curves in together.values()]
    panels = []
    for curves in together.values():
        name = curves.title
        if titles.count(name) > 1:
            same = set.intersection(
                *(set(c.settings) for c in together.values() if c.title == name)
            )
            name += f" ({', '.join(f'{k}={v}' for k, v in curves.settings if (k, v) not in same)})"
        if (made := _panel(directory, name, curves.jobs)) is not None:
            panels.append(made)
    return panels


def _rated(result: GradedResult) -> list[CaptionSet]:
    """The sets of a graded run that are corrupted at a rate."""
    return [s for s in result.sets if s.requested_rate is not None]


def _floor(result: GradedResult) -> str | None:
    """The set of other images' captions, if there is one: the lowest, and without a rate."""
    lowest = min(result.sets, key=lambda s: s.level)
    return lowest.name if lowest.requested_rate is None and lowest.name != HUMAN else None


def _panel(
    directory: Path, title: str, jobs: Sequence[tuple[SweepJob, GradedResult]]
) -> Panel | None:
    """The curves of jobs that differ in rates and seeds; `None` with fewer than FEWEST rates."""
    names: dict[float, tuple[str, float | None]] = {}
    by_seed: dict[int, list[SweepJob]] = {}
    for job, result in jobs:
        by_seed.setdefault(job.seed, []).append(job)
        for s in _rated(result):
            names[float(s.requested_rate or 0.0)] = (s.name, s.mean_realised_rate)
    doses = sorted(names)
    if len(doses) < FEWEST:
        return None
    first = jobs[0][1]
    floor = _floor(first)
    order = [HUMAN, *(names[dose][0] for dose in doses), *([floor] if floor else [])]
    tables = [_tables(directory, members) for _, members in sorted(by_seed.items())]
    whole = [t for t in tables if t and all(set(order) <= set(sets) for sets in t.values())]
    if not whole:
        return None
    metrics = [
        m for m in first.metrics if m.ok and m.column.part_of is None and m.family != CEILING
    ]
    images = _common_images(whole)
    if not len(images):
        return None
    settings = first.settings
    counts = bootstrap_counts(len(images), min(REPLICATES, settings.replicates), settings.seed)
    curves = {}
    for metric in metrics:
        name = metric.name
        if all(name in table for table in whole):
            values = np.stack([table[name].loc[images, order].to_numpy(float) for table in whole])
            if not metric.column.higher_is_better:
                values = -values
            k = len(doses) + 1
            curves[name] = DoseCurve.of(
                dose_record(
                    values[:, :, :k], [0.0, *doses], counts,
                    floor=values[:, :, k] if floor else None, confidence=settings.confidence,
                )
            )  # fmt: skip
    realised = [0.0, *(names[d][1] for d in doses)]
    kinds = {m.name: kind_of(m) for m in metrics}
    return panel(title, [0.0, *doses], realised, floor, curves, kinds) if curves else None


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
    images = every[0]
    for index in every[1:]:
        images = images[images.isin(index)]
    return images
