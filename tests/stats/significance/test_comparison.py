"""The module that decides significance: against hand-worked cases and full enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from metaeval.stats.significance.comparison import (
    ALPHA,
    PairTest,
    against_best_control,
    cliques,
    compare,
    correlation_difference,
    gap_differences,
    is_significant,
    is_undecidable,
    mean_difference,
    on_common_items,
    replicates_needed,
    resampled_difference,
    smallest_p,
    swapped_correlation_difference,
)

NAN = float("nan")


def pair(difference: float, p: float, least: float = 0.0) -> PairTest:
    return PairTest(difference, difference - 1, difference + 1, p, "test", 100, least)


def test_threshold_is_strict_and_survives_rounding():
    assert is_significant(np.nextafter(0.05, 0) - 1e-11)
    for p in (0.05, 1 - 0.95, 0.05 + 1e-9, NAN, None, 1.0):
        assert not is_significant(p), p
        assert not is_significant(p, 1 - 0.95), p


def test_holm_over_the_given_family():
    # Holm (1979) by hand: 4 × .01, 3 × .02, max(2 × .02, .06), 1 × .3
    made = compare(
        {("a", "b"): pair(1, 0.02), ("a", "c"): pair(-1, 0.01), ("b", "c"): pair(1, 0.02),
         ("a", "d"): pair(1, 0.3), ("b", "d"): pair(NAN, NAN)},
        "pairs",
    )  # fmt: skip
    assert [round(c.p_adjusted, 12) for c in made[:4]] == [0.06, 0.04, 0.06, 0.3]
    assert [c.higher for c in made] == [None, "c", None, None, None]
    assert {c.family_size for c in made} == {4}
    assert {c.family for c in made} == {"pairs"}


def test_significant_without_a_difference_names_no_winner():
    (made,) = compare({("a", "b"): pair(0.0, 0.001)}, "pairs")
    assert made.significant
    assert made.higher is None


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("family", [1, 7, 21, 100])
@pytest.mark.parametrize("alpha", [ALPHA, 0.01, 1 - 0.95])
def test_replicates_needed_is_the_smallest_number_that_decides(sides, family, alpha):
    needed = replicates_needed(family, sides, alpha)
    assert not is_undecidable(smallest_p(needed, sides), family, alpha)
    assert is_undecidable(smallest_p(needed - 1, sides), family, alpha)


def test_smallest_p_is_reached_and_not_passed():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    for method, sides in (("permutation", 1), ("bootstrap", 2)):
        test = mean_difference(x + 10, x, method=method, replicates=99)
        assert test.p == test.smallest_p == smallest_p(99, sides)


def test_smallest_p_of_few_units_is_that_of_all_arrangements():
    a, b = np.array([1.0, 2, 3, 4]), np.zeros(4)
    arrangements = [abs(np.dot(signs, a)) for signs in product([-1, 1], repeat=4)]
    exact = np.mean([value >= a.sum() for value in arrangements])
    test = mean_difference(a, b, replicates=20_000)
    assert test.smallest_p == exact == 0.125
    assert test.p == pytest.approx(exact, abs=0.01)  # 4 standard errors of 20,000 draws


def test_rows_missing_in_one_column_are_dropped_for_both():
    a, b = [1.0, 5.0, 2.0, NAN], [0.0, NAN, 1.0, 100.0]
    x, y = on_common_items(a, b)
    assert np.nansum(x) == 3
    assert np.nansum(y) == 1
    full = mean_difference(a * 6, b * 6)
    kept = mean_difference([1.0, 2.0] * 6, [0.0, 1.0] * 6)
    assert full._replace(low=0, high=0) == kept._replace(low=0, high=0)
    assert (full.low, full.high) == (kept.low, kept.high) == (1.0, 1.0)
    assert full.n == 12
    assert full.difference == 1.0
    human = [1, 2, 3, 4, 2, 1]
    a, b = [1, 2, 3, 4, 1, NAN], [4, 3, 1, 2, NAN, 2]
    full = correlation_difference(a, b, human, statistic="spearman")
    kept = correlation_difference(a[:4], b[:4], human[:4], statistic="spearman")
    assert full.difference == kept.difference
    assert full.n == kept.n == 4
    full = swapped_correlation_difference(a, b, human, statistic="spearman")
    kept = swapped_correlation_difference(a[:4], b[:4], human[:4], statistic="spearman")
    assert full._replace(low=0, high=0) == kept._replace(low=0, high=0)


def test_units_are_images():
    a, b = np.array([1.0, 2, 3, 4, 5, 6]), np.array([0.0, 2, 2, 4, NAN, 5])
    test = mean_difference(a, b, ["x", "x", "y", "y", "z", "w"], method="bootstrap")
    assert test.n == 3  # z has no common item


def test_gap_differences_agree_with_mean_difference():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.3, 1, (2, 40))
    (gaps,) = gap_differences((a - b)[:, None] / 40, replicates=4000)
    means = mean_difference(a, b, replicates=4000)
    assert gaps.difference == pytest.approx(means.difference, abs=1e-12)
    assert gaps.p == pytest.approx(means.p, abs=0.03)
    assert np.isnan(gaps.low)
    assert gaps.n == 40


def test_resampled_difference_floors():
    rng = np.random.default_rng(2)
    x = rng.normal(5, 0.1, 199)
    counted = resampled_difference(5, 0, x, np.zeros(199), 50, method="bootstrap")
    assert counted.p == counted.smallest_p == 0.01
    normal = resampled_difference(5, 0, x, np.zeros(199), 50)
    assert normal.p == normal.smallest_p == 2.0**-49


def test_against_best_control_is_one_family_over_groups():
    values = {
        "swap": {"CIDEr": 0.7, "METEOR": 0.8, "Length": 0.5, "Bigram": 0.6},
        "add": {"CIDEr": 0.2, "METEOR": 0.3, "Length": 0.9, "Bigram": NAN},
    }
    asked = []

    def test(hypotheses):
        asked.extend(hypotheses)
        return [pair(values[g][m] - values[g][c], 0.015) for g, m, c in hypotheses]

    result = against_best_control(values, ["CIDEr", "METEOR"], ["Length", "Bigram"], test, "m × k")
    assert asked == [
        ("swap", "CIDEr", "Bigram"), ("swap", "METEOR", "Bigram"),
        ("add", "CIDEr", "Length"), ("add", "METEOR", "Length"),
    ]  # fmt: skip
    # .015 would pass with two hypotheses (.03), not with four (.06)
    assert result["swap"].above == []
    assert result["swap"].shows == "unsure"
    assert result["swap"].control == "Bigram"
    assert result["swap"].best == "METEOR"
    assert result["add"].shows == "nothing"
    assert against_best_control(values, [], ["Length"], test, "") == {}


def test_a_metric_with_gaps_meets_the_best_control_on_its_own_items():
    """Length is best on all items, Bigram where "Grounded" has scores."""
    values = {"all": {"CIDEr": 0.9, "Grounded": 0.9, "Length": 0.8, "Bigram": 0.5}}
    asked = []

    def test(hypotheses):
        asked.extend(hypotheses)
        return [pair(0.1, 0.01) for _ in hypotheses]

    above = {"Length": 0.6, "Bigram": 0.2}
    result = against_best_control(
        values, ["CIDEr", "Grounded"], ["Length", "Bigram"], test, "metrics",
        gapped=["Grounded"], difference=lambda group, metric, control: above[control],
    )["all"]  # fmt: skip
    assert asked == [("all", "CIDEr", "Length"), ("all", "Grounded", "Bigram")]
    assert result.control == "Length"
    assert [(c.a, c.b) for c in result.comparisons] == [("CIDEr", "Length"), ("Grounded", "Bigram")]
    above |= {"Length": float("nan"), "Bigram": float("nan")}
    asked.clear()
    against_best_control(
        values, ["Grounded"], ["Length", "Bigram"], test, "metrics", gapped=["Grounded"],
        difference=lambda group, metric, control: above[control],
    )  # fmt: skip
    assert asked == [("all", "Grounded", "Length")]


def test_too_few_replicates_are_called_undecidable():
    values = {"all": {f"m{k}": 0.9 for k in range(11)} | {"Length": 0.1}}
    metrics = [f"m{k}" for k in range(11)]

    def shows(replicates: int) -> str:
        least = smallest_p(replicates)
        test = against_best_control(
            values, metrics, ["Length"],
            lambda asked: [pair(0.8, least, least) for _ in asked], "metrics",
        )  # fmt: skip
        return test["all"].shows

    assert shows(200) == "undecidable"
    assert shows(replicates_needed(11)) == "something"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_groups_of_names_that_are_all_linked(n: int, share: float) -> None:
    """By networkx; forty names of which all are linked took 2^40 steps."""
    networkx = pytest.importorskip("networkx")
    names = [f"m{k:02}" for k in range(n)]
    graph = networkx.gnp_random_graph(n, share, seed=n)
    linked = {name: {names[j] for j in graph[k]} for k, name in enumerate(names)}
    expected = {frozenset(names[k] for k in group) for group in networkx.find_cliques(graph)}
    groups = cliques(names, linked)
    assert {frozenset(group) for group in groups} == {group for group in expected if len(group) > 1}
    assert groups == sorted(groups)
    assert all(group == sorted(group) for group in groups)
