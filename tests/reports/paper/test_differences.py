"""All differences as a table, and the metrics that no test separates from the best."""

from __future__ import annotations

from metaeval.reports.paper.differences import comparison_table
from metaeval.reports.shared.formatting import p_value
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison, Comparisons


def pair(a: str, b: str, gap: float | None, **tests: float) -> Comparison:
    return Comparison(
        a=a,
        b=b,
        measure="x",
        difference=Estimate(value=gap, low=0.01, high=0.03),
        tests=tuple(Test(p=p / 2, p_adjusted=p, method=m) for m, p in tests.items()),
    )


DIFFERENCES = (
    pair("A", "B", 0.02, permutation=0.03, bootstrap=0.2),
    pair("A", "C", -0.1, permutation=0.00001, bootstrap=0.004),
    pair("B", "C", None, permutation=1.0, bootstrap=1.0),
)


def compared(alpha: float = 0.05) -> Comparisons:
    return Comparisons(measure="x", alpha=alpha, pairs=DIFFERENCES)


def rows(order: list[str]) -> list[list[str]]:
    table = comparison_table(compared(), order, "differences", "All.")
    assert table is not None
    assert list(table.heads) == [
        "Metric",
        "against",
        "Difference",
        "Interval",
        "p, permutation",
        "Holm",
        "p, bootstrap",
        "Holm",
    ]
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
    assert comparison_table(compared(), ["A"], "differences", "All.") is None


def test_not_separated_is_what_one_test_does_not_separate() -> None:
    assert compared().not_separated_from("A") == {"B"}  # the bootstrap does not
    assert compared(0.5).not_separated_from("A") == set()
    assert compared().not_separated_from("C") == {"B"}


def test_a_pair_without_a_p_value_is_not_separated() -> None:
    untested = pair("D", "A", -1.0)
    undefined = pair("A", "E", 1.0, permutation=float("nan"))
    family = Comparisons(measure="x", alpha=0.05, pairs=(*DIFFERENCES, untested, undefined))
    assert family.not_separated_from("A") == {"B", "D", "E"}


def test_p_values_are_never_nought() -> None:
    assert [p_value(p) for p in (0.0, 0.00009, 0.0001, 0.5, None, float("nan"))] == [
        "<0.0001",
        "<0.0001",
        "0.0001",
        "0.5000",
        "–",
        "–",
    ]
