"""The jobs of a sweep in groups: what was varied, and mean and spread over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from metaeval.reports.sweep.jobs import SweepJob
from metaeval.reports.sweep.measures import Value, values_of
from metaeval.results.run import Measure

SEED = "seed"
DEFAULT = "default"

Settings = tuple[tuple[str, str], ...]


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
        numbers = [number(value) for value in seen]
        places.append({
            value: float(place) if None in numbers else n or 0.0
            for place, (value, n) in enumerate(zip(seen, numbers, strict=True))
        })  # fmt: skip
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


def number(value: str) -> float | None:
    """An override's value as a number: 0.1, and [0.1] as well; None for anything else."""
    try:
        parsed = float(value.strip("[] "))
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def _numeric(values: Mapping[str | None, None]) -> bool:
    """Whether a parameter's values make an axis: all are numbers, and no two the same."""
    numbers = [number(value or "") for value in values]
    return None not in numbers and len(set(numbers)) == len(numbers)


def is_axis(made: Sequence[JobGroup], place: int) -> bool:
    """Whether the parameter at this place of the settings has numbers for values."""
    return bool(made) and _numeric(dict.fromkeys(g.settings[place][1] for g in made))
