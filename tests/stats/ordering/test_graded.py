"""The record of one metric: its keys, its degenerate cases, and that it repeats to the byte."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from metaeval.stats.correlation.correlations import spearman
from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
from metaeval.stats.ordering.detection import classification, detection
from metaeval.stats.ordering.graded import (
    GradedRecord,
    graded_statistics,
    selected_statistics,
    variance_parts,
    worst_first,
    worst_inversion,
)
from metaeval.stats.ordering.tie_calibration import group_pairs, tie_calibration
from metaeval.stats.resampling.bootstrap import IntervalEstimate, bootstrap_counts
from metaeval.stats.resampling.items import Floats

NAMES = ["Random", "Replace 50%", "Replace 25%", "Human"]
LEVELS = np.arange(4)


def scores(n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.round(rng.normal(size=(n, 4)) + 0.5 * LEVELS, 1)


def test_lower_is_better_mirrors_the_order() -> None:
    values = scores()
    down = graded_statistics(-values, LEVELS, NAMES, higher_is_better=False, replicates=100)
    up = graded_statistics(values, LEVELS, NAMES, replicates=100)
    assert down == up


def test_constant_scores() -> None:
    record = graded_statistics(np.zeros((20, 4)), LEVELS, NAMES, replicates=50)
    assert record.rank_order_rho[:3] == (0, 0, 0)
    assert record.rank_order_rho_bounds == (-1, 1)
    assert np.isnan([*record.spearman_rho[:3], *record.kendall_tau_b[:3]]).all()
    assert [step.auc.value for step in record.adjacent_auc] == [0.5] * 3
    rates = record.rank_order_rho_within.value, record.monotone_rate.value
    assert (*rates, record.tie_fraction, record.pairwise_ties) == (0, 0, 1, 1)


def test_nothing_scored() -> None:
    record = graded_statistics(np.full((5, 4), np.nan), LEVELS, NAMES, replicates=50)
    steps = [step.auc for step in record.adjacent_auc]
    estimates = [part for part in record if isinstance(part, IntervalEstimate)]
    assert np.isnan([estimate[:3] for estimate in (*steps, *estimates)]).all()
    assert np.isnan(
        [*record.rank_order_rho_bounds, record.tie_fraction, *record.variance[:3]]
    ).all()


def test_a_set_without_scores_leaves_the_others_their_statistics() -> None:
    values = scores()
    values[:, 1] = np.nan
    record = graded_statistics(values, LEVELS, NAMES, replicates=50)
    rest = graded_statistics(values[:, [0, 2, 3]], [0, 2, 3], ["a", "b", "c"], replicates=50)
    for name in set(GradedRecord._fields) - {"sets", "adjacent_auc", "monotone_rate"}:
        assert getattr(record, name) == getattr(rest, name)
    assert [math.isnan(s.auc.value) for s in record.adjacent_auc] == [True, True, False]
    assert math.isnan(record.monotone_rate.value)  # no image is complete


def test_equal_levels_are_pooled() -> None:
    names = ["a", "b", "c"]
    record = graded_statistics(scores()[:, :3], [0, 1, 1], names, replicates=50)
    (step,) = record.adjacent_auc
    assert (step.lower, step.upper) == ("a", "b + c")
    assert record.spearman_rho.value == spearman(scores()[:, :3], [0, 1, 1])


def test_the_parts_are_those_of_a_least_squares_fit() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1)) * 2 + np.arange(4) * 0.3
    image, level = (part.ravel() for part in np.indices(scores.shape))
    y = scores.ravel()

    def residual(*factors: np.ndarray) -> float:
        columns = [np.ones((len(y), 1)), *(np.eye(f.max() + 1)[f] for f in factors)]
        design = np.hstack(columns)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    total = residual()
    parts = variance_parts(scores, np.arange(4))
    expected = (total - residual(image), total - residual(level), residual(image, level))
    # least squares of a rank-deficient design: 1e-10 of numpy's own
    assert parts[:3] == pytest.approx(np.array(expected) / total, abs=1e-10)


def test_incomplete_images_are_left_out_and_constant_scores_have_no_parts() -> None:
    whole = np.array([[0.0, 1.0], [4.0, 7.0]])
    gap = np.vstack([whole, [[5.0, np.nan]]])
    assert variance_parts(gap, [0, 1]) == variance_parts(whole, [0, 1])
    for table in (np.ones((5, 3)), [[0.0, 1.0]], np.full((4, 2), np.nan)):
        assert np.isnan(variance_parts(table, range(np.shape(table)[1]))[:3]).all()


def test_by_hand():
    original = np.array([1.0, 1.0, 1.0, 1.0, np.nan, 1.0])
    changed = np.array([0.0, 1.0, 2.0, 0.5, 0.0, np.nan])
    (result,) = detection(original, changed[:, None], bootstrap_counts(6, 100, 0))
    assert (result.n, result.detected, result.tied, result.auc) == (4, 0.5, 0.25, 0.625)
    gaps = np.array([1.0, 0.0, -1.0, 0.5])
    expected = gaps.mean(), gaps.mean() / gaps.std(ddof=1)
    assert (result.cost, result.effect) == pytest.approx(expected)
    assert np.isnan([result.ci, result.detected_ci, result.cost_ci, result.effect_ci]).all()
    (more,) = detection(
        np.tile(original, 3), np.tile(changed, 3)[:, None], bootstrap_counts(18, 100, 0)
    )
    assert (more.n, more.auc) == (12, 0.625)
    assert more.ci[0] <= 0.625 <= more.ci[1]


def test_intervals_are_those_of_resampled_arrays():
    """Of each replicate, with the arrays rebuilt as it drew them. Tolerance: costs are rounded to
    2^-21 of the greatest."""
    rng = np.random.default_rng(5)
    original, changed = rng.normal(0.3, 1, 30), rng.normal(0, 1, (30, 2))
    changed[rng.random((30, 2)) < 0.2] = np.nan
    counts = bootstrap_counts(30, 200, 0)
    for k, result in enumerate(detection(original, changed, counts)):
        replicates = []
        for drawn in counts:
            gaps = np.repeat(original - changed[:, k], drawn)
            gaps = gaps[~np.isnan(gaps)]
            replicates.append((gaps.mean(), gaps.mean() / gaps.std(ddof=1), (gaps > 0).mean()))
        expected = np.quantile(replicates, [0.025, 0.975], axis=0).T
        made = [result.cost_ci, result.effect_ci, result.detected_ci]
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-5)
        assert result.ci == result.detected_ci  # the AUC, without ties


def test_sign_test_is_scipys():
    for above, below in set(product(range(8), repeat=2)) - {(0, 0)}:
        gaps = np.array([1.0] * above + [-1.0] * below)
        (result,) = detection(gaps, 0 * gaps[:, None], np.empty((0, above + below)))
        p = stats.binomtest(above, above + below).pvalue
        assert result.p == pytest.approx(p, rel=1e-12)


def test_nothing_known_is_undefined():
    (result,) = detection([np.nan], [[1.0]], bootstrap_counts(1, 10, 0))
    record = selected_statistics(np.empty((0, 3)), range(3))
    assert (result.n, record.n_images) == (0, 0)
    assert np.isnan([result.auc, record.rank_order_rho, record.monotone_rate.value]).all()


def scores_with_holes() -> Floats:
    """Four metrics, five systems, thirty images: with ties, and with holes."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, size=(4, 5, 30)).astype(float)
    values[1] = values[0] + rng.normal(0, 0.5, (5, 30)).round(1)
    values[rng.random(values.shape) < 0.07] = np.nan
    return values


def test_each_case_is_scipys_tau_b_with_holes() -> None:
    values = scores_with_holes()
    found = answers(values).tau_of_each()
    for a, b, image in product(range(4), range(4), range(30)):
        x, y = values[a, :, image], values[b, :, image]
        expected = stats.kendalltau(x, y, nan_policy="omit").statistic
        assert found[a, b, image] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def signs_of_pairs(values: Floats) -> Floats:
    """Which of two systems is better by each metric, by image: [metric, pair of systems, image]."""
    one, other = np.array([*combinations(range(values.shape[1]), 2)]).T
    return np.sign(values[:, one] - values[:, other])


def test_within_images_is_the_definition() -> None:
    values = scores_with_holes()
    signs, found = signs_of_pairs(values), answers(values).tau()
    for a, b in combinations(range(4), 2):
        x, y = signs[[a, b]][:, ~np.isnan(signs[a] + signs[b])]
        expected = (x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum())
        assert found[a, b] == pytest.approx(expected, abs=1e-12)


def test_resampled_agreement_is_that_of_the_drawn_images() -> None:
    values, counts = scores_with_holes(), bootstrap_counts(30, 20, 0)
    found = answers(values).tau_resampled(counts)
    for k in range(20):
        drawn = np.repeat(values, counts[k], axis=2)
        np.testing.assert_allclose(found[:, :, k], answers(drawn).tau(), atol=1e-12)


def test_all_captions_matrix_is_scipys() -> None:
    values = scores_with_holes()
    found = kendall_matrix(list(values))
    for a, b in combinations(range(4), 2):
        x, y = values[a].ravel(), values[b].ravel()
        expected = stats.kendalltau(x, y, nan_policy="omit").statistic
        assert found[a, b] == found[b, a] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(np.diag(found), 1)
    constant = kendall_matrix([[1, 2, 3], [5, 5, 5]])
    assert np.isnan(constant[0, 1])
    assert np.isnan(constant[1, 1])


def test_disagreement_is_the_definition() -> None:
    """Of two metrics that order two systems, how often they do it otherwise; who ties abstains."""
    values = scores_with_holes()
    signs = signs_of_pairs(values)
    products = np.array([signs[a] * signs[b] for a, b in combinations(range(4), 2)])
    same, opposite = ((products == sign).sum(axis=(0, 1)) for sign in (1, -1))
    assert disagreement(values) == pytest.approx(opposite / (same + opposite), abs=1e-12)
    for silent in ([[[0.1], [0.2]], [[1.0], [1.0]]], [[[0.1], [0.2]]]):  # of a tie; of one metric
        assert np.isnan(disagreement(np.array(silent))).all()


@pytest.mark.parametrize("higher", [True, False])
def test_equals_a_loop_over_pairs(higher: bool) -> None:
    rng = np.random.default_rng(0)
    levels = [2, 0, 1, 1]  # two versions of one level are never compared
    scores = rng.integers(0, 4, (4, 60)) / 4
    scores[rng.random(scores.shape) < 0.2] = np.nan
    applied = rng.random(scores.shape) > 0.2
    found = worst_inversion(scores, levels, applied, higher_is_better=higher)
    for image in range(60):
        sizes = [
            (scores[a, image] - scores[b, image]) * (1 if higher else -1)
            for a in range(4)
            for b in range(4)
            if levels[a] < levels[b] and applied[a, image] and applied[b, image]
        ]
        known = [size for size in sizes if not np.isnan(size)]
        assert found[image] == (max(known) if known else -np.inf)
    assert np.isneginf(found).any()


def test_equal_severities_stay_in_order() -> None:
    assert worst_first(np.array([0.0, 2.0, -np.inf, 2.0, 0.0])).tolist() == [1, 3, 0, 4, 2]


def test_only_the_largest_groups_are_drawn_from() -> None:
    """Groups of 3, 10, 190 and 4,950 pairs; 1,000 at most: 3 + 10 + 190 leave 797 for the last."""
    sizes = [3, 5, 20, 100]
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(4), sizes))
    first, second, total = group_pairs(group, most=1000)
    assert total == 3 + 10 + 190 + 4950
    assert np.bincount(group[first]).tolist() == [3, 10, 190, 797]
    assert (group[first] == group[second]).all()
    assert (first != second).all()
    again = group_pairs(group, most=1000)
    assert (again.first == first).all()
    # of several large ones an equal number: 5,050 pairs and 4,950, 500 at most
    _, _, total = several = group_pairs(np.repeat([0, 1], [101, 100]), most=500)
    assert total == 5050 + 4950
    assert np.bincount(np.repeat([0, 1], [101, 100])[several.first]).tolist() == [250, 250]


def test_drawn_pairs_are_uniform() -> None:
    """Each of the 45 pairs of ten items is as often drawn as any other (χ², 44 degrees)."""
    group = np.repeat([0, 1], [10, 400])
    first, second, _ = group_pairs(group, most=50_000)
    large = group[first] == 1
    assert large.sum() == 50_000 - 45
    counts = np.bincount(first[large] - 10, minlength=400)
    expected = np.arange(399, -1, -1) / (400 * 399 / 2) * large.sum()
    assert counts[-1] == 0
    assert stats.chisquare(counts[:-1], expected[:-1]).pvalue > 1e-6
    assert (first[large] < second[large]).all()


def test_twenty_thousand_captions_of_one_image_need_no_quadratic_memory() -> None:
    """200 million pairs: 2 million are compared, of a known accuracy."""
    rng = np.random.default_rng(4)
    human = rng.integers(1, 6, 20_000).astype(float)
    made = tie_calibration(human + rng.normal(size=20_000), human)
    assert (made.n_pairs, made.total) == (2_000_000, 20_000 * 19_999 // 2)
    # people tie a fifth; of the rest, P(x > y) is Φ(d/√2) at a difference of d in {1, 2, 3, 4}
    right = sum(2 * (5 - d) / 25 * stats.norm.cdf(d / 2**0.5) for d in range(1, 5))
    assert made.uncalibrated == pytest.approx(right, abs=0.005)


def test_as_the_full_record_with_intervals_of_a_mean() -> None:
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(300, 4)) + 0.4 * np.arange(4), 1)
    brief = selected_statistics(scores, range(4))
    full = graded_statistics(scores, range(4), list("abcd"), replicates=2000)
    assert brief.n_images == 300
    assert brief.rank_order_rho == pytest.approx(full.rank_order_rho.value, abs=1e-12)
    for ours, resampled in (
        (brief.rank_order_rho_within, full.rank_order_rho_within),
        (brief.pairwise_accuracy, full.pairwise_accuracy),
        (brief.monotone_rate, full.monotone_rate),
    ):
        assert ours.value == pytest.approx(resampled.value, abs=1e-12)
        # 2,000 replicates: an end is known to about 5 % of the interval's width
        width = resampled.high - resampled.low
        assert ours[1:3] == pytest.approx(resampled[1:3], abs=0.08 * width)


def test_the_interval_is_scipys() -> None:
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.5, 0.1], [2.0, 1.0]])
    scores, right = np.tile(scores, (2, 1)), [1.0, 0.0, 1.0, 1.0, 0.0, 0.0] * 2
    low, high = stats.norm.interval(0.9, np.mean(right), stats.sem(right))
    accuracy = selected_statistics(scores, [0, 1], confidence=0.9).pairwise_accuracy
    assert accuracy[1:3] == pytest.approx((low, high), abs=1e-12)
    few = selected_statistics(scores[:9], [0, 1]).pairwise_accuracy
    assert few.value == pytest.approx(5 / 9)
    assert np.isnan(few[1:3]).all()


NO_REPLICATES = np.empty((0, 200), np.int8)


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_both_are_those_of_scikit_learn(levels: int) -> None:
    rng = np.random.default_rng(7)
    scores, positive = rng.integers(levels, size=60).astype(float), rng.random(60) < 0.3
    found = classification(scores, positive, range(60), NO_REPLICATES)
    ours = found.auroc.value, found.average_precision.value
    theirs = roc_auc_score(positive, scores), average_precision_score(positive, scores)
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_a_replicate_repeats_whole_images() -> None:
    """One replicate that draws images by `counts` is the statistic of the repeated captions."""
    rng = np.random.default_rng(3)
    scores, positive = rng.integers(6, size=40).astype(float), rng.random(40) < 0.5
    image = np.repeat(np.arange(10), 4)
    counts = bootstrap_counts(10, 1, seed=5)
    again = np.repeat(np.arange(40), counts[0][image])
    drawn = classification(scores[again], positive[again], image[again], np.empty((0, 10)))
    found = classification(scores, positive, image, counts)
    for ours, expected in zip(found[1:], drawn[1:], strict=True):
        assert ours[1:3] == pytest.approx((expected.value,) * 2, abs=1e-12)


def test_captions_without_a_score_and_empty_classes() -> None:
    found = classification([1.0, np.nan, 0.0], [True, True, False], [0, 1, 2], NO_REPLICATES)
    assert (found.auroc.n, found.n_positive, found.auroc.value) == (2, 1, 1.0)
    for given in (([1.0, 2.0], [True, True], [0, 1]), ([], [], [])):
        one_class = classification(*given, NO_REPLICATES)
        assert np.isnan([one_class.auroc.value, one_class.average_precision.value]).all()
