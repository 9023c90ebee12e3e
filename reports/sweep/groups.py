"""The jobs of a sweep in groups: what was swept, and mean and spread over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SEED = "seed"


class SeedSpread(NamedTuple):
    """Rank-order ρ over the seeds of one group: mean, standard deviation (None for one), values."""

    mean: float
    sd: float | None
    values: tuple[float, ...]


class JobGroup(NamedTuple):
    """Jobs that differ in the seed alone: their settings, their number, ρ by metric."""

    settings: tuple[tuple[str, str], ...]
    jobs: int
    values: Mapping[str, SeedSpread]

    @property
    def label(self) -> str:
        """ "corruption.rates=[0.1]", or "all jobs" where only the seed was swept."""
        return ", ".join(f"{key}={value}" for key, value in self.settings) or "all jobs"


def swept(overrides: Sequence[Mapping[str, str]]) -> list[str]:
    """The parameters, the seed aside, whose value differs between jobs; most values first."""
    values: dict[str, dict[str | None, None]] = {}
    for key in dict.fromkeys(key for job in overrides for key in job):
        values[key] = dict.fromkeys(job.get(key) for job in overrides)
    varied = [key for key, seen in values.items() if len(seen) > 1 and key != SEED]
    return sorted(varied, key=lambda key: (-len(values[key]), key))


def groups(
    jobs: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]], parameters: Sequence[str]
) -> list[JobGroup]:
    """The jobs (overrides, statistics) by their values of `parameters`, ordered by those values."""
    by_settings: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for overrides, statistics in jobs:
        key = tuple((name, overrides.get(name, "default")) for name in parameters)
        by_settings.setdefault(key, []).append(statistics)
    made = []
    for settings, members in by_settings.items():
        rho: dict[str, list[float]] = {}
        for statistics in members:
            for record in statistics["metrics"]:
                if record["status"] == "ok" and record.get("rank_order_rho") is not None:
                    rho.setdefault(record["metric"], []).append(record["rank_order_rho"])
        made.append(JobGroup(settings, len(members), {m: spread(v) for m, v in rho.items()}))
    if all(number(value) is not None for g in made for _, value in g.settings):
        made.sort(key=lambda g: [number(value) or 0.0 for _, value in g.settings])
    return made


def spread(values: Sequence[float]) -> SeedSpread:
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return SeedSpread(mean, None, tuple(values))
    variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return SeedSpread(mean, math.sqrt(variance), tuple(values))


def number(value: str) -> float | None:
    """An override's value as a number: 0.1, and [0.1] as well; None for anything else."""
    try:
        return float(value.strip("[] "))
    except ValueError:
        return None
