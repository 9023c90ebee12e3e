"""One ranking over benchmarks of ratings, by hand."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.experiments.trust.result import across_benchmarks
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.measured import MeasuredResult
from tests.results.examples import correlations_of, ratings_result


def benchmark(values: Mapping[str, float], apart: set[str]) -> MeasuredResult:
    """A run in which the pairs "A B" of `apart` differ significantly."""
    names = list(values)
    pairs = []
    for k, a in enumerate(names):
        for b in names[k + 1 :]:
            p = 0.01 if f"{a} {b}" in apart or f"{b} {a}" in apart else 0.5
            test = Test(method="bootstrap", p=p, p_adjusted=p)
            difference = Estimate(value=values[a] - values[b])
            pair = Comparison(a=a, b=b, measure="τ-c", n=9, difference=difference, tests=(test,))
            pairs.append(pair)
    family = Comparisons(measure="τ-c", alpha=0.05, pairs=tuple(pairs))
    return ratings_result(
        {name: correlations_of(9, value) for name, value in values.items()},
        comparisons={"kendall_tau_c": family},
    )


def test_average_ranks_are_those_of_clusters() -> None:
    first = benchmark({"A": 0.6, "B": 0.5, "C": 0.4}, {"A C"})  # A and B, then C
    second = benchmark(
        {"B": 0.9, "A": 0.5, "C": 0.1, "D": 0.0}, {"B A", "B C", "B D", "A C", "A D"}
    )
    ranks, benchmarks = across_benchmarks({"x": first, "y": second})
    expected = [("B", 1.0, 1, 1), ("A", 1.5, 1, 2), ("C", 2.5, 2, 3)]  # D is not in both
    assert ranks.columns == ("metric", "average rank", "x", "y")
    assert list(ranks.rows) == expected
    assert [row["benchmark"] for row in benchmarks.records] == ["x", "y"]
    tied = benchmark({"A": 0.6, "B": 0.5, "C": 0.4}, set())
    ranks, benchmarks = across_benchmarks({"x": first, "t": tied, "y": second})
    assert list(ranks.rows) == expected
    assert [row["benchmark"] for row in benchmarks.records if row["status"]] == ["t"]
    only = benchmark({"D": 0.3, "E": 0.2}, set())
    for several in ({"x": first}, {"x": first, "t": tied}, {"x": first, "z": only}):
        assert across_benchmarks(several) == []
