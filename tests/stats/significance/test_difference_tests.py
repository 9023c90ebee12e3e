"""Tests of the difference between two metrics, against published values and full enumeration."""

import math
from itertools import combinations, product
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import NAMES
from metaeval.stats.resampling.bootstrap import bootstrap_counts, resampled_means
from metaeval.stats.significance import paired_permutation
from metaeval.stats.significance.comparison import compare, holm, resampled_difference
from metaeval.stats.significance.paired_bootstrap import paired_bootstrap
from metaeval.stats.significance.paired_differences import (
    detectable_difference,
    images_needed,
    paired_difference,
    williams,
    williams_test,
)
from metaeval.stats.significance.paired_permutation import (
    SwappedKendall,
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


def data(n: int, decimals: int, levels: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n + decimals)
    level = rng.integers(levels, size=n)
    a = np.round(rng.normal(size=n) + 0.3 * level * 4 / levels, decimals)
    b = np.round(0.7 * a + rng.normal(size=n), decimals)
    return a, b, level, rng.integers(n // 2, size=n)


def untied_pairs(values: np.ndarray) -> float:
    n, sizes = len(values), np.unique(values, return_counts=True)[1]
    return (n * n - float((sizes * sizes).sum())) / 2


@pytest.mark.parametrize("levels", [4, 100, 100_000])
@pytest.mark.parametrize("variant", ["b", "c"])
@pytest.mark.parametrize("decimals", [1, 9])
def test_differences_against_scipy(variant: str, decimals: int, levels: int) -> None:
    """Within the bound that comes with the difference; exact, except for the roundings of a few
    divisions, where no scores are tied, and for τ-c with few levels."""
    a, b, level, unit = data(800, decimals, levels)
    level = np.unique(level, return_inverse=True)[1]
    unit = np.unique(unit, return_inverse=True)[1]
    swaps = SwappedKendall(a, b, unit, int(unit.max()) + 1, level, int(level.max()) + 1, variant)
    keep = np.random.default_rng(0).integers(2, size=(6, int(unit.max()) + 1), dtype=np.int8)
    gaps, slack = swaps.differences(keep)
    for row, gap, bound in zip(keep, gaps, slack, strict=True):
        kept = row[unit] == 1
        tau = [
            stats.kendalltau(np.where(kept, x, y), level, variant=variant).statistic
            for x, y in ((a, b), (b, a))
        ]
        assert abs(gap - (tau[0] - tau[1])) <= bound + 1e-12
        if decimals == 9 or (variant == "c" and levels == 4):
            assert bound == 0
        assert bound < 0.02
        if variant == "b":  # |S(σ) + S(−σ)| ≤ sum of the sizes: half of it times |1/size − 1/other|
            size, other = (
                np.sqrt(untied_pairs(np.where(kept, x, y)) * untied_pairs(level))
                for x, y in ((a, b), (b, a))
            )
            assert bound == pytest.approx((size + other) / 2 * abs(1 / size - 1 / other), abs=1e-12)


@pytest.mark.parametrize("statistic", ["kendall_tau_b", "kendall_tau_c"])
@pytest.mark.parametrize("decimals", [1, 4])
@pytest.mark.parametrize("levels", [5, 10_000])
def test_the_same_p_values_as_the_plain_way(
    monkeypatch: pytest.MonkeyPatch, statistic: str, decimals: int, levels: int
) -> None:
    """With many ties (one decimal) most arrangements are near the edge and computed in full."""
    a, b, level, unit = data(1500, decimals, levels)
    fast = perm_both(a, b, level, unit, statistic=statistic, replicates=300)
    monkeypatch.setattr(paired_permutation, "_fast", lambda *_: None)
    assert fast == perm_both(a, b, level, unit, statistic=statistic, replicates=300)
