"""Agreement and disagreement of metrics, against scipy and loops over the definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats


def scores(seed: int = 0, holes: bool = True) -> Floats:
    """Four metrics, five systems, thirty images: with ties, and with holes."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, size=(4, 5, 30)).astype(float)
    values[1] = values[0] + rng.normal(0, 0.5, (5, 30)).round(1)
    if holes:
        values[rng.random(values.shape) < 0.07] = np.nan
    return values


def test_systems_agreement_is_scipys_tau_b() -> None:
    values = scores(holes=False)[:, :, :1]
    found = answers(values).tau()
    for a, b in combinations(range(4), 2):
        expected = kendalltau(values[a, :, 0], values[b, :, 0]).statistic
        assert found[a, b] == pytest.approx(expected, abs=1e-12)
        assert found[b, a] == found[a, b]


def test_each_case_is_scipys_tau_b_with_holes() -> None:
    values = scores()
    found = answers(values).tau_of_each()
    compared = 0
    for a, b in combinations(range(4), 2):
        for i in range(30):
            x, y = values[a, :, i], values[b, :, i]
            there = ~(np.isnan(x) | np.isnan(y))
            if there.sum() < 2 or len(set(x[there])) < 2 or len(set(y[there])) < 2:
                assert np.isnan(found[a, b, i])
                continue
            expected = kendalltau(x[there], y[there]).statistic
            assert found[a, b, i] == pytest.approx(expected, abs=1e-12)
            compared += 1
    assert compared > 100


def test_within_images_is_the_definition() -> None:
    values = scores()
    found = answers(values).tau()
    for a, b in combinations(range(4), 2):
        surplus = untied_a = untied_b = 0
        for i in range(30):
            for s, t in combinations(range(5), 2):
                gap = np.array(
                    [values[a, s, i] - values[a, t, i], values[b, s, i] - values[b, t, i]]
                )
                if np.isnan(gap).any():
                    continue
                surplus += int(np.sign(gap[0]) * np.sign(gap[1]))
                untied_a += int(gap[0] != 0)
                untied_b += int(gap[1] != 0)
        assert found[a, b] == pytest.approx(surplus / (untied_a * untied_b) ** 0.5, abs=1e-12)


def test_resampled_agreement_is_that_of_the_drawn_images() -> None:
    values, counts = scores(), bootstrap_counts(30, 20, 0)
    found = answers(values).tau_resampled(counts)
    for k in range(20):
        drawn = np.repeat(values, counts[k], axis=2)
        np.testing.assert_allclose(found[:, :, k], answers(drawn).tau(), atol=1e-12)


def test_all_captions_matrix_is_scipys() -> None:
    values = scores()
    found = kendall_matrix(list(values))
    for a, b in combinations(range(4), 2):
        x, y = values[a].ravel(), values[b].ravel()
        there = ~(np.isnan(x) | np.isnan(y))
        expected = kendalltau(x[there], y[there]).statistic
        assert found[a, b] == found[b, a] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(np.diag(found), 1)
    constant = kendall_matrix([[1, 2, 3], [5, 5, 5]])
    assert np.isnan(constant[0, 1])
    assert np.isnan(constant[1, 1])


def test_disagreement_is_the_definition() -> None:
    values = scores()
    found = disagreement(values)
    for i in range(30):
        same = opposite = 0
        for s, t in combinations(range(5), 2):
            for a, b in combinations(range(4), 2):
                product = np.sign(values[a, s, i] - values[a, t, i]) * np.sign(
                    values[b, s, i] - values[b, t, i]
                )
                same += product > 0
                opposite += product < 0
        assert found[i] == pytest.approx(opposite / (same + opposite), abs=1e-12)


def test_disagreement_of_agreeing_opposite_and_silent_metrics() -> None:
    up, down, tied = [[0.1], [0.2], [0.3]], [[3.0], [2.0], [1.0]], [[1.0], [1.0], [1.0]]
    assert disagreement(np.array([up, up]))[0] == 0
    assert disagreement(np.array([up, down]))[0] == 1
    assert disagreement(np.array([up, down, tied]))[0] == 1  # who ties abstains
    assert np.isnan(disagreement(np.array([up, tied]))[0])
    assert np.isnan(disagreement(np.array([up]))[0])
