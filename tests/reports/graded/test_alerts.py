"""Alerts that hang on one field of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reports.graded.alerts import alerts


def run(expected: str | None) -> Any:
    sets = [
        {"name": "Swap", "level": 0, "n": 10, "n_unapplied": 0, "expected": expected},
        {"name": "Human", "level": 1, "n": 10, "n_unapplied": 0, "expected": "none"},
    ]
    return SimpleNamespace(info={}, dataset={}, published={}, sets=sets, metrics=[])


@pytest.mark.parametrize(
    ("expected", "harmless"), [("same", True), ("lower", False), (None, False)]
)
def test_harmless_versions_are_announced(expected: str | None, harmless: bool) -> None:
    told = alerts(run(expected))
    assert [(a.level, a.subject) for a in told] == ([("warn", "Swap")] if harmless else [])
    assert not harmless or "a score should stay as it is" in told[0].text
