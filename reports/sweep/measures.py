"""What each experiment measures of a metric: the numbers that a sweep compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.run import Measure, RunResult

Statistics = RunResult[Any] | Mapping[str, object]


class Value(NamedTuple):
    """A value and its interval over images (`None` without one)."""

    value: float
    ci: tuple[float, float] | None = None


def values_of(statistics: Statistics) -> dict[Measure, dict[str, Value]]:
    """Measure → metric → value of one job.

    Metrics that did not run, parts and random weights are left out, controls are not. A job whose
    result is a dictionary has no measures.
    """
    table: dict[Measure, dict[str, Value]] = {}
    if not isinstance(statistics, RunResult):
        return table
    for metric in statistics.metrics:
        if kind_of(metric) in ("result", "control"):
            for measure, estimate in statistics.measures(metric):
                if estimate.value is not None:
                    value = Value(estimate.value, estimate.interval)
                    table.setdefault(measure, {})[metric.name] = value
    return table
