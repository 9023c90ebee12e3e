"""Statistics of agreement with people, against enumeration, published values and slow loops."""

import math
import warnings
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.agreement.ceiling import (
    alt_test,
    disattenuated_correlation,
    rater_agreement,
    sorted_rows,
)
from metaeval.stats.agreement.controls import _STREAM, fitted_control, partial_correlation
from metaeval.stats.agreement.systems import rank_clusters
from metaeval.stats.ordering.pairwise import pairwise_difference_pearson, soft_pairwise_accuracy
from metaeval.stats.ordering.tie_calibration import (
    cross_fitted_tie_calibration,
    pair_outcomes,
    pairs_within,
)
from metaeval.stats.resampling.items import random_folds
from metaeval.stats.sample_size import label_efficiency

NAN = float("nan")


# --- soft pairwise accuracy ---------------------------------------------------------------------


def test_spa_against_all_sign_flips():
    """Items without a rating of one of two systems are left out."""
    rng = np.random.default_rng(3)
    tables = rng.integers(1, 6, (3, 9)).astype(float), rng.normal(size=(3, 9))
    flips = np.array(list(product((-1, 1), repeat=9)))
    gaps = [[table[i] - table[j] for i, j in combinations(range(3), 2)] for table in tables]
    p = np.array([[np.mean(flips @ g >= g.sum() - 1e-9) for g in of_side] for of_side in gaps])
    human, metric = (np.hstack([table, np.ones((3, 1))]) for table in tables)
    human[1, 9] = NAN
    ours = soft_pairwise_accuracy(human, metric, replicates=40_000)
    # 4 standard errors of the draws
    assert ours == pytest.approx(1 - np.abs(p[0] - p[1]).mean(), abs=0.02)
    assert math.isnan(soft_pairwise_accuracy(np.full((2, 3), NAN), np.ones((2, 3))))


# --- PDP ----------------------------------------------------------------------------------------


def test_pdp_equals_pearson_over_all_enumerated_differences():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 40, 200)  # groups of different sizes
    x, y = rng.normal(size=200), rng.normal(size=200)
    y += x
    x[rng.random(200) < 0.1] = NAN
    dx, dy = [], []
    for i, j in permutations(range(200), 2):
        if image[i] == image[j] and not np.isnan(x[i] + x[j]):
            dx.append(x[i] - x[j])
            dy.append(y[i] - y[j])
    ours = pairwise_difference_pearson(x, y, image)
    assert ours.value == pytest.approx(stats.pearsonr(dx, dy).statistic, abs=1e-12)
    assert ours.n == len(dx) // 2
    assert ours.low < ours.value < ours.high


def test_pdp_without_pairs_is_undefined():
    alone = pairwise_difference_pearson([1, 2], [1, 2], ["a", "b"])
    assert (math.isnan(alone.value), alone.n) == (True, 0)
    assert math.isnan(pairwise_difference_pearson([1, 1], [1, 2], ["a", "a"]).value)


# --- tie calibration ----------------------------------------------------------------------------


def test_cross_fitting_scores_each_fold_at_the_best_epsilon_of_the_others():
    rng = np.random.default_rng(1)
    image = np.repeat(np.arange(30), 4)
    human = rng.integers(1, 4, 120).astype(float)
    scores = human + rng.normal(0, 0.7, 120)
    ours = cross_fitted_tie_calibration(scores, human, image, folds=3)
    # by enumeration: the mean over images of the accuracy at the ε of their own fold, each of which
    # is the best of all candidates on the other folds
    pairs = pairs_within(scores, human, image)
    tables = {e: pair_outcomes(pairs, e, 30) for e in {0.0, *pairs.distance.tolist()}}
    accuracy = {e: right / total for e, (right, total) in tables.items()}
    order = np.random.default_rng([0xCF7C, 0]).permutation(30)
    fold = np.empty(30, dtype=int)
    fold[order] = np.arange(30) % 3
    expected = 0.0
    for k in range(3):
        train = {e: round(a[fold != k].mean(), 12) for e, a in accuracy.items()}
        best = min(e for e, value in train.items() if value == max(train.values()))
        expected += accuracy[best][fold == k].sum() / 30
    assert (ours.value, ours.n) == pytest.approx((expected, 180), abs=1e-12)


# --- length control -----------------------------------------------------------------------------


SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_tau_b": stats.kendalltau}


@pytest.mark.parametrize("statistic", SCIPY)
def test_partial_correlation_from_scipys_coefficients(statistic):
    rng = np.random.default_rng(1)
    z = rng.integers(4, 12, 200).astype(float)
    x, y = z + rng.normal(0, 3, 200), np.rint(z / 3 + rng.normal(0, 1, 200))
    xy, xz, yz = (SCIPY[statistic](*pair).statistic for pair in ((x, y), (x, z), (y, z)))
    expected = (xy - xz * yz) / math.sqrt((1 - xz**2) * (1 - yz**2))
    ours = partial_correlation(x, y, z, statistic=statistic)
    assert ours.value == pytest.approx(expected, abs=1e-12)
    assert math.isnan(partial_correlation(x, y, np.full(200, 5), statistic=statistic).value)


# --- ceilings -----------------------------------------------------------------------------------


def test_sorted_rows_are_found_in_both_directions():
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 5, (200, 3)).astype(float)
    # ten rows of two raters ascend by chance once in a thousand: too often to be certain
    tables = ratings, np.sort(ratings), -np.sort(-ratings), np.tile([1.0, 2.0], (10, 1))
    assert list(map(sorted_rows, tables)) == [False, True, True, False]


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("statistic", ["kendall_tau_b", "kendall_tau_c"])
def test_exchangeable_raters_by_drawing_the_rater_of_each_row(statistic, averaged):
    rng = np.random.default_rng(0)
    ratings = np.sort(np.clip(rng.integers(1, 5, (150, 1)) + rng.integers(-1, 2, (150, 3)), 1, 4))
    drawn = []
    for _ in range(400):
        mixed = rng.permuted(ratings, axis=1).astype(float)
        x, others = mixed[:, 0], mixed[:, 1:]
        both = x, others.mean(axis=1)
        pairs = both if averaged else (np.repeat(x, 2), others.ravel())
        drawn.append(stats.kendalltau(*pairs, variant=statistic[-1]).statistic)
    ours = rater_agreement(ratings, statistic, averaged=averaged)
    # 400 draws; the expectation of a ratio is not the ratio of expectations (τ-b): below .005
    assert ours == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 20 + 0.003)
    assert ours == rater_agreement(ratings[:, ::-1], statistic, averaged=averaged)


def test_two_raters_or_two_items_suffice_for_agreement():
    two = np.array([[1.0, 2], [3, 1], [4, 5], [2, 2]])
    both = np.vstack([two, two[:, ::-1]])
    assert rater_agreement(two, "pearson") == pytest.approx(np.corrcoef(both.T)[0, 1])
    few = [[1, 2, 3]], [[1], [2], [3]]
    assert np.isnan([rater_agreement(ratings) for ratings in few]).all()


def test_disattenuation_is_r_over_the_root_of_icc():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    ratings, scores = truth[:, None] + rng.normal(size=(300, 3)), truth + rng.normal(size=300)
    scores[:10] = NAN
    ours = disattenuated_correlation(scores, ratings, np.arange(300) // 3)
    r = stats.pearsonr(scores[10:], ratings[10:].mean(axis=1)).statistic
    # Shrout and Fleiss (1979), ICC(1, k)
    table = ratings[10:]
    between = 3 * table.mean(axis=1).var(ddof=1)
    icc = (between - table.var(axis=1, ddof=1).mean()) / between
    assert (ours.value, ours.n) == pytest.approx((r / math.sqrt(icc), 290), abs=1e-12)


# --- alt-test -----------------------------------------------------------------------------------


def alt_test_by_loops(metric, ratings, epsilon, q=0.05, least=30):
    """The published procedure, with dictionaries of annotators and scipy's t-test."""
    raters = range(ratings.shape[1])
    p, advantage = [], []
    for j in raters:
        gaps, wins = [], []
        for i in range(len(metric)):
            rest = [ratings[i, k] for k in raters if k != j and not np.isnan(ratings[i, k])]
            if np.isnan(ratings[i, j]) or np.isnan(metric[i]) or not rest:
                continue
            ours, theirs = (
                -math.sqrt(np.mean([(v - r) ** 2 for r in rest]))
                for v in (metric[i], ratings[i, j])
            )
            gaps.append(int(theirs >= ours) - int(ours >= theirs))
            wins.append(int(ours >= theirs))
        if len(gaps) >= least:
            p.append(stats.ttest_1samp(gaps, epsilon, alternative="less").pvalue)
            advantage.append(np.mean(wins))
    winning_rate = np.mean(stats.false_discovery_control(p, method="by") <= q)
    return winning_rate, float(np.mean(advantage)), p


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_alt_test_equals_the_published_procedure(noise):
    rng = np.random.default_rng(int(noise * 10))
    truth = rng.integers(1, 6, 120).astype(float)
    ratings = np.clip(truth[:, None] + rng.integers(-1, 2, (120, 4)), 1, 5)
    ratings[rng.random(ratings.shape) < 0.3] = NAN
    metric = np.clip(np.rint(truth + rng.normal(0, noise, 120)), 1, 5)
    metric[:3] = NAN
    rate, advantage, p = alt_test_by_loops(metric, ratings, 0.15)
    ours = alt_test(metric, ratings, epsilon=0.15)
    assert (ours.winning_rate, ours.advantage) == pytest.approx((rate, advantage))
    assert ours.p == pytest.approx(p, abs=1e-12)


def test_alt_test_without_variance_is_certain():
    """Between two raters the metric is always closer to each than they are; far away never."""
    ratings = np.array([[1.0, 3.0], [3.0, 1.0]] * 20)
    assert alt_test(np.full(40, 2.0), ratings).p.tolist() == [0, 0]
    assert alt_test(np.full(40, 9.0), ratings).p.tolist() == [1, 1]


# --- label efficiency ---------------------------------------------------------------------------


def test_label_efficiency_is_the_ratio_of_variances_in_a_simulation():
    """100 labels drawn 4,000 times: the mean of people, plainly and by the least-squares slope on
    the labelled items; the ratio of the variances of both."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    human, scores = truth + rng.normal(size=20_000), truth + 0.5 * rng.normal(size=20_000)
    drawn = rng.integers(0, 20_000, (4000, 100))
    x, y = scores[drawn], human[drawn]
    plain, gaps = y.mean(axis=1), x - x.mean(axis=1, keepdims=True)
    slope = (gaps * y).sum(axis=1) / (gaps**2).sum(axis=1)
    controlled = plain - slope * (x.mean(axis=1) - scores.mean())
    # both are estimates of the mean of people: within 4 standard errors of 4,000 draws
    assert controlled.mean() == pytest.approx(human.mean(), abs=4 * controlled.std() / 63)
    ours = label_efficiency(scores, human, n_labels=100)
    assert ours.value == pytest.approx(
        plain.var() / controlled.var(), rel=0.09
    )  # 4 standard errors


# --- fitted control -----------------------------------------------------------------------------


def test_fitted_control_equals_the_normal_equations_fold_by_fold():
    rng = np.random.default_rng(0)
    image = np.repeat(np.arange(40), 3)
    x = rng.normal(5, 2, (120, 2))
    y = x[:, 0] ** 2 - x[:, 1] + rng.normal(size=120)
    y[::7] = NAN
    x[5, 0] = NAN
    made = fitted_control(x, y, image, penalty=3.0)
    fold_of = random_folds(40, 5, _STREAM, 0)[image]
    assert np.isnan(made).tolist() == [i == 5 for i in range(120)]
    for fold in range(5):
        train = (fold_of != fold) & ~np.isnan(y) & ~np.isnan(x).any(axis=1)
        z = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
        z = np.hstack([z, z**2])
        z = (z - z[train].mean(axis=0)) / z[train].std(axis=0)
        # the ridge as least squares with four more rows and an unpenalised constant
        design = np.vstack(
            [
                np.column_stack([np.ones(train.sum()), z[train]]),
                np.column_stack([np.zeros(4), math.sqrt(3) * np.eye(4)]),
            ]
        )
        beta = np.linalg.lstsq(design, np.concatenate([y[train], np.zeros(4)]), rcond=None)[0]
        test = fold_of == fold
        expected = beta[0] + z[test] @ beta[1:]
        assert made[test] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_fitted_control_does_not_depend_on_the_unit_of_a_feature():
    rng = np.random.default_rng(2)
    x, y = rng.normal(3, 1, (60, 2)), rng.normal(size=60)
    expected = fitted_control(x, y, range(60))
    for unit in (1e-15, 1e15):
        assert fitted_control(unit * x, y, range(60)) == pytest.approx(expected)


def test_fitted_control_leaves_out_a_feature_that_is_constant_in_training():
    """0.1 everywhere else than in row 0, with a standard deviation that is a rounding error."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(3, 1, (60, 2)), rng.normal(size=60)
    x[:, 1] = 0.1
    x[0, 1] = 5
    made = [fitted_control(f, y, range(60))[0] for f in (x, x[:, :1])]
    assert made[0] == pytest.approx(made[1])


# --- across benchmarks --------------------------------------------------------------------------


def test_rank_clusters_open_where_a_member_differs():
    """c differs from a, so it opens cluster 2; d is not separated from c."""
    assert rank_clusters(list("abcd"), [("c", "a")]) == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_a_correlation_of_one_is_not_exceeded_by_rounding() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = label_efficiency(
                scores,
                scores * -rng.normal() / 3,
                np.repeat([0, 1, 2], 2),
                n_labels=4,
                replicates=50,
            )
        assert made.value > 1e9  # 1 / (1 - r²); below 0 with an r above 1
