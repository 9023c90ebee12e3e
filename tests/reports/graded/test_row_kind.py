"""What a metric's row is, and how its ρ stands to others and to a paper: hand-worked cases."""

from __future__ import annotations

from typing import Any

import pytest

from reports.graded.row_kind import against_paper, parent, ranked, standing, told, undecided
from reports.shared import formatting
from reports.shared.provenance import command


def record(metric: str, rho: float | None = 0.5, **more: Any) -> dict[str, Any]:
    return {"metric": metric, "family": metric.lower().split("-")[0], "status": "ok",
            "signature": "s", "rank_order_rho": rho, "rank_order_rho_ci": [0.48, 0.52],
            "rank_order_rho_bounds": [0.49, 0.51], **more}  # fmt: skip


def test_parts_belong_to_the_column_they_extend() -> None:
    records = [record(m) for m in ("BLEU-1", "BLEU-10", "TIGEr", "TIGEr-RRS", "SCAN-i2t")]
    assert [parent(r, records) for r in records] == [None, None, None, "TIGEr", None]
    variants = [record(m, family="faier") for m in ("FAIEr (none)", "FAIEr", "FAIEr-object (none)")]
    assert [parent(r, variants) for r in variants] == [None, None, "FAIEr (none)"]
    other = record("SPICE-object", family="other")
    assert parent(other, [record("SPICE"), other]) is None


def test_what_did_not_run_is_told_once() -> None:
    absent = [record(m, None, status="skipped") for m in ("SPICE", "SPICE-object", "SCAN-i2t")]
    assert [r["metric"] for r in told(absent)] == ["SPICE", "SCAN-i2t"]
    there = [record("TIGEr"), record("TIGEr-RRS")]
    assert told(there) == tuple(there)


def test_only_results_are_ranked() -> None:
    records = [
        record("a", 0.1),
        record("b", 0.9, signature="b|weights:random|v:1"),
        record("c", None, status="failed"),
        record("d", 0.7),
        record("d-part", 0.8, family="d"),
        record("e", None),
    ]
    assert [standing(r, records) for r in records] == [
        "result", "random", "absent", "result", "part", "result",
    ]  # fmt: skip
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


def test_numbers_in_print() -> None:
    assert formatting.number(-0.1234) == "−0.123"
    assert formatting.number(-0.0001) == "0.000"
    assert formatting.number(0.0161, sign=True) == "+0.016"
    assert formatting.number(None) == formatting.number(float("nan")) == "–"
    assert [formatting.percent(x) for x in (0, 0.0001, 0.386, 0.99999, 1)] == [
        "0.0%", "<0.1%", "38.6%", ">99.9%", "100.0%",
    ]  # fmt: skip
    assert formatting.listed(["a", "b", "c"]) == "a, b and c"
    assert formatting.amount(1, "metric") == "one metric"
    assert formatting.amount(5000, "image") == "5,000 images"
    assert [formatting.seconds(x) for x in (0.04, 12.4, 83)] == ["0.0 s", "12 s", "1 min 23 s"]
    assert formatting.file_stem("a/b c:../x") == "a_b_c_.._x"


def test_commands_can_be_typed_again() -> None:
    assert command(["-m", "metaeval", "a=b c"]) == "python -m metaeval 'a=b c'"
    assert command(["/somewhere/bin/metaeval", "x=1"]) == "metaeval x=1"
    assert command([]) == ""
