"""Weighted rank correlations of many values, against scipy on the items repeated by weight."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.weighted import WeightedPairs


@pytest.mark.parametrize("n", [66, 130, 700])
@pytest.mark.parametrize("x_values", [3, 50, 10**9])
@pytest.mark.parametrize("y_values", [90, 10**9])
def test_equal_to_scipy_on_repeated_items(n: int, x_values: int, y_values: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.integers(0, x_values, n).astype(float)
    y = np.round(y_values * (x / x_values + rng.random(n)))
    y[:2] = 0, 1
    unit = rng.integers(0, n // 3, n)
    weights = rng.integers(0, 4, (40, n // 3))
    made = WeightedCorrelations(x, y, unit, n // 3).of(weights)
    for k in (0, 1, 31, 32, 39):  # on both sides of a chunk's edge
        repeated = [np.repeat(v, weights[k][unit]) for v in (x, y)]
        expected = [
            stats.pearsonr(*repeated).statistic,
            stats.spearmanr(*repeated).statistic,
            stats.kendalltau(*repeated).statistic,
            stats.kendalltau(*repeated, variant="c").statistic,
        ]
        assert [float(column[k]) for column in made] == pytest.approx(expected, abs=1e-12)


def test_large_weights_stay_exact() -> None:
    """Sums beyond 2^31: three items of 50,000 copies each, tau by hand."""
    pairs = WeightedPairs(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.arange(3))
    made = pairs.of(np.array([[50_000, 50_000, 50_000], [1, 1, 1], [0, 0, 5]]))
    assert made.surplus.tolist() == [2.5e9, 1, 0]
    assert made.kendall_tau_b[:2] == pytest.approx([1 / 3, 1 / 3], abs=1e-12)
    assert made.spearman_rho[:2] == pytest.approx([0.5, 0.5], abs=1e-12)
    assert np.isnan([made.kendall_tau_b[2], made.spearman_rho[2]]).all()


def test_one_pair_of_items_has_a_tau() -> None:
    pairs = WeightedPairs(np.array([1.0, 2]), np.array([2.0, 1]), np.arange(2))
    assert pairs.of(np.array([[1, 1]])).kendall_tau_b.tolist() == [-1]
