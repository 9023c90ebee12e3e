"""What a metric's row is: a result, a part of another metric, not a result, or absent."""

from __future__ import annotations

from metaeval.results.base import MetricResult


def kind_of(metric: MetricResult) -> str:
    """The kind of a metric's row.

    "result"; "part" (SPICE-object of SPICE); "control" (a score that metrics must exceed);
    "random" (untrained weights); or "absent" (the metric did not run).
    """
    if not metric.ok:
        return "absent"
    if metric.column.untrained:
        return "random"
    if metric.column.control:
        return "control"
    return "result" if metric.column.part_of is None else "part"
