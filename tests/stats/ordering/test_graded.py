"""The record of one metric: its keys, its degenerate cases, and that it repeats to the byte."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import spearman
from metaeval.stats.ordering.detection import detection
from metaeval.stats.ordering.graded import GradedRecord, graded_statistics, variance_parts
from metaeval.stats.resampling.bootstrap import bootstrap_counts

NAMES = ["Random", "Replace 50%", "Replace 25%", "Human"]
LEVELS = np.arange(4)


def scores(n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.round(rng.normal(size=(n, 4)) + 0.5 * LEVELS, 1)


def numbers(value) -> list[float]:
    """All numbers of a record below `sets`."""
    if isinstance(value, GradedRecord):
        return numbers([*value._replace(sets={}, variance=()), *value.variance[:3]])
    if isinstance(value, list | tuple):
        return [x for part in value for x in numbers(part)]
    return [] if value is None or isinstance(value, str | dict) else [value]


def test_the_summary_of_a_set_is_numpys() -> None:
    values = scores()
    values[:5, 2] = np.nan
    entry = graded_statistics(values, LEVELS, NAMES, replicates=0).sets["Replace 25%"]
    column = values[5:, 2]
    expected = (2, 195, column.mean(), column.std(ddof=1))
    assert entry[:4] == pytest.approx(expected, abs=1e-15)
    ends = {"0.25": np.percentile(column, 25), "0": column.min(), "1": column.max()}
    assert {q: entry.quantiles[q] for q in ends} == ends


def test_lower_is_better_mirrors_the_order_and_keeps_the_summaries() -> None:
    values = scores()
    down = graded_statistics(-values, LEVELS, NAMES, higher_is_better=False, replicates=100)
    up = graded_statistics(values, LEVELS, NAMES, replicates=100)
    assert down.sets["Human"].mean == -up.sets["Human"].mean
    assert numbers(down) == numbers(up)


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
    assert all(math.isnan(x) for x in numbers(record))
    assert record.sets["Human"].n == 0


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
    assert record.spearman_rho.value == spearman(scores()[:, :3], [0, 1, 1]).rho


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="infinite"):
        graded_statistics([[0.1, -np.inf]], [0, 1], ["a", "b"])
    for given in ((scores(), LEVELS, NAMES[:3]), (np.empty((0, 4)), LEVELS, NAMES)):
        with pytest.raises(InputError, match="names"):
            graded_statistics(*given)


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


def test_interval_and_p_are_those_of_a_share():
    """Without ties the AUC is a share of n independent images: its law is binomial. Tolerance: the
    error of an error from 4,000 replicates is 1.1 %, the normal law's p differs by more."""
    rng = np.random.default_rng(1)
    n = 400
    gaps = np.where(rng.random(n) < 0.57, 1.0, -1.0)
    (result,) = detection(gaps, np.zeros((n, 1)), bootstrap_counts(n, 4000, 0))
    error = math.sqrt(result.auc * (1 - result.auc) / n)
    assert (result.ci[1] - result.ci[0]) / (2 * 1.96) == pytest.approx(error, rel=0.05)
    assert result.detected_ci == result.ci  # without ties they are the same share


def test_intervals_are_those_of_resampled_arrays():
    """Cost and effect of each replicate, with the arrays rebuilt as it drew them. Tolerance: costs
    are rounded to 2^-21 of the greatest."""
    rng = np.random.default_rng(5)
    original, changed = rng.normal(0.3, 1, 30), rng.normal(0, 1, (30, 2))
    changed[rng.random((30, 2)) < 0.2] = np.nan
    counts = bootstrap_counts(30, 200, 0)
    for k, result in enumerate(detection(original, changed, counts)):
        costs, effects = [], []
        for drawn in counts:
            gaps = np.repeat(original - changed[:, k], drawn)
            gaps = gaps[~np.isnan(gaps)]
            costs.append(gaps.mean())
            effects.append(gaps.mean() / gaps.std(ddof=1))
        assert result.cost_ci == pytest.approx(np.quantile(costs, [0.025, 0.975]), abs=1e-5)
        assert result.effect_ci == pytest.approx(np.quantile(effects, [0.025, 0.975]), abs=1e-5)


def test_sign_test_is_scipys():
    for above, below in set(product(range(8), repeat=2)) - {(0, 0)}:
        gaps = np.array([1.0] * above + [-1.0] * below)
        (result,) = detection(gaps, 0 * gaps[:, None], np.empty((0, above + below)))
        p = stats.binomtest(above, above + below).pvalue
        assert result.p == pytest.approx(p, rel=1e-12)


def test_nothing_known():
    (result,) = detection([np.nan], [[1.0]], bootstrap_counts(1, 10, 0))
    assert (result.n, math.isnan(result.auc)) == (0, True)
