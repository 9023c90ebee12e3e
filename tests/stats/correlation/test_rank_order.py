"""The rank-order ρ against every possible way of breaking the ties, and the paper's numbers."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.correlation.rank_order import by_equation_12, rank_order, tie_breaking_seeds
from metaeval.stats.correlation.rank_order_within import rank_order_within
from metaeval.stats.resampling.items import scored_items


def brute_force(scores, levels) -> list[float]:
    """ρ for every order of the items that is ascending in score, by scipy."""
    x, y = scored_items(scores, levels)
    blocks = [list(permutations(y[x == value])) for value in np.unique(x)]
    ideal = np.sort(y)
    if len(np.unique(y)) < 2:
        return [math.nan]
    return [
        float(stats.spearmanr(np.concatenate(order), ideal).statistic) for order in product(*blocks)
    ]


@st.composite
def tiny_tables(draw):
    """At most seven scored items, so that all tie-breakings can be tried."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(1, 7 // k))
    cell = st.one_of(st.integers(0, 3).map(float), st.integers(0, 1).map(float), st.just(math.nan))
    scores = draw(st.lists(st.lists(cell, min_size=k, max_size=k), min_size=n, max_size=n))
    levels = draw(st.lists(st.integers(0, 3), min_size=k, max_size=k))
    return np.array(scores), np.array(levels)


@given(tiny_tables())
@settings(max_examples=150, deadline=None)
def test_expectation_and_bounds_equal_all_tie_breakings(table) -> None:
    every = brute_force(*table)
    result = rank_order(*table, tie_seeds=range(3))
    expected = [np.mean(every), min(every), max(every)]
    # sums of up to 5,040 correlations on their side: 1e-12 covers the rounding
    assert list(result[:3]) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    for draw in result.draws:
        assert any(draw == pytest.approx(rho, abs=1e-12, nan_ok=True) for rho in every)


def test_two_unequal_levels_and_a_block_across_the_boundary() -> None:
    """By hand: levels 0 0 1 with scores 0 1 1. Orders 0 0 1 (ρ = 1) and 0 1 0 (ρ = −1/2)."""
    result = rank_order([0.0, 1.0, 1.0], [0, 0, 1])
    assert (result.worst, result.best) == pytest.approx((-0.5, 1.0), abs=1e-15)
    assert result.rho == pytest.approx(0.25, abs=1e-15)


def test_the_papers_formula_for_levels_of_equal_size() -> None:
    """1 − Σd²/(2·n·var) with d the differences of level and ideal level, no ties."""
    rng = np.random.default_rng(3)
    levels = np.arange(4)
    scores = rng.normal(size=(500, 4)) + levels
    order = np.argsort(scores, axis=None)
    d = np.tile(levels, 500)[order] - np.repeat(levels, 500)
    result = rank_order(scores, levels, tie_seeds=[0])
    assert result.rho == pytest.approx(1 - (d**2).sum() / (2 * 2000 * levels.var()), abs=1e-12)
    assert result.rho == result.worst == result.best == result.draws[0]


@pytest.mark.parametrize(("n_sets", "step"), [(4, 0.00004), (2, 0.0004)])
def test_the_steps_of_the_published_values(n_sets, step) -> None:
    """Every value of the paper is a multiple of 0.00004 (four sets of 5,000) or 0.0004 (two).

    That is what one swap of two captions at neighbouring levels costs.
    """
    levels = np.arange(n_sets)
    scores = np.arange(5000 * n_sets, dtype=float).reshape(n_sets, 5000).T
    scores[-1, 0], scores[0, 1] = scores[0, 1], scores[-1, 0]
    assert rank_order(scores, levels).rho == pytest.approx(1 - step, abs=1e-12)


@pytest.mark.parametrize("k", [2, 4])
def test_equation_12_taken_literally_on_midranks(k: int) -> None:
    """The sum of the squared differences of scipy's midranks, put into the paper's formula."""
    rng = np.random.default_rng(k)
    ideal = np.repeat(np.arange(k), 30)
    n = len(ideal)
    order = rng.permutation(ideal)  # the levels read off in order of score
    table = np.empty((30, k))
    for level in range(k):
        table[:, level] = np.flatnonzero(order == level)  # an item's score is its place
    rho = rank_order(table, range(k)).rho
    squares = ((stats.rankdata(order) - stats.rankdata(ideal)) ** 2).sum()
    assert by_equation_12(rho, n, k) == pytest.approx(1 - 6 * squares / (n * (n**2 - 1)), abs=1e-12)
    assert by_equation_12(rho, n, k) > rho + 0.01


def test_perfect_reversed_and_constant_scores() -> None:
    levels = np.arange(3)
    assert rank_order(np.tile(levels, (7, 1)), levels).rho == 1
    assert rank_order(-np.tile(levels, (7, 1)), levels).rho == -1
    constant = rank_order(np.zeros((7, 3)), levels)
    assert (constant.rho, constant.worst, constant.best) == (0, -1, 1)


def test_draws_are_seeded_and_average_to_the_expectation() -> None:
    rng = np.random.default_rng(4)
    levels = np.arange(4)
    scores = np.where(rng.random((300, 4)) < 0.7, 0, rng.random((300, 4)) + 0.3 * levels)
    result = rank_order(scores, levels, tie_seeds=range(400))
    assert result.draws[:5] == rank_order(scores, levels, tie_seeds=range(5)).draws
    assert len(set(result.draws)) > 50
    # Five standard errors of the mean: fails by chance less than once in a million seeds.
    assert abs(result.tie_mean - result.rho) < 5 * result.tie_std / 20
    assert result.worst < min(result.draws) < max(result.draws) < result.best
    # … and the spread is that of shuffling the whole order within its ties, the definition.
    every = []
    for _ in range(400):
        order = np.lexsort([rng.random(1200), scores.ravel()])
        every.append(stats.spearmanr(np.tile(levels, 300)[order], np.repeat(levels, 300)).statistic)
    assert np.std(every) == pytest.approx(result.tie_std, rel=0.25)
    assert abs(np.mean(every) - result.rho) < 5 * np.std(every) / 20


def test_runs_of_different_seeds_break_ties_differently() -> None:
    assert tie_breaking_seeds(3, 0) == [0, 1, 2]
    assert not set(tie_breaking_seeds(10, 1)) & set(tie_breaking_seeds(10, 2))


@given(tiny_tables())
@settings(deadline=None)
def test_within_is_the_expectation_for_each_image(table) -> None:
    scores, levels = table
    rhos = [float(np.mean(brute_force(row[None], levels))) for row in scores]
    rhos = [rho for rho in rhos if not math.isnan(rho)]
    result = rank_order_within(scores, levels)
    assert result.n == len(rhos)
    expected = np.mean(rhos) if rhos else math.nan
    assert result.rho == pytest.approx(expected, abs=1e-12, nan_ok=True)
