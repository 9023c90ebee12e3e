"""Weighted statistics against the same statistics on physically resampled arrays; intervals."""

import math
from itertools import pairwise
from threading import get_ident

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from metaeval.stats.correlation import correlations
from metaeval.stats.correlation.correlations import WeightedCorrelations, spearman
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within
from metaeval.stats.ordering import graded as module
from metaeval.stats.ordering.graded import monotone_flags, pair_counts, replicate_statistics
from metaeval.stats.ordering.pairwise import auc
from metaeval.stats.resampling import weighted
from metaeval.stats.resampling.bootstrap import (
    MIN_UNITS,
    bootstrap_counts,
    map_chunks,
    percentile_interval,
    resampled_means,
)
from metaeval.stats.resampling.items import mean_of_known
from metaeval.stats.resampling.weighted import sum_type, surplus_of_pairs

KINDS = ["distinct", "rounded", "mostly zero", "constant", "gaps", "a set missing", "levels"]


def example(kind: str, n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A table of scores with the named difficulty, and its levels."""
    rng = np.random.default_rng(seed)
    levels = np.arange(4)
    scores = rng.normal(size=(n, 4)) + 0.5 * levels
    if kind == "rounded":
        scores = np.round(scores, 1)
    elif kind == "mostly zero":
        scores = np.where(scores < 1.8, 0, np.round(scores, 1))
    elif kind == "constant":
        scores[:] = 0.3
    elif kind == "gaps":
        scores = np.round(scores, 1)
        scores[rng.random(scores.shape) < 0.3] = np.nan
    elif kind == "a set missing":
        scores[:, 1] = np.nan
    elif kind == "levels":
        scores, levels = np.round(scores, 1), np.array([2, 0, 2, 5])
    return scores, levels


def plain(scores: np.ndarray, levels: np.ndarray) -> list[float]:
    """Every statistic that has an interval, in the order of `flat`."""
    pairs = np.array(pair_counts(scores, levels)).sum(axis=1)
    correct, _, inverted = pairs / pairs.sum() if pairs.sum() else [math.nan] * 3
    in_order, complete = (flags.sum() for flags in monotone_flags(scores, levels))
    by_level = [scores[:, levels == level] for level in np.unique(levels)]
    return [
        rank_order(scores, levels).rho,
        spearman(scores, levels),
        kendall(scores, levels),
        *(auc(low, high) for low, high in pairwise(by_level)),
        correct,
        inverted,
        in_order / complete if complete else math.nan,
    ]


def flat(result: module.Replicates, k: int) -> list[float]:
    return [float(x) for part in result for x in np.atleast_2d(part)[:, k]]


@given(st.integers(1, 9), st.integers(2, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_weighting_equals_resampling_on_tiny_tables(n, k, seed) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, size=(n, k)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    levels = rng.integers(0, k, size=k)
    counts = bootstrap_counts(n, 5, seed)
    weighted = replicate_statistics(scores, levels, counts)
    for r, count in enumerate(counts):
        expected = plain(np.repeat(scores, count, axis=0), levels)
        assert flat(weighted, r) == pytest.approx(expected, abs=1e-10, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_replicate_of_every_image_once_is_the_plain_statistic(kind) -> None:
    scores, levels = example(kind, n=1300)
    ones = np.ones((1, len(scores)), dtype=np.int16)
    result = flat(replicate_statistics(scores, levels, ones), 0)
    assert result == pytest.approx(plain(scores, levels), abs=1e-12, nan_ok=True)
    none = replicate_statistics(scores, [0, 1, 1, 2], ones[:0])
    assert [np.shape(each) for each in none] == [(0,), (0,), (0,), (2, 0), (0,), (0,), (0,)]


@pytest.mark.parametrize("kind", ["rounded", "gaps"])
def test_threads_and_integer_width_change_no_bit(kind, monkeypatch) -> None:
    scores, levels = example(kind, n=300)
    counts = bootstrap_counts(300, 700, seed=1)  # six chunks
    one = replicate_statistics(scores, levels, counts, threads=1)
    three = replicate_statistics(scores, levels, counts, threads=3)
    monkeypatch.setattr(module, "sum_type", lambda *_: np.float64)
    wide = replicate_statistics(scores, levels, counts)
    monkeypatch.setattr(module, "replicates_at_a_time", lambda _: 24)  # as with many images
    monkeypatch.setattr(weighted, "_BLOCK", 24 * 64)
    narrow = replicate_statistics(scores, levels, counts)
    for a, b, c, d in zip(one, three, wide, narrow, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes() == d.tobytes()


def test_replicates_take_no_more_threads_than_omp_num_threads_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1,8")
    assert {*map_chunks(lambda *_: get_ident(), range(9))} == {get_ident()}


def test_wide_numbers_where_narrow_ones_would_overflow() -> None:
    ones, levels = np.ones((1, 46_341), dtype=np.int32), np.arange(4)
    # at last all of 2,000 images' weight on one image: Σ t³ is what overflows
    given = ((ones[:, 1:], levels), (ones, levels), (ones[:, :30_000], 0 * levels[:2]),
             (np.array([[2000, 0]]), levels))  # fmt: skip
    assert [sum_type(*of) for of in given] == [np.uint32, *[np.float64] * 3]


def test_counts_are_draws_with_replacement() -> None:
    counts = bootstrap_counts(50, 4000, seed=2)
    assert counts.sum(axis=1).tolist() == [50] * 4000
    # Every image is as likely as any other, and its count is binomial(50, 1/50).
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-6
    observed = np.bincount(counts.ravel().astype(np.int64), minlength=8)[:8] / counts.size
    assert observed == pytest.approx(stats.binom.pmf(np.arange(8), 50, 1 / 50), abs=0.005)


def test_counts_are_seeded_and_extendable() -> None:
    counts = bootstrap_counts(30, 100, seed=3)
    assert (counts[:40] == bootstrap_counts(30, 40, seed=3)).all()
    assert (counts != bootstrap_counts(30, 100, seed=4)).any()
    assert bootstrap_counts(40_000, 1, seed=0).sum() == 40_000


def test_percentile_interval_leaves_undefined_replicates_out() -> None:
    assert percentile_interval([math.nan, *range(101)], 0.5, 30) == [25.0, 75.0]
    assert np.isnan([percentile_interval(few, 0.9, 30) for few in ([math.nan], [])]).all()


def test_the_floor_is_the_least_n_whose_interval_of_a_mean_covers_90_percent() -> None:
    """A normal mean's interval is ±1.96 sd √(n − 1)/n, sd with n − 1: of t in closed form."""

    def coverage(n: int) -> float:
        edge = stats.norm.ppf(0.975) * math.sqrt((n - 1) / n)
        return float(1 - 2 * stats.t.sf(edge, n - 1))

    assert next(n for n in range(2, 100) if coverage(n) >= 0.9) == MIN_UNITS
    assert percentile_interval(range(101), 0.5, MIN_UNITS) == [25.0, 75.0]
    assert all(math.isnan(x) for x in percentile_interval(range(101), 0.5, MIN_UNITS - 1))


def test_the_mean_of_the_images_drawn() -> None:
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(40, 4)), 1)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    counts = bootstrap_counts(40, 300, seed=1)
    means = resampled_means(rank_orders_within(scores, range(4)), counts)
    for row, mean in zip(counts, means, strict=True):
        drawn = np.repeat(scores, row, axis=0)
        # values are rounded to 2^-30
        expected = mean_of_known(rank_orders_within(drawn, range(4)))
        assert mean == pytest.approx(expected, abs=2**-30)


@pytest.mark.parametrize("n", [66, 130, 700])
@pytest.mark.parametrize("x_values", [3, 50, 10**9])
@pytest.mark.parametrize("y_values", [3, 90])
@pytest.mark.parametrize("per_pair", [0, np.inf])  # by levels, and by pairs of items
def test_equal_to_scipy_on_repeated_items(
    n: int, x_values: int, y_values: int, per_pair: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlations, "PER_PAIR", per_pair)
    rng = np.random.default_rng(n)
    x = rng.integers(0, x_values, n).astype(float)
    y = np.round(y_values * (x / x_values + rng.random(n)))
    y[:2] = 0, 1
    unit = rng.integers(0, n // 3, n)
    weights = rng.integers(0, 4, (40, n // 3))
    made = WeightedCorrelations(x, y, unit, n // 3).of(weights)
    for k in (0, 1, 31, 32, 39):  # on both sides of a chunk's edge
        repeated = [np.repeat(v, weights[k][unit]) for v in (x, y)]
        expected = [
            stats.pearsonr(*repeated).statistic,
            stats.spearmanr(*repeated).statistic,
            stats.kendalltau(*repeated).statistic,
            stats.kendalltau(*repeated, variant="c").statistic,
        ]
        assert [float(column[k]) for column in made] == pytest.approx(expected, abs=1e-12)


def test_large_weights_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums beyond 2^31: three items of 50,000 copies each, tau by hand."""
    monkeypatch.setattr(correlations, "PER_PAIR", np.inf)
    items = np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.arange(3)
    weights = np.array([[50_000, 50_000, 50_000], [1, 1, 1], [0, 0, 5]])
    assert surplus_of_pairs(*items, weights).tolist() == [2.5e9, 1, 0]
    made = WeightedCorrelations(*items, 3).of(weights)
    assert made.kendall_tau_b[:2] == pytest.approx([1 / 3, 1 / 3], abs=1e-12)
    assert made.spearman[:2] == pytest.approx([0.5, 0.5], abs=1e-12)
    assert np.isnan([made.kendall_tau_b[2], made.spearman[2]]).all()


def test_one_pair_of_items_has_a_tau(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlations, "PER_PAIR", np.inf)
    items = np.array([1.0, 2]), np.array([2.0, 1]), np.arange(2)
    made = WeightedCorrelations(*items, 2).of(np.array([[1, 1]]))
    assert made.kendall_tau_b.tolist() == [-1]
