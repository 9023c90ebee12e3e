"""Pairs within groups against enumeration, and the part that is drawn of large groups."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from metaeval.stats.ordering.group_pairs import group_pairs
from metaeval.stats.ordering.tie_calibration import tie_calibration


@pytest.mark.parametrize("seed", range(5))
def test_all_pairs_are_those_of_a_double_loop(seed: int) -> None:
    group = np.random.default_rng(seed).integers(0, 6, 30)
    first, second, total = group_pairs(group)
    found = set(zip(first.tolist(), second.tolist(), strict=True))
    expected = {(i, j) for i, j in combinations(range(30), 2) if group[i] == group[j]}
    assert found == expected
    assert len(first) == total == len(expected)


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
    from scipy.stats import chisquare

    group = np.repeat([0, 1], [10, 400])
    first, second, _ = group_pairs(group, most=50_000)
    large = group[first] == 1
    assert large.sum() == 50_000 - 45
    counts = np.bincount(first[large] - 10, minlength=400)
    expected = np.arange(399, -1, -1) / (400 * 399 / 2) * large.sum()
    assert counts[-1] == 0
    assert chisquare(counts[:-1], expected[:-1]).pvalue > 1e-6
    assert (first[large] < second[large]).all()


def test_twenty_thousand_captions_of_one_image_need_no_quadratic_memory() -> None:
    """200 million pairs: 2 million are compared, of a known accuracy."""
    rng = np.random.default_rng(4)
    human = rng.integers(1, 6, 20_000).astype(float)
    made = tie_calibration(human + rng.normal(size=20_000), human)
    assert (made.n_pairs, made.total) == (2_000_000, 20_000 * 19_999 // 2)
    # people tie a fifth; of the rest, P(x > y) is Φ(d/√2) at a difference of d in {1, 2, 3, 4}
    from scipy.stats import norm

    right = sum(2 * (5 - d) / 25 * norm.cdf(d / 2**0.5) for d in range(1, 5))
    assert made.uncalibrated == pytest.approx(right, abs=0.005)
