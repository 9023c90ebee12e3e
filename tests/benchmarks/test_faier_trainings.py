"""The spread over trainings and corruption seeds is that of all values together."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.faier.trainings import spread_of
from metaeval.results.metric import Spread


def test_the_spread_is_that_of_all_values_together() -> None:
    values = np.random.default_rng(0).normal(size=(3, 5)) + np.array([[0.0], [1.0], [3.0]])
    rows = [Spread(mean=row.mean(), sd=row.std(ddof=1)) for row in values]
    spread = spread_of(rows, 5)
    assert spread.mean == pytest.approx(values.mean(), abs=1e-12)
    assert spread.sd == pytest.approx(values.std(ddof=1), abs=1e-12)
    assert spread.between_trainings == pytest.approx(values.mean(axis=1).std(ddof=1), abs=1e-12)
    within = values.var(axis=1, ddof=1).mean()
    assert spread.between_seeds == pytest.approx(np.sqrt(within), abs=1e-12)
