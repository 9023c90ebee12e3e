"""Spearman, Kendall, AUC, ties and pairs against scipy and against their definitions."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.errors import InputError
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.correlation.ranks import midranks
from metaeval.stats.correlation.spearman import spearman
from metaeval.stats.ordering.monotone import monotone
from metaeval.stats.ordering.pairwise import adjacent_auc, auc, pairwise
from metaeval.stats.ordering.ties import ties
from metaeval.stats.resampling.items import scored_items

# Both sides compute the same sums in float64, in another order: 1e-12 is some hundred roundings.
TOLERANCE = 1e-12


@st.composite
def tables(draw):
    """Small tables with ties, gaps and possibly equal levels: scores [n, k], levels [k]."""
    n, k = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    cell = st.one_of(st.integers(-3, 3).map(float), st.just(math.nan), st.floats(-1, 1))
    scores = draw(st.lists(st.lists(cell, min_size=k, max_size=k), min_size=n, max_size=n))
    levels = draw(st.lists(st.integers(0, k), min_size=k, max_size=k))
    return np.array(scores), np.array(levels)


def same(ours: float, theirs: float) -> None:
    assert ours == pytest.approx(theirs, abs=TOLERANCE, nan_ok=True)


@given(tables())
@settings(max_examples=200, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_spearman_and_kendall_equal_scipy(table) -> None:
    scores, levels = table
    x, y = scored_items(scores, levels)
    rho, tau = spearman(scores, levels), kendall(scores, levels)
    assert rho.n == tau.n == np.isfinite(scores).sum()
    if len(x) < 2:
        assert math.isnan(rho.rho)
        assert math.isnan(tau.tau)
        return
    same(rho.rho, stats.spearmanr(x, y).statistic)
    same(tau.tau, stats.kendalltau(x, y, variant="b").statistic)


def test_spearman_and_kendall_equal_scipy_on_many_items() -> None:
    rng = np.random.default_rng(1)
    levels = np.arange(4)
    scores = np.round(rng.normal(size=(5000, 4)) + 0.5 * levels, 2)
    scores[rng.random(scores.shape) < 0.05] = np.nan
    x, y = scored_items(scores, levels)
    same(spearman(scores, levels).rho, stats.spearmanr(x, y).statistic)
    same(kendall(scores, levels).tau, stats.kendalltau(x, y).statistic)


def test_levels_per_item_as_for_human_judgements() -> None:
    """Levels in the shape of the scores; with more than 64 of them Kendall takes another way."""
    rng = np.random.default_rng(2)
    scores = np.round(rng.normal(size=300), 1)
    for ratings in (
        rng.integers(1, 5, 300).astype(float),
        np.round(scores + rng.normal(size=300), 2),
    ):
        same(spearman(scores, ratings).rho, stats.spearmanr(scores, ratings).statistic)
        same(kendall(scores, ratings).tau, stats.kendalltau(scores, ratings).statistic)
    ratings[:10] = np.nan  # not judged: left out
    same(spearman(scores, ratings).rho, stats.spearmanr(scores[10:], ratings[10:]).statistic)


def test_spearman_of_perfectly_ordered_levels_is_not_one() -> None:
    """Worked by hand: var(levels) / var(ranks) = 15/16 for four equal levels and many items."""
    scores = np.arange(40_000.0).reshape(4, 10_000).T
    assert spearman(scores, range(4)).rho == pytest.approx(math.sqrt(15 / 16), abs=1e-8)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=30))
def test_midranks_equal_scipy(values) -> None:
    assert midranks(values).tolist() == stats.rankdata(values).tolist()


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.integers(0, 5), min_size=1, max_size=25),
)
@settings(deadline=None)
def test_auc_equals_mann_whitney(low, high) -> None:
    u = stats.mannwhitneyu(high, low).statistic
    same(auc(low, high), u / (len(low) * len(high)))


@given(tables())
@settings(deadline=None)
def test_adjacent_auc_pools_equal_levels_and_skips_gaps(table) -> None:
    scores, levels = table
    grades = np.unique(levels)
    results = adjacent_auc(scores, levels)
    assert len(results) == len(grades) - 1
    for a, b, result in zip(grades, grades[1:], results, strict=False):
        low, high = (scores[:, levels == g] for g in (a, b))
        low, high = low[~np.isnan(low)], high[~np.isnan(high)]
        if len(low) and len(high):
            wins = np.sum(high[:, None] > low) + np.sum(high[:, None] == low) / 2
            same(result, wins / (len(low) * len(high)))
        else:
            assert math.isnan(result)


@given(tables())
@settings(deadline=None)
def test_pairs_and_monotone_by_their_definitions(table) -> None:
    scores, levels = table
    right = tied = wrong = in_order = complete = 0
    for row in scores:
        verdicts = []
        for a, b in combinations(range(len(levels)), 2):
            if levels[a] != levels[b] and not math.isnan(row[a]) and not math.isnan(row[b]):
                verdicts.append(np.sign((row[b] - row[a]) * (levels[b] - levels[a])))
        right, tied, wrong = (
            total + verdicts.count(verdict)
            for total, verdict in zip((right, tied, wrong), (1, 0, -1), strict=True)
        )
        if not np.isnan(row).any() and len(set(levels)) > 1:
            complete += 1
            in_order += all(v > 0 for v in verdicts)
    n = right + tied + wrong
    result = pairwise(scores, levels)
    assert result.n == n
    if n:
        assert result[:3] == (right / n, tied / n, wrong / n)
    else:
        assert all(math.isnan(share) for share in result[:3])
    rate = monotone(scores, levels)
    assert rate.n == complete
    assert math.isnan(rate.rate) if not complete else rate.rate == in_order / complete


@given(tables())
@settings(deadline=None)
def test_ties_by_their_definition(table) -> None:
    x = table[0][~np.isnan(table[0])]
    n = len(x)
    shared = sum(np.sum(x == value) > 1 for value in x)
    pairs = sum(a == b for a, b in combinations(x, 2))
    result = ties(table[0])
    assert math.isnan(result.items) if n == 0 else result.items == shared / n
    assert math.isnan(result.pairs) if n < 2 else result.pairs == pairs / (n * (n - 1) / 2)


@pytest.mark.parametrize("statistic", [spearman, kendall, pairwise, monotone, adjacent_auc])
def test_infinite_scores_are_refused_with_their_place(statistic) -> None:
    with pytest.raises(InputError, match=r"item \[1, 0\].*infinite"):
        statistic([[0.1, 0.2], [np.inf, 0.3]], [0, 1])


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="levels"):
        spearman(np.zeros((3, 2)), [0, 1, 2])
    with pytest.raises(InputError, match="n_sets"):
        pairwise(np.zeros((3, 2)), [0, 1, 2])
    with pytest.raises(InputError, match="level is infinite"):
        kendall([0.1, 0.2], [0, np.inf])
