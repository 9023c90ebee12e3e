"""Mean scores by people's rating against plain means, and their divisions."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.experiments.judgments.agreement import rating_groups, score_groups
from metaeval.experiments.judgments.sample import RankedScores, Ratings


def ratings(means: np.ndarray) -> Ratings:
    n = len(means)
    return Ratings(np.arange(n), means, means, np.arange(n) % 12, 12)


def test_means_and_steps_are_those_of_the_captions_rated_alike() -> None:
    rng = np.random.default_rng(1)
    means = rng.integers(1, 6, 200).astype(np.float64)
    scores = means + rng.normal(size=200)
    scores[:9], means[9:12] = np.nan, np.nan
    counts = np.ones((3, 12), dtype=np.int8)
    groups = score_groups(RankedScores("M", scores), ratings(means), counts, 0.95)
    assert [key for key in groups if key.startswith("mean")] == [f"mean_score_{k}" for k in "12345"]
    known = ~np.isnan(scores) & ~np.isnan(means)
    alike = [scores[known & (means == rating)] for rating in range(1, 6)]
    for rating, of_rating in enumerate(alike, 1):
        mean, value = groups[f"mean_score_{rating}"], of_rating.mean()
        assert (mean.value, mean.n) == (pytest.approx(value), len(of_rating))
        # every image once: a replicate is the mean itself
        assert mean.interval == pytest.approx((value, value))
    steps = [groups[f"step_{rating}"].value for rating in range(2, 6)]
    assert steps == pytest.approx(np.diff([a.mean() for a in alike]) / scores[known].std())
    assert "step_1" not in groups


def test_halves_go_up_and_many_values_are_divided() -> None:
    labels, group = rating_groups(np.array([1.0, 1.49, 1.5, np.nan, 2.5]))
    assert (labels, group.tolist()) == (("1", "2", "3"), [0, 0, 1, -1, 2])
    labels, group = rating_groups(np.linspace(0, 100, 101))
    assert (labels[0], np.bincount(group).tolist()) == ("0 to 20", [20, 20, 20, 20, 21])
    # one integer: divided, too
    assert len(rating_groups(np.linspace(0.1, 0.4, 30))[0]) == 5
    assert rating_groups(np.array([2.0, 2.0]))[0] == ()
