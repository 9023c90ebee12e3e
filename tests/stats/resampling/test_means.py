"""Resampled means are the means of the resampled images."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.errors import InputError
from metaeval.stats.correlation.rank_order_within import rank_order_within, rank_orders_within
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.means import resampled_means


def test_the_mean_of_the_images_drawn() -> None:
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(40, 4)), 1)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    counts = bootstrap_counts(40, 300, seed=1)
    means = resampled_means(rank_orders_within(scores, range(4)), counts)
    for row, mean in zip(counts, means, strict=True):
        drawn = np.repeat(scores, row, axis=0)
        # values are rounded to 2^-30
        assert mean == pytest.approx(rank_order_within(drawn, range(4)).rho, abs=2**-30)


def test_shapes_are_checked() -> None:
    with pytest.raises(InputError, match="values"):
        resampled_means([0.5], bootstrap_counts(2, 10, seed=0))
