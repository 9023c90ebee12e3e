"""Results of graded runs from flat records, for tests: `record` has "x" and "x_ci" as entries."""

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.graded import SWEEP_MEASURES
from metaeval.results.measured import MeasuredResult
from metaeval.runs.records import ScoreColumn, Tally

COLUMN = tuple(f for f in ScoreColumn.__dataclass_fields__ if f != "name")


def graded_metric(record: Mapping[str, Any]) -> MetricResult:
    """The metric of a flat record; what it leaves out is undefined."""
    status = record.get("status", "ok")
    values = {}
    for measure in SWEEP_MEASURES:
        low, high = record.get(f"{measure.key}_ci") or (None, None)
        values[measure.key] = Estimate(value=record.get(measure.key), low=low, high=high)
    return MetricResult(
        column=ScoreColumn(record["metric"], **{k: record[k] for k in COLUMN if k in record}),
        family=record.get("family", record["metric"].lower()),
        citation=("paper",),
        status=status,
        reason=record.get("reason"),
        counts=tuple(Tally(**count) for count in record.get("counts") or ()),
        training=record.get("training"),
        statistics=Measured(values=values) if status == "ok" else None,
    )


def graded_result(metrics: Sequence[MetricResult], **fields: Any) -> MeasuredResult:
    """A result with these metrics."""
    defaults: dict[str, Any] = {
        "experiment": "replace",
        "dataset": "hand-written",
        "declared": SWEEP_MEASURES,
        "settings": {"seed": 0, "replicates": 40, "confidence": 0.95},
    }
    return MeasuredResult(metrics=tuple(metrics), **{**defaults, **fields})
