"""Alerts that depend on one field of a run."""

from __future__ import annotations

from typing import Any

import pytest

from metaeval.reports.graded.alerts import alerts
from metaeval.results.graded import CaptionSet
from tests.reports.graded_results import graded_run


def run(expected: str | None) -> Any:
    fields = {"n": 10, "n_applied": 10, "n_unapplied": 0}
    sets = (
        CaptionSet(name="Swap", level=0, expected=expected, **fields),
        CaptionSet(name="Human", level=1, expected="none", **fields),
    )
    return graded_run(sets=sets)


@pytest.mark.parametrize(
    ("expected", "harmless"), [("same", True), ("lower", False), (None, False)]
)
def test_harmless_versions_are_announced(expected: str | None, harmless: bool) -> None:
    shown = alerts(run(expected))
    assert [(a.level, a.subject) for a in shown] == ([("warn", "Swap")] if harmless else [])
    assert not harmless or "a score should stay as it is" in shown[0].text
