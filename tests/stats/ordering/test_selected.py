"""The measures of a selection are those of the whole, on the images selected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.ordering.selected import selected_statistics


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
        assert ours[1:] == pytest.approx(resampled[1:], abs=0.08 * width)


def test_the_interval_is_scipys() -> None:
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.5, 0.1], [2.0, 1.0]])
    scores, right = np.tile(scores, (2, 1)), [1.0, 0.0, 1.0, 1.0, 0.0, 0.0] * 2
    low, high = stats.norm.interval(0.9, np.mean(right), stats.sem(right))
    accuracy = selected_statistics(scores, [0, 1], confidence=0.9).pairwise_accuracy
    assert accuracy[1:] == pytest.approx((low, high), abs=1e-12)
    few = selected_statistics(scores[:9], [0, 1]).pairwise_accuracy
    assert few.value == pytest.approx(5 / 9)
    assert np.isnan(few[1:]).all()


def test_nothing_selected() -> None:
    record = selected_statistics(np.empty((0, 3)), range(3))
    assert record.n_images == 0
    assert np.isnan(record.rank_order_rho)
    assert np.isnan(record.monotone_rate.value)
