"""Tests of differences of metrics and systems: published values, by hand, and full enumeration."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.sample_size import power_at
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    holm,
    is_significant,
    is_undecidable,
    on_common_items,
    resampled_difference,
    smallest_p,
)
from metaeval.stats.significance.paired_bootstrap import (
    SystemDifference,
    compare_systems,
    difference_of,
    mean_of_sums,
    parts_of_means,
    resampled_scores,
    system_score,
)
from metaeval.stats.significance.paired_differences import (
    detectable_difference,
    images_needed,
    paired_difference,
    williams,
    williams_test,
)


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        # Silver, Hittner and May (2006), DEPCOR's example
        ((0.3, 0.4, 0.5, 100), "t", pytest.approx(-1.0767, abs=5e-5)),
        ((0.3, 0.4, 0.5, 100), "p_two_sided", pytest.approx(0.2843, abs=5e-5)),
        # what R's cocor prints for a table of school marks, the difference of its correlations
        # (.0137) given to half a per cent
        ((0.7245, 0.7108, 0.8972, 15549), "t", pytest.approx(5.5544, abs=0.03)),
        # printed by google-research/mt-metrics-eval's `WilliamsTest(…, one_sided=False)`
        *(
            (given, "p_two_sided", pytest.approx(p, rel=1e-10))
            for given, p in (
                ((0.55, 0.45, 0.6, 200), 0.059858433975413),
                ((0.1, -0.2, 0.3, 25), 0.23107973431022158),
                ((0.81, 0.8, 0.97, 60), 0.5994513214395322),
            )
        ),
    ],
)
def test_williams_equals_published_numbers(given, name, expected) -> None:
    assert getattr(williams(*given), name) == expected


def test_williams_at_its_edges() -> None:
    human = np.arange(10.0)
    same = williams_test(human**2, 3 * human**2 + 1, human)
    assert (same.t, same.p_two_sided) == (0.0, 1.0)
    assert math.isnan(williams(0.1, 0.2, 0.3, 3).t)
    assert math.isnan(williams_test(np.zeros(9), np.arange(9), np.arange(9)).p_two_sided)
    gaps = williams_test([np.nan, *human], [0.5, *human**2], [1, *human])
    assert gaps == williams_test(human, human**2, human)


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
        assert williams_test(negation, metric, human).t == pytest.approx(-t, rel=1e-6)
    # and what the formula says of metrics that are negations except for one part in 10,000
    nearly = williams_test(metric, 1e-4 * rng.normal(size=60) - metric, human)
    assert nearly.t == pytest.approx(t, rel=0.01)


def test_williams_where_two_metrics_explain_the_judgements_without_rest() -> None:
    """human = a − b: the one pulls up, the other down, and nothing is left to chance."""
    a, b = np.array([1.0, 1, -1, -1]), np.array([1.0, -1, 1, -1])
    result = williams_test(a, b, a - b)
    assert (result.t, result.p_two_sided) == (math.inf, 0)
    assert williams_test(-a, a, a).t == -math.inf


def test_holm_by_hand() -> None:
    """m = 4: .01·4, .02·3, .03·2 raised to .06, .5·1; in the order of the input."""
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06], abs=1e-15)
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([[0.01, np.nan], [0.04, 0.04]])[1].tolist() == [0.08, 0.08]
    assert holm([]).shape == (0,)


def test_no_spread() -> None:
    same = paired_difference(0.5, 0.5, [0.5] * 9, [0.5] * 9, 100)
    assert (same.p, same.effect) == (1.0, 0.0)
    always = paired_difference(1.0, 0.0, [1.0] * 9, [0.0] * 9, 12)
    assert always.p == 2**-11  # the signs of twelve images can fall so in one way of 2048
    assert math.isnan(paired_difference(0.5, 0.4, [], [], 100).p)
    assert math.isnan(paired_difference(float("nan"), 0.4, [0.1] * 9, [0.2] * 9, 100).p)


@pytest.mark.parametrize("n", [10, 30, 300])
@pytest.mark.parametrize("shift", [0.1, 0.5, 3.0])
def test_of_means_it_is_the_paired_t_test(n: int, shift: float) -> None:
    """With replicates of exactly the bootstrap's variance, against scipy; where scipy's p is below
    the sign test's smallest, that is the p, and the interval contains 0 as p says."""
    gaps = np.random.default_rng(n).normal(shift, 1, n)
    spread = math.sqrt(gaps.var() / n)  # of the bootstrap, exactly
    drawn = gaps.mean() + spread * np.array([-1, 1] * 500) * math.sqrt(999 / 1000)
    found = paired_difference(float(gaps.mean()), 0.0, drawn, np.zeros(1000), n)
    exact = stats.ttest_1samp(gaps, 0)
    assert found.p == pytest.approx(max(exact.pvalue, 2.0 ** (1 - n)), rel=1e-6)
    assert found.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1), rel=1e-6)
    if exact.pvalue >= 2.0 ** (1 - n):
        ends = exact.confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-6)
    for confidence in (0.5, 0.8, 0.95, 0.99, 0.999):
        at = paired_difference(float(gaps.mean()), 0.0, drawn, np.zeros(1000), n, confidence)
        assert (at.low <= 0 <= at.high) == (at.p >= 1 - confidence)


def test_few_images_have_neither_interval_nor_test() -> None:
    few = paired_difference(1.0, 0.0, [1.0] * 9, [0.0] * 9, 9)
    assert few.difference == 1.0
    assert all(math.isnan(x) for x in few[1:])
    test = resampled_difference(1.0, 0.0, [1.0] * 99, [0.0] * 99, 9)
    assert math.isnan(test.p)
    (compared,) = compare({("a", "b"): test}, "pairs of metrics")
    assert (compared.higher, compared.decidable, compared.family_size) == (None, False, 0)


@pytest.mark.parametrize("target", [0.5, 0.8])
def test_the_detectable_difference_has_its_power(target: float) -> None:
    true = detectable_difference(0.007, power=target)
    assert power_at(1, true, 0.007) == pytest.approx(target, abs=1e-3)


def test_images_needed_is_the_textbooks() -> None:
    # n = ((z_.975 + z_.8) sd / d)²: for d = 0.2 sd, (2.80158 / 0.2)² = 196.2
    assert images_needed(400, 0.02, 0.1 / 20) == 197
    # with that many images the power is the requested one
    assert power_at(197, 0.02, 0.1) == pytest.approx(0.8, abs=0.005)
    assert images_needed(400, 0.0, 0.1) == math.inf


def test_mean_ranks_of_equal_systems_are_seldom_apart_by_the_share_of_replicates() -> None:
    """Two equal systems, three scores: at 5 %, the shares say "apart" in about 5 % of 400 worlds
    (4 standard errors: 4.4), Student's t of replicates in more than 10 %: ranks jump."""
    rng, n, worlds = np.random.default_rng(0), 100, 400
    shares = students = 0
    for world in range(worlds):
        counts = bootstrap_counts(n, 200, world)
        scores = rng.normal(size=(n, 2, 1)) + rng.normal(size=(n, 2, 3))
        means = [scores.mean(0), np.einsum("ri,isk->rsk", counts, scores) / n]
        one, drawn = (np.mean(stats.rankdata(-m, axis=-2), axis=-1) for m in means)
        replicates = (drawn[:, 0], drawn[:, 1])
        shares += difference_of(*one, *replicates, 0.95, n).p < 0.05
        students += paired_difference(*one, *replicates, n).p < 0.05
    assert shares < 0.094 * worlds
    assert students > 0.1 * worlds


NAN = float("nan")


def pair(difference: float, p: float, least: float = 0.0) -> PairTest:
    return PairTest(difference, difference - 1, difference + 1, p, "test", 100, least)


def test_threshold_is_strict_and_survives_rounding():
    assert is_significant(np.nextafter(0.05, 0) - 1e-11)
    for p in (0.05, 1 - 0.95, 0.05 + 1e-9, NAN, None, 1.0):
        assert not is_significant(p), p
        assert not is_significant(p, 1 - 0.95), p


def test_holm_over_the_given_family():
    # Holm (1979) by hand: 4 × .01, 3 × .02, max(2 × .02, .06), 1 × .3
    made = compare(
        {
            ("a", "b"): pair(1, 0.02),
            ("a", "c"): pair(-1, 0.01),
            ("b", "c"): pair(1, 0.02),
            ("a", "d"): pair(1, 0.3),
            ("b", "d"): pair(NAN, NAN),
        },
        "pairs",
    )
    assert [round(c.p_adjusted, 12) for c in made[:4]] == [0.06, 0.04, 0.06, 0.3]
    assert [c.higher for c in made] == [None, "c", None, None, None]
    assert {(c.family_size, c.family) for c in made} == {(4, "pairs")}
    (made,) = compare({("a", "b"): pair(0.0, 0.001)}, "pairs")
    assert (made.significant, made.higher) == (True, None)  # no difference, no winner


@pytest.mark.parametrize(("family", "draws"), [(1, 20), (7, 140), (21, 420)])
def test_a_family_is_decidable_where_its_smallest_p_is_below_alpha(family, draws):
    """family / (draws + 1) < .05 by hand."""
    assert not is_undecidable(smallest_p(draws), family)
    assert is_undecidable(smallest_p(draws - 1), family)


def test_no_p_is_below_that_of_one_arrangement_of_the_signs():
    x = np.random.default_rng(2).normal(5, 0.1, 199)
    test = resampled_difference(5, 0, x, np.zeros(199), 20)
    assert test.p == test.smallest_p == 2.0**-19
    few = resampled_difference(5, 0, x, np.zeros(199), 50, moved=4, span=9)
    assert few.p == few.smallest_p == 0.125  # of the signs of four images 2 of 16 agree
    assert (few.low < 0, few.high) == (True, 9)


def test_against_best_control_is_one_family_over_groups():
    values = {
        "swap": {"CIDEr": 0.7, "METEOR": 0.8, "Length": 0.5, "Bigram": 0.6},
        "add": {"CIDEr": 0.2, "METEOR": 0.3, "Length": 0.9, "Bigram": NAN},
    }
    asked = []

    def test(hypotheses):
        asked.extend(hypotheses)
        return [pair(values[g][m] - values[g][c], 0.015) for g, m, c in hypotheses]

    result = against_best_control(values, ["CIDEr", "METEOR"], ["Length", "Bigram"], test, "m × k")
    assert asked == [
        ("swap", "CIDEr", "Bigram"),
        ("swap", "METEOR", "Bigram"),
        ("add", "CIDEr", "Length"),
        ("add", "METEOR", "Length"),
    ]
    # .015 would pass with two hypotheses (.03), not with four (.06)
    swap = result["swap"]
    expected = ([], "unsure", "Bigram", "METEOR", "nothing")
    assert (swap.above, swap.shows, swap.control, swap.best, result["add"].shows) == expected
    assert against_best_control(values, [], ["Length"], test, "") == {}


def test_a_metric_with_gaps_meets_the_best_control_on_its_own_items():
    """Length is best on all items, Bigram where "Grounded" has scores."""
    values = {"all": {"CIDEr": 0.9, "Grounded": 0.9, "Length": 0.8, "Bigram": 0.5}}
    asked = []

    def test(hypotheses):
        asked.extend(hypotheses)
        return [pair(0.1, 0.01) for _ in hypotheses]

    above = {"Length": 0.6, "Bigram": 0.2}

    def against(metrics: list[str]):
        asked.clear()
        return against_best_control(
            values,
            metrics,
            ["Length", "Bigram"],
            test,
            "metrics",
            gapped=["Grounded"],
            difference=lambda group, metric, control: above[control],
        )["all"]

    result = against(["CIDEr", "Grounded"])
    assert asked == [("all", "CIDEr", "Length"), ("all", "Grounded", "Bigram")]
    assert result.control == "Length"
    assert [(c.a, c.b) for c in result.comparisons] == [("CIDEr", "Length"), ("Grounded", "Bigram")]
    above |= dict.fromkeys(above, NAN)
    against(["Grounded"])
    assert asked == [("all", "Grounded", "Length")]


def two_systems(n: int, gap: float, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    b = rng.random(n)
    return b + gap + rng.normal(0, 0.2, n), b


def ratio(sums: Floats) -> Floats:
    """A score that is not a mean: the ratio of two sums, as a precision is."""
    return sums[:, :1] / sums[:, 1:]


def compared(a: Floats, b: Floats, *given: Any, **options: Any) -> list[SystemDifference]:
    """One pair of systems; tested together with another pair, it must get the same result."""
    alone, together = (
        compare_systems(pairs, *given, **options)[0] for pairs in ([(a, b)], [(a, b), (b, b)])
    )
    assert str(alone) == str(together)  # NaN are equal
    return alone


def test_difference_of_means_equals_the_tests_of_means() -> None:
    """The bootstrap draws the same images, so it is equal; the swaps are drawn from another stream,
    so p-values agree within the error of 10,000 arrangements."""
    a, b = two_systems(120, 0.03)
    result = compared(
        parts_of_means(a[:, None]),
        parts_of_means(b[:, None]),
        mean_of_sums,
        bootstrap_counts(120, 800, 3),
        permutations=10_000,
        seed=3,
    )[0]
    test = result.permutation
    means = bootstrap_counts(120, 800, 3) @ (a - b) / 120
    expected = (a.mean() - b.mean(), *np.quantile(means, [0.025, 0.975]))
    assert test[:3] == pytest.approx(expected, abs=1e-10)
    assert result.p_bootstrap == 2 * (1 + min((means <= 0).sum(), (means >= 0).sum())) / 801
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (10_000, 120))
    exact = (abs(signs @ (a - b)) >= abs((a - b).sum())).mean()
    assert 0.001 < exact < 0.5
    assert test.p == pytest.approx(exact, abs=0.02)
    assert (test.n, test.smallest_p) == (120, 1 / 10_001)


def test_permutation_equals_the_exact_test_on_few_images() -> None:
    """With eight images all 256 arrangements can be tried, for a score that is not a mean."""
    rng = np.random.default_rng(5)
    a = np.stack([rng.integers(3, 9, 8), rng.integers(8, 12, 8)], axis=1).astype(float)
    b = np.stack([rng.integers(1, 8, 8), rng.integers(8, 12, 8)], axis=1).astype(float)
    observed = abs(a[:, 0].sum() / a[:, 1].sum() - b[:, 0].sum() / b[:, 1].sum())
    extreme = 0
    for swap in itertools.product([False, True], repeat=8):
        chosen = np.array(swap)[:, None]
        first, second = np.where(chosen, b, a).sum(axis=0), np.where(chosen, a, b).sum(axis=0)
        extreme += abs(first[0] / first[1] - second[0] / second[1]) >= observed - 1e-12
    counts = bootstrap_counts(8, 10, 0)
    found = compared(a, b, ratio, counts, permutations=40_000)[0]
    exact = extreme / 256
    # four standard errors of a share of 40,000
    assert 0 < exact < 1
    tolerance = 4 * (exact * (1 - exact) / 40_000) ** 0.5
    assert found.permutation.p == pytest.approx(exact, abs=tolerance)


def test_replicates_equal_the_score_of_the_drawn_images() -> None:
    a = np.random.default_rng(1).random((30, 2))
    counts = bootstrap_counts(30, 50, 0)
    found = resampled_scores(a, ratio, counts)
    for k in range(50):
        drawn = np.repeat(a, counts[k], axis=0)
        assert found[k, 0] == pytest.approx(drawn[:, 0].sum() / drawn[:, 1].sum(), abs=1e-10)


def test_only_images_that_both_have_count() -> None:
    a, b = two_systems(60, 0.2)
    a[:7], b[5:12] = np.nan, np.nan
    parts = [parts_of_means(x[:, None]) for x in (a, b)]
    counts = bootstrap_counts(60, 300, 0)
    found = compared(*parts, mean_of_sums, counts, permutations=300)[0]
    assert found.permutation.n == 48
    x, y = on_common_items([1.0, 5.0, 2.0, NAN], [0.0, NAN, 1.0, 100.0])
    assert (np.nansum(x), np.nansum(y)) == (3, 1)
    assert found.permutation.difference == pytest.approx(np.nanmean(a - b), abs=1e-10)
    # a score on its own uses all that the system has
    assert system_score(parts[0], mean_of_sums)[0] == pytest.approx(np.nanmean(a))
    # each of two scores leaves out its own
    both = [np.stack([x, np.where(np.isnan(x), 0.5, x)], axis=1) for x in (a, b)]
    two = compared(*map(parts_of_means, both), mean_of_sums, counts, permutations=300)
    assert [d.permutation.n for d in two] == [48, 60]
    assert two[0] == found


def test_order_of_images_and_size_of_blocks_change_no_bit() -> None:
    """Sums are exact, so a permuted table with permuted counts gives the same replicates."""
    a = np.random.default_rng(2).random((500, 3)) * 10
    counts = bootstrap_counts(500, 64, 0)
    order = np.random.default_rng(3).permutation(500)
    one = resampled_scores(parts_of_means(a), mean_of_sums, counts)
    two = resampled_scores(parts_of_means(a[order]), mean_of_sums, counts[:, order])
    np.testing.assert_array_equal(one, two)
    alone = resampled_scores(parts_of_means(a), mean_of_sums, counts[5:6])
    np.testing.assert_array_equal(alone[0], one[5])


def test_nothing_scored_is_undefined() -> None:
    parts = parts_of_means(np.full((4, 1), np.nan))
    assert np.isnan(system_score(parts, mean_of_sums)[0])
    found = compared(parts, parts, mean_of_sums, bootstrap_counts(4, 10, 0))[0]
    assert np.isnan([found.permutation.difference, found.permutation.p, found.p_bootstrap]).all()
    assert found.permutation.n == 0
