"""Coverage of the intervals on human judgements, by simulation."""

import pytest

from research.judgments.coverage import CASES, coverage


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_truth(name: str) -> None:
    """95 % of 400 simulations, give or take four standard errors (4.4 points)."""
    assert 0.906 <= coverage(CASES[name], 400) / 400 <= 0.994
