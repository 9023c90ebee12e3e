"""What a metric's row is: hand-worked cases."""

from __future__ import annotations

from typing import Any

from metaeval.reports.shared.formatting import kind_of
from metaeval.results.base import MetricResult, Status
from metaeval.results.measured import MeasuredResult
from metaeval.runs.records import ScoreColumn


def metric(name: str, status: Status = "ok", **fields: Any) -> MetricResult:
    return MetricResult(column=ScoreColumn(name, **fields), family="x", status=status)


def visible(metrics: list[MetricResult]) -> list[str]:
    result = MeasuredResult(experiment="x", dataset="y", declared=(), metrics=metrics)
    return [m.name for m in result.visible]


def test_what_did_not_run_is_shown_once() -> None:
    absent = [
        metric("SPICE", "skipped"),
        metric("SPICE-object", "skipped", part_of="SPICE"),
        metric("SCAN-i2t", "skipped"),
    ]
    assert visible(absent) == ["SPICE", "SCAN-i2t"]
    there = [metric("TIGEr"), metric("TIGEr-RRS", part_of="TIGEr")]
    assert visible(there) == ["TIGEr", "TIGEr-RRS"]


def test_kinds_are_what_the_fields_say_and_not_what_names_look_like() -> None:
    metrics = [
        metric("a"),
        metric("b", untrained=True),
        metric("c", "failed"),
        metric("d-part", part_of="d"),
        metric("VIFIDEL-ref"),
        metric("e", control=True),
    ]
    assert [kind_of(m) for m in metrics] == [
        "result", "random", "absent", "part", "result", "control",
    ]  # fmt: skip
