"""Tests of the difference between two metrics, against published values and full enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import NAMES
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.comparison import holm
from metaeval.stats.significance.paired_bootstrap import bootstrap_of_means, paired_bootstrap
from metaeval.stats.significance.paired_differences import williams, williams_test
from metaeval.stats.significance.paired_permutation import (
    perm_both,
    permutation_of_gaps,
    permutation_of_means,
    swap_units,
)

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall_tau_b": lambda x, y: stats.kendalltau(x, y).statistic,
    "kendall_tau_c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
}


@pytest.mark.parametrize(
    ("r1", "r2", "r12", "n", "t", "tolerance"),
    [
        # Silver, Hittner and May (2006), DEPCOR's example; p = .2843
        (0.3, 0.4, 0.5, 100, -1.0767, 5e-5),
        # what R's cocor prints for a table of school marks, the difference of its correlations
        # (.0137) given to half a per cent
        (0.7245, 0.7108, 0.8972, 15549, 5.5544, 0.03),
    ],
)
def test_williams_equals_published_examples(r1, r2, r12, n, t, tolerance) -> None:
    assert williams(r1, r2, r12, n).t == pytest.approx(t, abs=tolerance)


def test_williams_p_value_of_the_published_example() -> None:
    result = williams(0.3, 0.4, 0.5, 100)
    assert result.p_two_sided == pytest.approx(0.2843, abs=5e-5)
    assert result.p_greater == pytest.approx(1 - 0.2843 / 2, abs=5e-5)
    assert williams(0.4, 0.3, 0.5, 100).p_greater == pytest.approx(0.2843 / 2, abs=5e-5)


@pytest.mark.parametrize(
    ("r1", "r2", "r12", "n", "p"),
    [
        (0.55, 0.45, 0.6, 200, 0.059858433975413),
        (0.1, -0.2, 0.3, 25, 0.23107973431022158),
        (0.81, 0.8, 0.97, 60, 0.5994513214395322),
    ],
)
def test_williams_equals_mt_metrics_eval(r1, r2, r12, n, p) -> None:
    """Printed by google-research/mt-metrics-eval's `WilliamsTest(…, one_sided=False)`."""
    assert williams(r1, r2, r12, n).p_two_sided == pytest.approx(p, rel=1e-10)


def test_williams_equals_the_formula_with_a_determinant() -> None:
    """From raw scores, the determinant by LU decomposition and Student's t from scipy."""
    rng = np.random.default_rng(3)
    human = rng.normal(size=40)
    a, b = human + rng.normal(size=40), human + 2 * rng.normal(size=40)
    r = np.corrcoef([human, a, b])
    n, mean = 40, (r[0, 1] + r[0, 2]) / 2
    below = 2 * np.linalg.det(r) * (n - 1) / (n - 3) + mean**2 * (1 - r[1, 2]) ** 3
    t = (r[0, 1] - r[0, 2]) * math.sqrt((n - 1) * (1 + r[1, 2]) / below)
    found = williams_test(a, b, human)
    assert found.t == pytest.approx(t, abs=1e-10)
    assert found.p_two_sided == pytest.approx(2 * stats.t.sf(abs(t), 37), rel=1e-8)


def test_williams_keeps_its_level_where_the_metrics_are_equally_good() -> None:
    """400 data sets in which H0 holds: the p-values are uniform (Kolmogorov–Smirnov)."""
    rng = np.random.default_rng(8)
    human = rng.normal(size=(400, 50))
    a, b = (human + rng.normal(size=(400, 50)) for _ in range(2))
    p = [williams_test(*rows).p_greater for rows in zip(a, b, human, strict=True)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_williams_at_its_edges() -> None:
    human = np.arange(10.0)
    same = williams_test(human**2, 3 * human**2 + 1, human)
    assert (same.t, same.p_two_sided) == (0.0, 1.0)
    assert math.isnan(williams(0.1, 0.2, 0.3, 3).t)
    assert math.isnan(williams_test(np.zeros(9), np.arange(9), np.arange(9)).p_two_sided)
    gaps = williams_test([np.nan, *human], [0.5, *human**2], [1, *human])
    assert gaps == williams_test(human, human**2, human)
    with pytest.raises(InputError, match=r"1\.5"):
        williams(1.5, 0, 0, 10)


@pytest.mark.parametrize("seed", range(5))
def test_williams_of_a_metric_and_its_negation_is_pearsons_test(seed: int) -> None:
    """ρ1 = ρ2 = −ρ1 only where ρ1 = 0: scipy's t of Pearson's r, except for n − 3 instead of n − 2.

    Rounding must not matter: r12 is −1, or a few units in the last place above it.
    """
    rng = np.random.default_rng(seed)
    human = rng.normal(size=60)
    metric = human * 0.5 + rng.normal(size=60)
    pearson = stats.pearsonr(metric, human)
    t = pearson.statistic * math.sqrt(57 / (1 - pearson.statistic**2))
    for negation in (-metric, 0.1 - 0.3 * metric, 7 - metric / 3):
        result = williams_test(metric, negation, human)
        assert result.t == pytest.approx(t, rel=1e-6)
        assert result.p_two_sided == pytest.approx(2 * stats.t.sf(abs(t), 57), rel=1e-5)
        own = stats.t.isf(pearson.pvalue / 2, 58)  # by scipy, of 58 degrees of freedom
        assert abs(result.t) == pytest.approx(own, rel=0.01)
        assert williams_test(negation, metric, human).t == pytest.approx(-t, rel=1e-6)
    # and what the formula says of metrics that are negations except for one part in 10,000
    nearly = williams_test(metric, 1e-4 * rng.normal(size=60) - metric, human)
    assert nearly.t == pytest.approx(t, rel=0.01)


def test_williams_where_two_metrics_explain_the_judgements_without_rest() -> None:
    """human = a − b: the one pulls up, the other down, and nothing is left to chance."""
    a, b = np.array([1.0, 1, -1, -1]), np.array([1.0, -1, 1, -1])
    result = williams_test(a, b, a - b)
    assert (result.t, result.p_greater, result.p_two_sided) == (math.inf, 0, 0)
    assert williams_test(-a, a, a).t == -math.inf


def test_holm_by_hand() -> None:
    """m = 4: .01·4, .02·3, .03·2 raised to .06, .5·1; in the order of the input."""
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06], abs=1e-15)
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    found = holm([[0.01, np.nan], [0.04, 0.04]])
    assert found[1].tolist() == [0.08, 0.08]
    assert math.isnan(found[0, 1])
    assert holm([]).shape == (0,)
    with pytest.raises(InputError):
        holm([1.2])


def test_holm_rejects_what_the_step_down_procedure_rejects() -> None:
    """Holm's own words: go up the sorted p-values while p_(i) ≤ α / (m − i + 1), then stop."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = np.round(rng.beta(0.5, 2, size=rng.integers(1, 12)), 3)
        alpha = rng.uniform(0.01, 0.2)
        rejected = np.zeros(len(p), dtype=bool)
        for i, k in enumerate(np.argsort(p, kind="stable")):
            if p[k] > alpha / (len(p) - i):
                break
            rejected[k] = True
        assert ((holm(p) <= alpha) == rejected).all()


@pytest.mark.parametrize("statistic", NAMES)
def test_perm_both_equals_enumeration(statistic) -> None:
    """Ten captions in six units: with all 2^6 swaps the p-value is known exactly; 4,000 random
    ones come within four standard errors of it (0.032)."""
    rng = np.random.default_rng(5)
    human = rng.integers(1, 4, size=10).astype(float)
    a, b = human + rng.normal(size=10), np.round(human + 2 * rng.normal(size=10))
    unit = np.array([0, 0, 1, 1, 2, 3, 4, 4, 5, 5])
    x, y = stats.zscore(a), stats.zscore(b)
    measure = SCIPY[statistic]
    gaps = []
    for swap in product([False, True], repeat=6):
        s = np.array(swap)[unit]
        gaps.append(measure(np.where(s, y, x), human) - measure(np.where(s, x, y), human))
    observed = measure(a, human) - measure(b, human)
    found = perm_both(a, b, human, unit, statistic=statistic, replicates=4000)
    assert found.difference == pytest.approx(observed, abs=1e-12)
    exact = np.mean(np.array(gaps) >= observed - 1e-12)
    assert found.p_greater == pytest.approx(exact, abs=0.032)
    exact = np.mean(np.abs(gaps) >= abs(observed) - 1e-12)
    assert found.p_two_sided == pytest.approx(exact, abs=0.032)
    assert found.n_units == 6


def test_perm_both_ignores_scale_and_missing_items_and_repeats_itself() -> None:
    rng = np.random.default_rng(1)
    human, a, b = rng.integers(1, 5, size=30), rng.normal(size=30), rng.normal(size=30)
    plain = perm_both(a, b, human, replicates=300)
    assert perm_both(100 * a + 7, b, human, replicates=300) == plain
    assert perm_both([*a, np.nan], [*b, 1.0], [*human, 4], replicates=300) == plain
    assert perm_both(a, b, human, replicates=300, seed=1) != plain
    mirrored = perm_both(b, a, human, replicates=300)
    assert mirrored.difference == -plain.difference
    assert math.isnan(perm_both(np.ones(30), b, human, replicates=10).p_two_sided)
    with pytest.raises(InputError, match="unknown statistic"):
        perm_both(a, b, human, statistic="mean")


def test_permutation_of_means_equals_scipys_exact_test() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.4, 1, size=9), rng.normal(size=9)
    exact = stats.permutation_test(
        (a, b),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**9,
    )
    found = permutation_of_means(a, b, replicates=20_000)
    assert found.difference == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert found.p_two_sided == pytest.approx(exact.pvalue, abs=0.015)  # 4 standard errors


def test_units_that_are_swapped_together() -> None:
    systems, images = ["x", "y", "x", "y"], [3, 3, 5, 5]
    assert swap_units(systems, images, "both").tolist() == [0, 2, 1, 3]
    assert swap_units(systems, images, "system").tolist() == [0, 1, 0, 1]
    assert swap_units(systems, images, "image").tolist() == [0, 0, 1, 1]
    # all pairs in one unit: swapping changes the sign only, so nothing is less extreme
    assert permutation_of_means([1, 2], [0, 0], [7, 7], replicates=50).p_two_sided == 1
    with pytest.raises(InputError):
        swap_units(systems, images, "caption")


@pytest.mark.parametrize("statistic", NAMES)
def test_paired_bootstrap_equals_resampled_arrays(statistic) -> None:
    rng = np.random.default_rng(4)
    images = np.repeat(np.arange(12), 3)
    human = rng.integers(1, 5, size=36).astype(float)
    a, b = human + rng.normal(size=36), np.round(human + rng.normal(size=36))
    a[4] = np.nan
    counts = bootstrap_counts(12, 60, seed=9)
    gaps = []
    for row in counts:
        rows = [i for i in np.repeat(np.arange(36), row[images]) if i != 4]
        measure = SCIPY[statistic]
        gaps.append(measure(a[rows], human[rows]) - measure(b[rows], human[rows]))
    found = paired_bootstrap(a, b, human, images, statistic=statistic, counts=counts)
    assert (found.low, found.high) == pytest.approx(np.quantile(gaps, [0.025, 0.975]), abs=1e-10)
    assert found.p_greater == (1 + sum(g <= 0 for g in gaps)) / 61


def test_bootstrap_of_means_equals_resampled_arrays() -> None:
    rng = np.random.default_rng(6)
    a, b, images = rng.normal(1, 1, 40), rng.normal(size=40), np.repeat(np.arange(10), 4)
    found = bootstrap_of_means(a, b, images, replicates=200, seed=3)
    means = [np.repeat(a - b, row[images]).mean() for row in bootstrap_counts(10, 200, seed=3)]
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-10)
    assert found.difference == pytest.approx((a - b).mean(), abs=1e-12)


def test_many_gaps_against_full_enumeration() -> None:
    """All 2^10 arrangements of ten units; 20,000 draws are within four standard errors of it."""
    rng = np.random.default_rng(8)
    gaps = rng.normal([0.0, 0.3, 1.0], 1.0, size=(10, 3))
    differences, p = permutation_of_gaps(gaps, replicates=20_000, seed=1)
    signs = np.array(list(product((-1, 1), repeat=10)))
    exact = (np.abs(signs @ gaps) >= np.abs(gaps.sum(axis=0)) - 1e-12).mean(axis=0)
    assert differences == pytest.approx(gaps.sum(axis=0), abs=1e-12)
    assert (np.abs(p - exact) <= 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4).all()
    assert (permutation_of_gaps(gaps, replicates=20_000, seed=1)[1] == p).all()
    empty = permutation_of_gaps(np.empty((10, 0)), replicates=10)
    assert [len(part) for part in empty] == [0, 0]
