"""Detection within images, against counting by hand and the binomial law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.ordering.detection import detection, falls, sign_test
from metaeval.stats.resampling.bootstrap import bootstrap_counts


def test_by_hand():
    original = np.array([1.0, 1.0, 1.0, 1.0, np.nan, 1.0])
    changed = np.array([0.0, 1.0, 2.0, 0.5, 0.0, np.nan])
    (result,) = detection(original, changed[:, None], bootstrap_counts(6, 100, 0))
    assert result.n == 4
    assert (result.detected, result.tied, result.auc) == (0.5, 0.25, 0.625)
    assert result.cost == pytest.approx((1 + 0 - 1 + 0.5) / 4)
    gaps = np.array([1.0, 0.0, -1.0, 0.5])
    assert result.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    assert np.isnan([result.ci, result.detected_ci, result.cost_ci, result.effect_ci]).all()
    (more,) = detection(
        np.tile(original, 3), np.tile(changed, 3)[:, None], bootstrap_counts(18, 100, 0)
    )
    assert (more.n, more.auc) == (12, 0.625)
    assert more.ci[0] <= 0.625 <= more.ci[1]


def test_interval_and_p_are_those_of_a_share():
    """Without ties the AUC is a share of n independent images: its law is binomial. Tolerance: the
    error of an error from 4,000 replicates is 1.1 %, the normal law's p differs by more."""
    rng = np.random.default_rng(1)
    n = 400
    gaps = np.where(rng.random(n) < 0.57, 1.0, -1.0)
    (result,) = detection(gaps, np.zeros((n, 1)), bootstrap_counts(n, 4000, 0))
    error = math.sqrt(result.auc * (1 - result.auc) / n)
    assert (result.ci[1] - result.ci[0]) / (2 * 1.96) == pytest.approx(error, rel=0.05)
    assert result.detected_ci == result.ci  # without ties they are the same share
    above = int((gaps == 1).sum())
    assert result.p == pytest.approx(stats.binomtest(above, n).pvalue, rel=1e-9)


def test_intervals_are_those_of_resampled_arrays():
    """Cost and effect of each replicate, with the arrays rebuilt as it drew them. Tolerance: costs
    are rounded to 2^-21 of the greatest."""
    rng = np.random.default_rng(5)
    original, changed = rng.normal(0.3, 1, 30), rng.normal(0, 1, (30, 2))
    changed[rng.random((30, 2)) < 0.2] = np.nan
    counts = bootstrap_counts(30, 200, 0)
    for k, result in enumerate(detection(original, changed, counts)):
        costs, effects = [], []
        for drawn in counts:
            gaps = np.repeat(original - changed[:, k], drawn)
            gaps = gaps[~np.isnan(gaps)]
            costs.append(gaps.mean())
            effects.append(gaps.mean() / gaps.std(ddof=1))
        assert result.cost_ci == pytest.approx(np.quantile(costs, [0.025, 0.975]), abs=1e-5)
        assert result.effect_ci == pytest.approx(np.quantile(effects, [0.025, 0.975]), abs=1e-5)


def test_sign_test_is_scipys():
    for above in range(8):
        for below in range(8):
            if above + below:
                p = stats.binomtest(above, above + below).pvalue
                assert sign_test(above, below) == pytest.approx(p, rel=1e-12)


def test_nothing_known():
    (result,) = detection([np.nan], [[1.0]], bootstrap_counts(1, 10, 0))
    assert result.n == 0
    assert math.isnan(result.auc)


def test_falls_need_every_step():
    assert falls([[3, 3, 3], [2, 3, 2], [1, 1, 2]]).tolist() == [1, 0, 0]
    assert np.isnan(falls([[np.nan], [1.0]])).all()
