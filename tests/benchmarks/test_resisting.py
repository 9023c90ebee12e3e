"""The ridge and the lower rank, against definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.attack.resisting import PENALTIES, fit, lower_rank, table


def test_the_ridge_is_the_minimum_of_its_objective() -> None:
    """Σ (1 − d·w)² + penalty · |w|², minimised numerically; and it finds the informative column."""
    rng = np.random.default_rng(0)
    differences = np.column_stack([rng.normal(1, 0.3, 200), rng.normal(0, 1, 200)])
    weights, penalty = fit(differences, np.arange(200))
    assert penalty in PENALTIES

    def objective(w: np.ndarray) -> float:
        return float(np.sum((1 - differences @ w) ** 2) + penalty * np.sum(w**2))

    expected = minimize(objective, np.zeros(2), tol=1e-12).x
    assert weights == pytest.approx(expected, abs=1e-5)
    assert abs(weights[0]) > 5 * abs(weights[1])


def test_the_lower_rank_needs_both_metrics() -> None:
    ranks = lower_rank(np.array([0.1, 0.9, 0.5]), np.array([0.3, 0.1, 0.2]))
    assert ranks.tolist() == [1.0, 1.0, 2.0]


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"
