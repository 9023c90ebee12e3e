"""Pearson, τ-c, weighted correlations and tie calibration against scipy and their definitions."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import (
    NAMES,
    WeightedCorrelations,
    correlations,
    pearson,
)
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.ordering.tie_calibration import pair_outcomes, pairs_within, tie_calibration
from metaeval.stats.resampling.bootstrap import bootstrap_counts

# Both sides compute the same sums in float64, in another order: 1e-12 is some hundred roundings.
TOLERANCE = 1e-12

values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1, 1), st.just(math.nan))


@st.composite
def judged(draw, most=25):
    """n scores with ties and gaps, n judgements from 1 to 4 and n groups."""
    n = draw(st.integers(1, most))
    scores = draw(st.lists(values, min_size=n, max_size=n))
    human = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    groups = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(scores), np.array(human, dtype=float), np.array(groups)


@given(judged())
@settings(max_examples=300, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_pearson_and_tau_c_equal_scipy(data) -> None:
    scores, human, _ = data
    scored = ~np.isnan(scores)
    x, y = scores[scored], human[scored]
    r, tau = pearson(scores, human), kendall(scores, human, "c")
    assert r.n == tau.n == scored.sum()
    if len(x) < 2 or len(set(x)) < 2 or len(set(y)) < 2:
        assert math.isnan(r.r)
        assert math.isnan(tau.tau)
        return
    expected = stats.kendalltau(x, y, variant="c").statistic
    assert tau.tau == pytest.approx(expected, abs=TOLERANCE)
    if np.ptp(x) > 1e-6:  # below that scipy itself warns of roundings
        assert r.r == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_tau_c_with_many_levels_and_many_items() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=3000), rng.normal(size=3000)
    for human in (np.round(2 * y), y):
        expected = stats.kendalltau(x, human, variant="c").statistic
        assert kendall(x, human, "c").tau == pytest.approx(expected, abs=TOLERANCE)
    assert pearson(x, y).r == pytest.approx(stats.pearsonr(x, y).statistic, abs=TOLERANCE)


@pytest.mark.parametrize("kind", ["distinct", "rounded", "coarse", "constant", "continuous"])
@pytest.mark.filterwarnings("ignore")
def test_weighted_correlations_equal_resampled_arrays(kind) -> None:
    """Also with fewer distinct scores than judgements, and with judgements on a continuous scale,
    which go another way."""
    rng = np.random.default_rng(7)
    n, n_images = 150, 20
    human = rng.integers(1, 6, size=n).astype(float)
    scores = human + 2 * rng.normal(size=n)
    if kind == "rounded":
        scores = np.round(scores)
    elif kind == "coarse":
        scores = (scores > 4).astype(float)
    elif kind == "constant":
        scores[:] = 0.1
    elif kind == "continuous":
        human = human + rng.normal(size=n)
    images = rng.integers(n_images, size=n)
    scores[3], human[5] = np.nan, np.nan
    counts = bootstrap_counts(n_images, 150, seed=1)  # more than one chunk
    found = WeightedCorrelations(scores, human, images, n_images).of(counts)
    there = np.array([i for i in range(n) if i not in (3, 5)])
    for k in (0, 1, 77, 149):
        rows = np.repeat(there, counts[k][images[there]])
        expected = correlations(scores[rows], human[rows])
        for name in NAMES:
            ours = getattr(found, name)[k]
            assert ours == pytest.approx(getattr(expected, name), abs=1e-10, nan_ok=True)
            if kind != "constant":
                assert math.isfinite(ours)


def test_replicates_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(50), 4)
    scores, human = rng.normal(size=200).round(1), rng.integers(1, 5, size=200)
    weighted = WeightedCorrelations(scores, human, unit, 50)
    counts = bootstrap_counts(50, 700, 0)
    one, three = weighted.of(counts, threads=1), weighted.of(counts, threads=3)
    assert len(one.spearman) == 700
    assert len(set(one.spearman)) > 600
    np.testing.assert_array_equal(one, three)


def test_weighted_correlations_compute_only_what_is_requested() -> None:
    rng = np.random.default_rng(2)
    x, y, unit = rng.normal(size=30), rng.integers(3, size=30), rng.integers(4, size=30)
    one = WeightedCorrelations(x, y, unit, 4, names=("pearson",)).of(np.ones((2, 4), dtype=int))
    assert one.pearson == pytest.approx([pearson(x, y).r] * 2, abs=TOLERANCE)
    assert np.isnan(one.kendall_tau_b).all()
    with pytest.raises(InputError):
        WeightedCorrelations(x, y, unit, 3)
    with pytest.raises(InputError):
        WeightedCorrelations(x, y, unit, 4).of(np.ones((2, 5), dtype=int))


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
@settings(max_examples=150, deadline=None)
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


def test_tie_calibration_by_hand() -> None:
    """Six pairs; .1 apart are the two that people tie and no others."""
    found = tie_calibration([0.5, 0.6, 0.1, 0.9], [3, 3, 1, 4])
    assert (found.accuracy, found.n_pairs, found.n_groups) == (1.0, 6, 1)
    assert found.epsilon == pytest.approx(0.1)
    assert found.uncalibrated == pytest.approx(5 / 6)
    # where ties only hurt, ε stays 0
    assert tie_calibration([1, 2, 3], [1, 2, 3])[:3] == (1.0, 0.0, 1.0)
    # a metric that says nothing is best off when everything is tied
    alone = tie_calibration([5, 1, 2, 3], [9, 1, 2, 3], [0, 1, 1, 1])  # the first has no partner
    assert (alone.n_groups, alone.accuracy) == (1, 1)
    constant = tie_calibration([5, 5, 5], [1, 1, 2])
    assert constant.accuracy == pytest.approx(1 / 3)
    with pytest.raises(InputError):
        tie_calibration([1, 2], [1, 2, 3])


def test_outcomes_by_group_add_up_to_the_accuracy() -> None:
    rng = np.random.default_rng(3)
    scores, human, groups = rng.normal(size=60), rng.integers(4, size=60), rng.integers(9, size=60)
    found = tie_calibration(scores, human, groups)
    right, total = pair_outcomes(pairs_within(scores, human, groups), found.epsilon, 9)
    held = total > 0
    assert (right[held] / total[held]).mean() == pytest.approx(found.accuracy, abs=TOLERANCE)


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
