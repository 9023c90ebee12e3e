"""Paired differences: worked by hand, calibrated where nothing differs, and as powerful as said."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.means import resampled_means
from metaeval.stats.significance.comparison import compare, holm, resampled_difference
from metaeval.stats.significance.paired_differences import (
    detectable_difference,
    images_needed,
    paired_difference,
)


def test_the_error_is_that_of_a_paired_t_test() -> None:
    """For a mean over images, the paired replicates give scipy's paired test."""
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(0.2, 0.2, 800), -1, 1)
    y = np.clip(x - 0.01 + rng.normal(0, 0.1, 800), -1, 1)
    counts = bootstrap_counts(800, 4000, seed=1)
    test = paired_difference(
        x.mean(), y.mean(), resampled_means(x, counts), resampled_means(y, counts), 800
    )
    expected = stats.ttest_rel(x, y)
    gaps = x - y
    # 4,000 replicates know a standard deviation to 1/√8000, about one part in 90; three of these
    assert test.error == pytest.approx(gaps.std(ddof=1) / math.sqrt(800), rel=0.035)
    assert test.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1), rel=0.035)
    assert math.log(test.p) == pytest.approx(math.log(expected.pvalue), rel=0.1)
    assert test.low < gaps.mean() < test.high


def test_no_spread() -> None:
    same = paired_difference(0.5, 0.5, [0.5] * 9, [0.5] * 9, 100)
    assert (same.p, same.effect) == (1.0, 0.0)
    always = paired_difference(1.0, 0.0, [1.0] * 9, [0.0] * 9, 12)
    assert always.p == 2**-11  # the signs of twelve images can fall so in one way of 2048
    assert math.isnan(paired_difference(0.5, 0.4, [], [], 100).p)
    assert math.isnan(paired_difference(float("nan"), 0.4, [0.1] * 9, [0.2] * 9, 100).p)


def test_few_images_have_neither_interval_nor_test() -> None:
    few = paired_difference(1.0, 0.0, [1.0] * 9, [0.0] * 9, 9)
    assert few.difference == 1.0
    assert all(math.isnan(x) for x in few[1:])
    test = resampled_difference(1.0, 0.0, [1.0] * 99, [0.0] * 99, 9, method="bootstrap")
    assert test.difference == 1.0
    assert math.isnan(test.p)
    (compared,) = compare({("a", "b"): test}, "pairs of metrics")
    assert (compared.higher, compared.decidable, compared.family_size) == (None, False, 0)


def test_among_equal_metrics_holm_keeps_the_family_wise_error() -> None:
    """200 families of four equal metrics (six pairs each) on 250 images: at α = 0.05, at most 6 %
    of the families may hold any difference. (The standard error of 200 families is 1.5 %.)"""
    rng = np.random.default_rng(20)
    alarms = 0
    for family in range(200):
        easy = rng.normal(0, 0.2, (250, 1))  # what the metrics share of an image
        scores = np.clip(easy + rng.normal(0, 0.2, (250, 4)), -1, 1)
        counts = bootstrap_counts(250, 500, seed=family)
        replicates = [resampled_means(column, counts) for column in scores.T]
        p = [
            paired_difference(
                scores[:, a].mean(), scores[:, b].mean(), replicates[a], replicates[b], 250
            ).p
            for a, b in combinations(range(4), 2)
        ]
        alarms += bool((holm(p) <= 0.05).any())
    assert alarms / 200 <= 0.06
    assert alarms > 0  # a test that never rejects would pass as well


def power_of(difference: float, error: float, alpha: float = 0.05) -> float:
    """The chance that a two-sided test at level α calls a true difference real."""
    law = NormalDist()
    edge = law.inv_cdf(1 - alpha / 2)
    return law.cdf(difference / error - edge) + law.cdf(-difference / error - edge)


@pytest.mark.parametrize("target", [0.5, 0.8])
def test_power_is_what_the_formula_says(target: float) -> None:
    """Of 2,000 simulated experiments, the share that finds the difference: within 3 points."""
    rng = np.random.default_rng(int(100 * target))
    n, sd = 200, 0.1
    error = sd / math.sqrt(n)
    true = detectable_difference(error, power=target)
    assert power_of(true, error) == pytest.approx(target, abs=1e-3)
    counts = bootstrap_counts(n, 400, seed=3)
    weights = counts.astype(float) / n
    hits = 0
    for _ in range(2000):
        gaps = rng.normal(true, sd, n)
        test = paired_difference(float(gaps.mean()), 0.0, weights @ gaps, np.zeros(400), n)
        hits += test.p <= 0.05
    assert hits / 2000 == pytest.approx(target, abs=0.03)


def test_images_needed_is_the_textbooks() -> None:
    # n = ((z_.975 + z_.8) sd / d)²: for d = 0.2 sd, (2.80158 / 0.2)² = 196.2
    z = NormalDist().inv_cdf
    expected = ((z(0.975) + z(0.8)) / 0.2) ** 2
    assert images_needed(400, 0.02, 0.1 / 20) == math.ceil(expected) == 197
    # with that many images the power is the requested one
    assert power_of(0.02, 0.1 / math.sqrt(197)) == pytest.approx(0.8, abs=0.005)
    assert images_needed(400, 0.0, 0.1) == math.inf
