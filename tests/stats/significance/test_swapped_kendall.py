"""The fast way to Kendall's τ under swaps, against scipy on the swapped scores themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.significance import paired_permutation
from metaeval.stats.significance.paired_permutation import SwappedKendall, perm_both


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
