"""Means of outcomes: values by hand, tests against scipy's paired t-test, Holm by hand."""

import numpy as np
import pytest
from scipy.stats import norm, ttest_rel

from metaeval.experiments.means import Means
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats

N = 1500


def outcomes() -> dict[str, Floats]:
    rng = np.random.default_rng(0)
    base = rng.normal(size=N)
    return {
        "A": base + rng.normal(0.05, 1.0, N),
        "B": base + rng.normal(0.0, 1.0, N),
        "C": base + rng.normal(-0.3, 1.0, N),
        "Length": rng.normal(-0.2, 1.0, N),
    }


def means_of(columns: dict[str, Floats], units: int = 1) -> Means:
    counts = bootstrap_counts(N // units, 4000, 0)
    return Means("mean", columns, np.arange(N) // units, counts)


def test_one_unit_an_item_is_the_paired_t_test() -> None:
    """A standard error of 4,000 replicates is within 4 % of the exact one; its own is 1.1 %."""
    columns = outcomes()
    comparisons = means_of(columns).comparisons(["A", "B", "C"])
    for pair in comparisons.pairs:
        exact = ttest_rel(columns[pair.a], columns[pair.b])
        gap = columns[pair.a].mean() - columns[pair.b].mean()
        assert pair.difference.value == pytest.approx(gap, rel=1e-12)
        assert abs(norm.ppf(pair.test.p / 2)) == pytest.approx(abs(exact.statistic), rel=0.04)
        assert pair.difference.interval == pytest.approx(exact.confidence_interval(0.95), abs=0.01)
    smallest, middle, largest = sorted(pair.test.p for pair in comparisons.pairs)
    adjusted = sorted(pair.test.p_adjusted for pair in comparisons.pairs)
    expected = [3 * smallest, max(3 * smallest, 2 * middle), max(2 * middle, largest)]
    assert adjusted == pytest.approx(expected, rel=1e-12)


def test_items_of_one_unit_stay_together() -> None:
    """Two equal items a unit: the interval is that of the units, √2 wider than of the items."""
    columns = {name: np.repeat(of_column[: N // 2], 2) for name, of_column in outcomes().items()}
    paired, single = means_of(columns, 2).estimate("A"), means_of(columns).estimate("A")
    ratio = np.subtract(*paired.interval) / np.subtract(*single.interval)
    assert ratio == pytest.approx(np.sqrt(2), rel=0.05)
    assert (paired.n, paired.value) == (N, pytest.approx(columns["A"].mean()))


def test_a_difference_is_on_common_items() -> None:
    columns = outcomes()
    columns["A"][:500] = np.nan
    means = means_of(columns)
    test = means.difference("A", "B")
    assert test.difference == pytest.approx((columns["A"] - columns["B"])[500:].mean())
    assert test.n == means.estimate("A").n == N - 500


def test_the_best_control_is_the_one_to_beat() -> None:
    columns = outcomes()
    against = means_of(columns).against_control(["A", "C"], ["Length", "B"])
    expected = ("B", pytest.approx(columns["B"].mean()), ())
    assert (against.control, against.control_value, against.above) == expected
    assert {c.a: c.is_significant() for c in against.comparisons} == {"A": False, "C": True}
    assert means_of(columns).against_control(["A"], []) is None
