"""Spearman, Kendall, Pearson, AUC, ties, pairs and weighted correlations against scipy and against
their definitions."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from metaeval.stats.correlation.correlations import WeightedCorrelations, pearson, spearman
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.correlation.rank_order import (
    rank_order,
    rank_orders_within,
    tie_breaking_seeds,
)
from metaeval.stats.ordering.graded import monotone_flags, pair_counts
from metaeval.stats.ordering.pairwise import auc
from metaeval.stats.ordering.tie_calibration import tie_calibration
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import scored_items, ties

# Both sides compute the same sums in float64, in another order: 1e-12 is some hundred roundings.
TOLERANCE = 1e-12


values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1, 1), st.just(math.nan))


@st.composite
def tables(draw, cell=values, sets=5, items=60):
    """Small tables with ties, gaps and possibly equal levels: scores [n, k], levels [k]."""
    k = draw(st.integers(2, sets))
    n = draw(st.integers(1, min(12, items // k)))
    scores = draw(st.lists(st.lists(cell, min_size=k, max_size=k), min_size=n, max_size=n))
    levels = draw(st.lists(st.integers(0, k), min_size=k, max_size=k))
    return np.array(scores), np.array(levels)


# at most seven scored items, so that all tie-breakings can be tried
few_values = st.one_of(*(st.integers(0, k).map(float) for k in (3, 1)), st.just(math.nan))
TINY = tables(few_values, sets=4, items=7)


def same(ours: float, theirs: float) -> None:
    assert ours == pytest.approx(theirs, abs=TOLERANCE, nan_ok=True)


@given(st.lists(values, max_size=20), st.lists(values, max_size=25))
def test_auc_equals_mann_whitney(low, high) -> None:
    """Of weighted images: tests/stats/resampling, which compares replicates with this function."""
    result = auc(low, high)
    low, high = ([x for x in side if not math.isnan(x)] for side in (low, high))
    u = stats.mannwhitneyu(high, low).statistic if low and high else math.nan
    same(result, u / max(1, len(low) * len(high)))


@given(tables())
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
    assert [part.sum() for part in pair_counts(scores, levels)] == [right, tied, wrong]
    assert [part.sum() for part in monotone_flags(scores, levels)] == [in_order, complete]


@given(tables())
def test_ties_by_their_definition(table) -> None:
    x = table[0][~np.isnan(table[0])]
    n = len(x)
    shared = sum(np.sum(x == value) > 1 for value in x)
    pairs = sum(a == b for a, b in combinations(x, 2))
    result = ties(table[0])
    assert math.isnan(result.items) if n == 0 else result.items == shared / n
    assert math.isnan(result.pairs) if n < 2 else result.pairs == pairs / (n * (n - 1) / 2)


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


@given(TINY)
@settings(max_examples=50)
def test_expectation_and_bounds_equal_all_tie_breakings(table) -> None:
    every = brute_force(*table)
    result = rank_order(*table, tie_seeds=range(3))
    expected = [np.mean(every), min(every), max(every)]
    # sums of up to 5,040 correlations on their side: 1e-12 covers the rounding
    assert list(result[:3]) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    for draw in result.draws:
        assert any(draw == pytest.approx(rho, abs=1e-12, nan_ok=True) for rho in every)


@pytest.mark.parametrize(("n_sets", "step"), [(4, 0.00004), (2, 0.0004)])
def test_the_steps_of_the_published_values(n_sets, step) -> None:
    """Every value of the paper is a multiple of 0.00004 (four sets of 5,000) or 0.0004 (two).

    That is what one swap of two captions at neighbouring levels costs.
    """
    levels = np.arange(n_sets)
    scores = np.arange(5000 * n_sets, dtype=float).reshape(n_sets, 5000).T
    scores[-1, 0], scores[0, 1] = scores[0, 1], scores[-1, 0]
    assert rank_order(scores, levels).rho == pytest.approx(1 - step, abs=1e-12)


def test_draws_are_seeded_and_average_to_the_expectation() -> None:
    rng = np.random.default_rng(4)
    levels = np.arange(4)
    scores = np.where(rng.random((300, 4)) < 0.7, 0, rng.random((300, 4)) + 0.3 * levels)
    result = rank_order(scores, levels, tie_seeds=range(400))
    assert result.draws[:5] == rank_order(scores, levels, tie_seeds=range(5)).draws
    assert len(set(result.draws)) > 50
    assert tie_breaking_seeds(3, 0) == [0, 1, 2]
    assert not set(tie_breaking_seeds(10, 1)) & set(tie_breaking_seeds(10, 2))
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


@given(TINY)
def test_within_is_the_expectation_for_each_image(table) -> None:
    scores, levels = table
    rhos = [float(np.mean(brute_force(row[None], levels))) for row in scores]
    assert rank_orders_within(scores, levels) == pytest.approx(rhos, abs=1e-12, nan_ok=True)


@st.composite
def judged(draw, most=25):
    """n scores with ties and gaps, n judgements from 1 to 4 and n groups."""
    n = draw(st.integers(1, most))
    scores = draw(st.lists(values, min_size=n, max_size=n))
    human = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    groups = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(scores), np.array(human, dtype=float), np.array(groups)


@given(st.one_of(tables(), judged().map(lambda data: data[:2])))
@settings(max_examples=200)
@pytest.mark.filterwarnings("ignore")
def test_correlations_equal_scipy(data) -> None:
    """Of tables with a level for each column, and of single captions with a judgement each."""
    x, y = scored_items(*data)
    enough = len(x) > 1
    same(spearman(*data), stats.spearmanr(x, y).statistic if enough else math.nan)
    for variant in "bc":
        expected = stats.kendalltau(x, y, variant=variant).statistic if enough else math.nan
        same(kendall(*data, variant), expected)
    if not enough or np.ptp(x) > 1e-6:  # below that scipy itself warns of roundings
        expected = stats.pearsonr(x, y).statistic if enough else math.nan
        assert pearson(*data) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_replicates_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(50), 4)
    scores, human = rng.normal(size=200).round(1), rng.integers(1, 5, size=200)
    counts = bootstrap_counts(50, 700, 0)
    for judgements in (human, human + rng.normal(size=200)):  # few levels, and many
        weighted = WeightedCorrelations(scores, judgements, unit, 50)
        one, three = weighted.of(counts, threads=1), weighted.of(counts, threads=3)
        assert len(one.spearman) == 700
        assert len(set(one.spearman)) > 600
        np.testing.assert_array_equal(one, three)


def test_weighted_correlations_compute_only_what_is_requested() -> None:
    rng = np.random.default_rng(2)
    x, y, unit = rng.normal(size=30), rng.integers(3, size=30), rng.integers(4, size=30)
    one = WeightedCorrelations(x, y, unit, 4, names=("pearson",)).of(np.ones((2, 4), dtype=int))
    assert one.pearson == pytest.approx([pearson(x, y)] * 2, abs=TOLERANCE)
    assert np.isnan(one.kendall_tau_b).all()


def accuracy_by_definition(scores, human, groups, epsilon: float) -> float:
    """Mean over groups of the share of right pairs, pair by pair."""
    shares = []
    for group in sorted(set(groups)):
        items = [
            (s, h)
            for s, h, g in zip(scores, human, groups, strict=True)
            if g == group and not math.isnan(s) and not math.isnan(h)
        ]
        right = []
        for (s, h), (t, k) in combinations(items, 2):
            sign = 0 if abs(s - t) <= epsilon else math.copysign(1, s - t)
            right.append(sign == np.sign(h - k))
        if right:
            shares.append(sum(right) / len(right))
    return sum(shares) / len(shares) if shares else math.nan


@given(judged(most=14))
@settings(max_examples=60)
def test_tie_calibration_equals_trying_every_epsilon(data) -> None:
    scores, human, groups = data
    found = tie_calibration(scores, human, groups)
    candidates = {0.0} | {
        abs(s - t)
        for (s, g), (t, k) in combinations(zip(scores, groups, strict=True), 2)
        if g == k and not math.isnan(s - t)
    }
    tried = {e: accuracy_by_definition(scores, human, groups, e) for e in sorted(candidates)}
    if found.n_pairs == 0:
        assert math.isnan(found.accuracy)
        assert math.isnan(tried[0.0])
        return
    best = max(tried.values())
    assert found.accuracy == pytest.approx(best, abs=1e-9)
    assert found.uncalibrated == pytest.approx(tried[0.0], abs=1e-9)
    assert found.epsilon == min(e for e, a in tried.items() if a >= best - 1e-9)


@pytest.mark.parametrize(
    ("groups", "accuracy", "uncalibrated"),
    [
        (np.repeat([0, 1, 2], 5), 0.8333333333333334, 0.6666666666666666),  # average_by="item"
        (None, 0.7428571428571429, 0.7047619047619048),  # average_by="none"
    ],
)
def test_tie_calibration_equals_mt_metrics_eval(groups, accuracy, uncalibrated) -> None:
    """Printed by google-research/mt-metrics-eval's `tau_optimization` with `acc_23`."""
    human = [4, 3, 3, 1, 2, 1, 1, 1, 2, 4, 2, 4, 4, 4, 3]
    scores = [
        *(0.71, 0.52, 0.55, 0.12, 0.40),
        *(0.33, 0.30, 0.31, 0.60, 0.58),
        *(0.20, 0.64, 0.90, 0.61, 0.66),
    ]
    found = tie_calibration(scores, human, groups)
    assert found.accuracy == pytest.approx(accuracy, abs=TOLERANCE)
    assert found.uncalibrated == pytest.approx(uncalibrated, abs=TOLERANCE)
    assert found.epsilon == 0.030000000000000027
