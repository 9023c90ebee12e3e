"""The worst inversion of an image, against a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.ordering.pairwise import worst_first, worst_inversion


@pytest.mark.parametrize("higher", [True, False])
def test_equals_a_loop_over_pairs(higher: bool) -> None:
    rng = np.random.default_rng(0)
    levels = [2, 0, 1, 1]  # two versions of one level are never compared
    scores = rng.integers(0, 4, (4, 60)) / 4
    scores[rng.random(scores.shape) < 0.2] = np.nan
    applied = rng.random(scores.shape) > 0.2
    found = worst_inversion(scores, levels, applied, higher_is_better=higher)
    for image in range(60):
        sizes = [
            (scores[a, image] - scores[b, image]) * (1 if higher else -1)
            for a in range(4)
            for b in range(4)
            if levels[a] < levels[b] and applied[a, image] and applied[b, image]
        ]
        known = [size for size in sizes if not np.isnan(size)]
        assert found[image] == (max(known) if known else -np.inf)
    assert np.isneginf(found).any()


def test_equal_severities_stay_in_order() -> None:
    assert worst_first(np.array([0.0, 2.0, -np.inf, 2.0, 0.0])).tolist() == [1, 3, 0, 4, 2]
