"""Detection within images, against counting by hand and the binomial law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metaeval.stats.ordering.detection import detection, monotone_share
from metaeval.stats.resampling.bootstrap import bootstrap_counts


def test_by_hand():
    original = np.array([1.0, 1.0, 1.0, 1.0, np.nan, 1.0])
    changed = np.array([0.0, 1.0, 2.0, 0.5, 0.0, np.nan])
    result = detection(original, changed, bootstrap_counts(6, 100, 0))
    assert result.n == 4
    assert (result.detected, result.tied, result.auc) == (0.5, 0.25, 0.625)
    assert result.cost == pytest.approx((1 + 0 - 1 + 0.5) / 4)
    gaps = np.array([1.0, 0.0, -1.0, 0.5])
    assert result.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    assert result.ci[0] <= 0.625 <= result.ci[1]


def test_interval_and_p_are_those_of_a_share():
    """Without ties the AUC is a share of n independent images: its law is binomial. Tolerance: the
    error of an error from 4,000 replicates is 1.1 %, the normal law's p differs by more."""
    rng = np.random.default_rng(1)
    n = 400
    gaps = np.where(rng.random(n) < 0.57, 1.0, -1.0)
    result = detection(gaps, np.zeros(n), bootstrap_counts(n, 4000, 0))
    error = math.sqrt(result.auc * (1 - result.auc) / n)
    assert (result.ci[1] - result.ci[0]) / (2 * 1.96) == pytest.approx(error, rel=0.05)
    z = (result.auc - 0.5) / error
    assert result.p == pytest.approx(math.erfc(z / math.sqrt(2)), rel=0.15)


def test_nothing_known():
    result = detection([np.nan], [1.0], bootstrap_counts(1, 10, 0))
    assert result.n == 0
    assert math.isnan(result.auc)


def test_monotone_needs_every_step():
    assert monotone_share([[3, 3, 3], [2, 3, 2], [1, 1, 2]]) == pytest.approx(1 / 3)
    assert math.isnan(monotone_share([[np.nan], [1.0]]))
