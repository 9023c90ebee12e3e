"""What a metric's row is: a result, a part of another metric, not a result, or absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.results.metric import MetricResult

Record = Mapping[str, Any]  # one of `metrics` in statistics.json, see MetricRecord.as_dict


def row_kind(record: Record) -> str:
    """ "result", "part" (SPICE-object of SPICE), "control" (no metric but what metrics must beat),
    "random" (untrained weights) or "absent"."""
    if record["status"] != "ok":
        return "absent"
    if record["untrained"]:
        return "random"
    if record.get("control"):
        return "control"
    return "result" if record["part_of"] is None else "part"


def visible_records(records: Sequence[Record]) -> tuple[Record, ...]:
    """The records without the parts of a metric that did not run: its own row says why, once."""
    return tuple(r for r in records if r["status"] == "ok" or r["part_of"] is None)


def kind_of(metric: MetricResult[Any]) -> str:
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
