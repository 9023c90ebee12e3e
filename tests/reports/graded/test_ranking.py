"""How a metric's ρ stands to others and to a paper: hand-worked cases."""

from __future__ import annotations

from typing import Any

import pytest

from reports.graded.ranking import against_paper, ranked, undecided
from tests.reports.run_files import declared


def record(metric: str, rho: float | None = 0.5, **more: Any) -> dict[str, Any]:
    return {**declared(metric), "status": "ok", "rank_order_rho": rho,
            "rank_order_rho_ci": [0.48, 0.52], "rank_order_rho_bounds": [0.49, 0.51],
            **more}  # fmt: skip


def test_only_results_are_ranked() -> None:
    records = [
        record("a", 0.1),
        record("b", 0.9, untrained=True),
        record("c", None, status="failed"),
        record("d", 0.7),
        record("d-part", 0.8, part_of="d"),
        record("e", None),
    ]
    assert [r["metric"] for r in ranked(records)] == ["d", "a"]


@pytest.mark.parametrize(
    ("published", "bounds", "expected"),
    [
        (0.5, [0.49, 0.51], "in interval"),
        (0.6, [-0.2, 0.9], "ties"),
        (0.55, [0.45, 0.56], "in tie bounds"),
        (0.6, [0.49, 0.51], "outside"),
        (0.6, [None, None], "outside"),
    ],
)
def test_how_a_published_value_is_explained(
    published: float, bounds: list[float], expected: str
) -> None:
    assert against_paper(record("m", rank_order_rho_bounds=bounds), published)[0] == expected


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ({"a": (0.7, 0.8), "b": (0.5, 0.6)}, []),
        ({"a": (0.6, 0.8), "b": (0.5, 0.6)}, [["a", "b"]]),
        # a chain: a and c are apart
        ({"a": (0.6, 0.8), "b": (0.4, 0.65), "c": (0.3, 0.5)}, [["a", "b"], ["b", "c"]]),
        # a wide interval meets two that are apart; one pair stands around a third
        ({"a": (0.1, 0.9), "b": (0.6, 0.7), "c": (0.2, 0.3)}, [["a", "b"], ["a", "c"]]),
        ({"a": (0.1, 0.9), "b": (0.2, 0.8), "c": (0.3, 0.7)}, [["a", "b", "c"]]),
        ({"a": (None, None), "b": (0.2, 0.8)}, []),
    ],
)
def test_groups_without_an_order(
    intervals: dict[str, tuple[float, float]], expected: list[list[str]]
) -> None:
    records = [record(m, rank_order_rho_ci=list(ci)) for m, ci in intervals.items()]
    assert undecided(records) == expected
    pairs = {  # by definition: every overlapping pair is in a group, and only those
        frozenset((a, b))
        for a, (low, high) in intervals.items()
        for b, (lower, upper) in intervals.items()
        if a != b and None not in (low, lower) and low <= upper and lower <= high
    }
    assert {frozenset((a, b)) for g in expected for a in g for b in g if a != b} == pairs
