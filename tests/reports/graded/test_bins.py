"""The binned data of the figures against direct counting."""

from __future__ import annotations

import numpy as np

from metaeval.reports.graded.bins import density, order_counts


def test_a_perfect_metric_fills_one_block_per_set() -> None:
    scores = np.arange(40.0).reshape(4, 10)
    assert order_counts(scores, seed=0, bins=4).tolist() == (10 * np.eye(4)).tolist()
    down = order_counts(-scores, seed=0, bins=4, higher_is_better=False)
    assert down.tolist() == (10 * np.eye(4)).tolist()


def test_counts_are_those_of_the_sorted_captions() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random((3, 50))  # no ties: the order is the sorted one
    scores[1, :7] = np.nan
    counts = order_counts(scores, seed=0, bins=10)
    ranked = sorted((s, k) for k in range(3) for s in scores[k] if not np.isnan(s))
    expected = np.zeros((3, 10))
    for i, (_, k) in enumerate(ranked):
        expected[k, i * 10 // len(ranked)] += 1
    assert counts.tolist() == expected.tolist()


def test_ties_are_spread_evenly_and_by_the_seed() -> None:
    scores = np.zeros((2, 4000))
    counts = order_counts(scores, seed=5, bins=4)
    assert np.abs(counts - 1000).max() < 100  # 4 standard deviations of a hypergeometric draw: 90
    assert counts.tolist() == order_counts(scores, seed=5, bins=4).tolist()
    assert counts.tolist() != order_counts(scores, seed=6, bins=4).tolist()


def test_densities_and_atoms_account_for_every_score() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random((2, 5000))
    scores[0, :3000] = 0.0
    d = density(scores)
    assert [value for value, _ in d.atoms] == [0.0]
    assert d.atoms[0][1] == (0.6, 0.0)
    mass = (d.heights * np.diff(d.edges)).sum(axis=1) + np.array(d.atoms[0][1])
    assert np.abs(mass - 1).max() < 0.005  # the top 0.2 % may lie beyond the edges
    assert 0.39 < d.ridge(0).max() <= 0.4
    assert d.ridge(1).max() == 1.0


def test_nothing_scored_draws_nothing() -> None:
    d = density(np.full((2, 3), np.nan))
    assert d.heights.sum() == 0
    assert order_counts(np.full((2, 3), np.nan), 0, 5).sum() == 0
