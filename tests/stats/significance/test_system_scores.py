"""Scores of systems and their differences, against scipy, the tests of means and slow loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.paired_bootstrap import (
    SystemDifference,
    bootstrap_of_means,
    compare_systems,
    mean_of_sums,
    parts_of_means,
    resampled_scores,
    system_score,
)
from metaeval.stats.significance.paired_permutation import permutation_of_means


def two_systems(n: int, gap: float, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    b = rng.random(n)
    return b + gap + rng.normal(0, 0.2, n), b


def ratio(sums: Floats) -> Floats:
    """A score that is not a mean: the ratio of two sums, as a precision is."""
    found: Floats = sums[:, :1] / sums[:, 1:]
    return found


def compared(a: Floats, b: Floats, *given: Any, **options: Any) -> list[SystemDifference]:
    """One pair of systems; tested together with another pair, it must get the same result."""
    alone, together = (
        compare_systems(pairs, *given, **options)[0] for pairs in ([(a, b)], [(a, b), (b, b)])
    )
    np.testing.assert_array_equal(alone, together)
    return alone


def test_difference_of_means_equals_the_tests_of_means() -> None:
    """The bootstrap draws the same images, so it is equal; the swaps are drawn from another stream,
    so p-values agree within the error of 10,000 arrangements."""
    a, b = two_systems(120, 0.03)
    result = compared(
        parts_of_means(a[:, None]), parts_of_means(b[:, None]), mean_of_sums,
        bootstrap_counts(120, 800, 3), permutations=10_000, seed=3,
    )[0]  # fmt: skip
    expected = bootstrap_of_means(a, b, replicates=800, seed=3)
    assert result.difference == pytest.approx(a.mean() - b.mean(), abs=1e-10)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert result.p_bootstrap == expected.p_two_sided
    swapped = permutation_of_means(a, b, replicates=10_000, seed=3)
    assert 0.001 < swapped.p_two_sided < 0.5
    assert result.p_permutation == pytest.approx(swapped.p_two_sided, abs=0.02)
    assert result.n_images == 120


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
    assert found.p_permutation == pytest.approx(
        exact, abs=4 * (exact * (1 - exact) / 40_000) ** 0.5
    )


def test_replicates_equal_the_score_of_the_drawn_images() -> None:
    a = np.random.default_rng(1).random((30, 2))
    counts = bootstrap_counts(30, 50, 0)
    found = resampled_scores(a, ratio, counts)
    for k in range(50):
        drawn = np.repeat(a, counts[k], axis=0)
        assert found[k, 0] == pytest.approx(drawn[:, 0].sum() / drawn[:, 1].sum(), abs=1e-10)


def test_interval_is_that_of_scipy() -> None:
    """Two independent bootstraps of 4,000 replicates: their ends differ by Monte Carlo only."""
    a, b = two_systems(200, 0.1)
    counts = bootstrap_counts(200, 4000, 0)
    parts = [parts_of_means(x[:, None]) for x in (a, b)]
    found = compared(*parts, mean_of_sums, counts, permutations=100)[0]
    theirs = bootstrap(
        (a - b,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert found.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert found.high == pytest.approx(theirs.high, abs=0.05 * width)


def test_only_images_that_both_have_count() -> None:
    a, b = two_systems(60, 0.2)
    a[:7], b[5:12] = np.nan, np.nan
    parts = [parts_of_means(x[:, None]) for x in (a, b)]
    counts = bootstrap_counts(60, 300, 0)
    found = compared(*parts, mean_of_sums, counts, permutations=300)[0]
    assert found.n_images == 48
    assert found.difference == pytest.approx(np.nanmean(a - b), abs=1e-10)
    # a score on its own uses all that the system has
    assert system_score(parts[0], mean_of_sums)[0] == pytest.approx(np.nanmean(a))
    # each of two scores leaves out its own
    both = [np.stack([x, np.where(np.isnan(x), 0.5, x)], axis=1) for x in (a, b)]
    two = compared(*map(parts_of_means, both), mean_of_sums, counts, permutations=300)
    assert [d.n_images for d in two] == [48, 60]
    assert two[0] == found


def test_equal_systems_are_not_separated() -> None:
    a, _ = two_systems(40, 0)
    parts = parts_of_means(a[:, None])
    found = compared(parts, parts, mean_of_sums, bootstrap_counts(40, 100, 0))[0]
    assert found.difference == 0
    assert found.p_permutation == 1
    assert found.p_bootstrap == 1


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
    assert np.isnan(found.difference)
    assert np.isnan(found.p_permutation)
    assert np.isnan(found.p_bootstrap)
    assert found.n_images == 0


def test_wrong_shapes_are_refused() -> None:
    parts = parts_of_means(np.ones((4, 1)))
    with pytest.raises(InputError, match="do not fit"):
        compared(parts, parts[:3], mean_of_sums, bootstrap_counts(4, 10, 0))
    with pytest.raises(InputError, match="do not fit"):
        compared(parts, parts, mean_of_sums, bootstrap_counts(5, 10, 0))
