"""What a metric's row is: hand-worked cases."""

from __future__ import annotations

from typing import Any

from metaeval.reports.shared.row_kind import row_kind, visible_records
from tests.reports.run_files import declared


def record(metric: str, status: str = "ok", **fields: Any) -> dict[str, Any]:
    return {**declared(metric, **fields), "status": status}


def test_what_did_not_run_is_told_once() -> None:
    absent = [
        record("SPICE", "skipped"),
        record("SPICE-object", "skipped", part_of="SPICE"),
        record("SCAN-i2t", "skipped"),
    ]
    assert [r["metric"] for r in visible_records(absent)] == ["SPICE", "SCAN-i2t"]
    there = [record("TIGEr"), record("TIGEr-RRS", part_of="TIGEr")]
    assert visible_records(there) == tuple(there)


def test_kinds_are_what_the_fields_say_and_not_what_names_look_like() -> None:
    records = [
        record("a"),
        record("b", untrained=True),
        record("c", "failed"),
        record("d-part", part_of="d"),
        record("VIFIDEL-ref"),
    ]
    assert [row_kind(r) for r in records] == ["result", "random", "absent", "part", "result"]
