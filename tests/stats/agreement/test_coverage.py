"""Intervals contain the truth at their nominal rate: the simulations of the benchmark."""

from __future__ import annotations

import pytest

from benchmarks.judgments.coverage import CASES, coverage


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_truth(name: str) -> None:
    """95 % of 400 simulations, give or take four standard errors (4.4 points)."""
    assert 0.906 <= coverage(CASES[name], 400) / 400 <= 0.994
