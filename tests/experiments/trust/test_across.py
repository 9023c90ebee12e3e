"""One ranking over benchmarks of ratings, by hand."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.experiments.trust.across import across_benchmarks
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.measured import MeasuredResult
from metaeval.results.trust import AcrossBenchmarks
from tests.experiments.trust.trust_cases import evidence, trust_result
from tests.results.examples import correlations_of, ratings_result


def benchmark(values: Mapping[str, float], apart: set[str]) -> MeasuredResult:
    """A run in which the pairs "A B" of `apart` differ significantly."""
    names = list(values)
    pairs = tuple(
        Comparison(
            a=a, b=b, measure="τ-c", n=9, difference=Estimate(value=values[a] - values[b]),
            tests=(Test(method="bootstrap", p=p, p_adjusted=p),),
        )
        for k, a in enumerate(names) for b in names[k + 1 :]
        for p in [0.01 if f"{a} {b}" in apart or f"{b} {a}" in apart else 0.5]
    )  # fmt: skip
    family = Comparisons(measure="τ-c", alpha=0.05, pairs=pairs)
    return ratings_result(
        {name: correlations_of(9, value) for name, value in values.items()},
        comparisons={"kendall_tau_c": family},
    )


def test_average_ranks_are_those_of_clusters() -> None:
    first = benchmark({"A": 0.6, "B": 0.5, "C": 0.4}, {"A C"})  # A and B, then C
    second = benchmark(
        {"B": 0.9, "A": 0.5, "C": 0.1, "D": 0.0}, {"B A", "B C", "B D", "A C", "A D"}
    )
    made = across_benchmarks([("x", first), ("y", second)])
    assert made is not None
    assert made.ranks == {"x": {"B": 1, "A": 1, "C": 2}, "y": {"B": 1, "A": 2, "C": 3}}
    assert list(made.average.items()) == [("B", 1.0), ("A", 1.5), ("C", 2.5)]
    assert made.left_out == ("D",)
    assert across_benchmarks([("x", first)]) is None
    tied = benchmark({"A": 0.6, "B": 0.5, "C": 0.4}, set())
    with_tied = across_benchmarks([("x", first), ("t", tied), ("y", second)])
    assert with_tied is not None
    assert with_tied.separate_nothing == ("t",)
    assert with_tied.average == made.average
    assert across_benchmarks([("x", first), ("t", tied)]) is None
    only = benchmark({"D": 0.3, "E": 0.2}, set())
    assert across_benchmarks([("x", first), ("z", only)]) is None


def test_whether_benchmarks_rank_alike() -> None:
    result = trust_result({"A": [evidence(0.9)]})
    assert result.across_sentence == ""
    made = AcrossBenchmarks(
        average={"A": 1.0, "B": 2.0}, ranks={"x": {}, "y": {}}, concordance=0.9, p=0.01,
        stability={"x": 1.0, "y": 0.5},
    )  # fmt: skip
    text = result.model_copy(update={"across": made}).across_sentence
    assert text == (
        "2 benchmarks of ratings rank 2 metrics more alike than by chance (Kendall’s W 0.90); the "
        "order without any one of them agrees by τ-b 0.50 or more."
    )
    chance = made.model_copy(update={"p": 0.4, "stability": {}, "separate_nothing": ("t",)})
    text = result.model_copy(update={"across": chance}).across_sentence
    assert text.endswith("than by chance (Kendall’s W 0.90); no two are separated on t.")
