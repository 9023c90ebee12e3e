"""Controls beside metrics in judgements: which metrics surely agree better with people."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.controls import beside_control, best_of, verdicts
from experiments.judgments.choice import controls_by_category
from experiments.judgments.statistics import RankedScores, Ratings, _against_controls
from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.paired_bootstrap import paired_bootstrap
from metaeval.stats.significance.paired_permutation import permutation_of_means

NAN = float("nan")


def test_a_category_that_length_wins_shows_nothing() -> None:
    """On HC the control is always right; on MM the metric is, surely."""
    n = 60
    category, image = ["HC"] * n + ["MM"] * n, np.arange(2 * n) % n
    half = (np.arange(n) % 2).astype(float)
    outcomes = {
        "Metric": np.concatenate([(np.arange(n) % 10 > 0).astype(float), np.ones(n)]),
        "Other": np.concatenate([half, half]),
        "Length": np.concatenate([np.ones(n), half]),
        "Random": np.concatenate([half, half]),
    }
    told = controls_by_category(
        category, image, outcomes, ["Metric", "Other"], ["Length", "Random"],
        permutations=2000, alpha=0.05, seed=0,
    )  # fmt: skip
    assert told is not None
    assert list(told) == ["HC", "MM", "mean"]
    assert told["HC"] == {
        "control": "Length", "value": 1.0, "best": "Metric", "best_value": 0.9, "above": [],
        "shows": "nothing",
    }  # fmt: skip
    assert told["MM"]["shows"] == "something"
    assert told["MM"]["above"] == ["Metric"]
    assert told["mean"]["control"] == "Length"
    assert told["mean"]["best_value"] == pytest.approx(0.95)
    assert list(verdicts(told)) == [
        "HC shows nothing: Length alone gets 100.0, the best metric (Metric) 90.0"
    ]
    assert (
        controls_by_category(
            category, image, outcomes, ["Metric"], [], permutations=9, alpha=0.05, seed=0
        )
        is None
    )


def test_a_choice_is_above_by_the_permutation_test_of_means() -> None:
    """One category, which is its own mean: two equal tests, so Holm doubles the p-value."""
    n = 40
    x, y = (np.arange(n) % 20 < 14).astype(float), (np.arange(n) % 2).astype(float)
    plain = permutation_of_means(x, y, np.arange(n), replicates=500, seed=0)
    assert 0 < 2 * plain.p_two_sided < 1

    def above(alpha: float) -> list[str]:
        told = controls_by_category(
            ["HC"] * n, np.arange(n), {"A": x, "B": y}, ["A"], ["B"],
            permutations=500, alpha=alpha, seed=0,
        )  # fmt: skip
        assert told is not None
        return list(told["HC"]["above"])

    assert above(2 * plain.p_two_sided + 1e-9) == ["A"]
    assert above(2 * plain.p_two_sided - 1e-9) == []


def test_ratings_are_compared_with_the_best_control_by_the_paired_bootstrap() -> None:
    """Who is above is what `paired_bootstrap` says of each metric alone (Holm by hand: two tests);
    a metric with gaps is compared on the captions that it could score."""
    rng = np.random.default_rng(0)
    n, images = 200, np.repeat(np.arange(50), 4)
    people = rng.integers(1, 5, n).astype(float)
    control = people + rng.normal(0, 4, n)
    good = people + rng.normal(0, 0.5, n)
    poor = np.where(rng.random(n) < 0.2, NAN, people + rng.normal(0, 4, n))
    given = Ratings(np.arange(n), people, people, images, 50)
    counts = bootstrap_counts(50, 400, 0)
    columns = [RankedScores("Good", good), RankedScores("Poor", poor)]
    blind = [RankedScores("Length", control), RankedScores("Random", rng.normal(0, 1, n))]
    replicates = {
        c.name: WeightedCorrelations(c.scores, people, images, 50).of(counts)
        for c in (*columns, *blind)
    }
    told = _against_controls(columns, blind, given, counts, replicates, "kendall_tau_b", 0.95, 0.05)
    assert told is not None
    assert told["control"] == "Length"
    assert told["best"] == "Good"
    p = [
        paired_bootstrap(
            c.scores, control, people, images, statistic="kendall_tau_b", counts=counts
        ).p_two_sided
        for c in columns
    ]
    assert 2 * p[0] <= 0.05 < p[1]  # Holm: the smaller one twice, the other as it is
    assert told["above"] == ["Good"]
    assert told["shows"] == "something"
    assert (
        _against_controls(columns, [], given, counts, replicates, "kendall_tau_b", 0.95, 0.05)
        is None
    )


def test_what_is_shown_beside_a_control() -> None:
    values = {"A": 0.6, "B": NAN, "Length": 0.5, "Random": NAN}
    assert best_of(values, ["B", "A"]) == "A"
    assert best_of(values, ["B"]) == "B"
    assert beside_control(values, ["A", "B"], "Length", ["A"])["shows"] == "something"
    assert beside_control(values, ["A", "B"], "Length", [])["shows"] == "unsure"
    assert beside_control(values | {"A": 0.5}, ["A", "B"], "Length", [])["shows"] == "nothing"
    assert beside_control(values, ["B"], "Length", [])["shows"] == "nothing"
