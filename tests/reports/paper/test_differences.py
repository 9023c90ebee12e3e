"""All differences as a table, and the metrics that no test tells from the best."""

from __future__ import annotations

from typing import Any

from metaeval.reports.paper.differences import difference_table, equal_to_best, p_value


def pair(a: str, b: str, gap: float | None, **tests: float) -> dict[str, Any]:
    made: dict[str, Any] = {t: {"p": p / 2, "p_holm": p} for t, p in tests.items()}
    if "bootstrap" in made:
        made["bootstrap"]["ci"] = [0.01, 0.03]
    return {"a": a, "b": b, "difference": gap, **made}


DIFFERENCES = {
    "pairs": [
        pair("A", "B", 0.02, permutation=0.03, bootstrap=0.2),
        pair("A", "C", -0.1, permutation=0.00001, bootstrap=0.004),
        pair("B", "C", None, permutation=1.0, bootstrap=1.0),
    ]
}


def rows(order: list[str]) -> list[list[str]]:
    table = difference_table(DIFFERENCES, order, "differences", "All.")
    assert table is not None
    assert list(table.heads) == [
        "Metric", "against", "Difference", "Interval", "p, permutation", "Holm", "p, bootstrap",
        "Holm",
    ]  # fmt: skip
    return [[cell.text for cell in row] for row in table.groups[0]]


def test_the_better_metric_stands_first_and_signs_follow() -> None:
    assert rows(["C", "A", "B"]) == [
        ["C", "A", "+10.00", "−3.00 to −1.00", "<0.0001", "<0.0001", "0.0020", "0.0040"],
        ["C", "B", "–", "−3.00 to −1.00", "0.5000", "1.0000", "0.5000", "1.0000"],
        ["A", "B", "+2.00", "1.00 to 3.00", "0.0150", "0.0300", "0.1000", "0.2000"],
    ]
    assert rows(["A", "B"]) == [
        ["A", "B", "+2.00", "1.00 to 3.00", "0.0150", "0.0300", "0.1000", "0.2000"]
    ]
    assert difference_table(DIFFERENCES, ["A"], "differences", "All.") is None


def test_equal_to_the_best_is_what_one_test_does_not_tell_apart() -> None:
    assert set(equal_to_best(DIFFERENCES, "A", 0.05)) == {"B"}  # the bootstrap does not
    assert set(equal_to_best(DIFFERENCES, "A", 0.5)) == set()
    assert set(equal_to_best(DIFFERENCES, "C", 0.05)) == {"B"}
    assert set(equal_to_best(DIFFERENCES, None, 0.05)) == set()


def test_p_values_are_never_nought() -> None:
    assert [p_value(p) for p in (0.0, 0.00009, 0.0001, 0.5, None, float("nan"))] == [
        "<0.0001", "<0.0001", "0.0001", "0.5000", "–", "–",
    ]  # fmt: skip
