"""Metrics against the best control: which ones agree significantly better with people."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from metaeval.experiments.forced_choice.statistics import GroupedOutcomes
from metaeval.experiments.judgments.fitted import FittedControls
from metaeval.experiments.judgments.sample import (
    Columns,
    JudgmentSettings,
    RankedScores,
    Ratings,
    Sample,
)
from metaeval.experiments.judgments.statistics import Dimension
from metaeval.results.comparison import AgainstControl
from metaeval.stats.ordering.tie_calibration import tie_calibration
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.paired_bootstrap import paired_bootstrap
from metaeval.stats.significance.paired_permutation import permutation_of_means

NAN = float("nan")


def test_a_category_that_length_wins_shows_nothing() -> None:
    """On HC the control is always right; on MM the metric is."""
    n = 60
    image = np.arange(2 * n) % n
    half = (np.arange(n) % 2).astype(float)
    outcomes = {
        "Metric": np.concatenate([(np.arange(n) % 10 > 0).astype(float), np.ones(n)]),
        "Other": np.concatenate([half, half]),
        "Length": np.concatenate([np.ones(n), half]),
        "Random": np.concatenate([half, half]),
    }
    masks = {"HC": np.arange(2 * n) < n, "MM": np.arange(2 * n) >= n, "mean": np.ones(2 * n, bool)}
    grouped = GroupedOutcomes(
        outcomes, image, masks, bootstrap_counts(n, 10, 0), 2000, 0.95, 0.05, 0,
        {"mean": ("HC", "MM")},
    )  # fmt: skip
    controls = grouped.against_controls(["Metric", "Other"], ["Length", "Random"])
    assert list(controls) == ["HC", "MM", "mean"]
    hc, mm, mean = (controls[name] for name in ("HC", "MM", "mean"))
    assert (hc.control, hc.control_value, hc.best, hc.best_value) == ("Length", 1.0, "Metric", 0.9)
    assert (hc.above, hc.shows) == ((), "nothing")
    assert (mm.above, mm.shows) == (("Metric",), "something")
    assert (mean.control, mean.best_value) == ("Length", pytest.approx(0.95))
    assert grouped.against_controls(["Metric"], []) == {}


def test_a_choice_is_above_by_the_permutation_test_of_means() -> None:
    """One category, which is its own mean: two equal tests, so Holm doubles the p-value."""
    n = 40
    x, y = (np.arange(n) % 20 < 14).astype(float), (np.arange(n) % 2).astype(float)
    plain = permutation_of_means(x, y, np.arange(n), replicates=500, seed=0)
    assert 0 < 2 * plain.p_two_sided < 1

    def above(alpha: float) -> list[str]:
        everything = np.ones(n, bool)
        grouped = GroupedOutcomes(
            {"A": x, "B": y}, np.arange(n), {"HC": everything, "mean": everything},
            bootstrap_counts(n, 10, 0), 500, 0.95, alpha, 0, {"mean": ("HC",)},
        )  # fmt: skip
        return list(grouped.against_controls(["A"], ["B"])["HC"].above)

    assert (above(2 * plain.p_two_sided + 1e-9), above(2 * plain.p_two_sided - 1e-9)) == (["A"], [])


def controls_of(
    given: Ratings, counts: Any, ranked: list[RankedScores], blind: list[RankedScores]
) -> dict[str, AgainstControl]:
    """Every metric against the best control, by the key of the statistic."""
    n = len(given.mean)
    captions = [
        SimpleNamespace(candidate="a", human={"x": (mean,)}, raters=(), system=None)
        for mean in given.mean
    ]
    protocol = SimpleNamespace(statistic="kendall_tau_b")
    judged: Any = SimpleNamespace(protocol=protocol, higher_is_better=True, judged=captions)
    bare = np.zeros(n, dtype=np.bool_)
    sample = Sample(judged, given.image, np.arange(n), counts, (), (), {"x": given}, bare)
    settings = JudgmentSettings(
        replicates=len(counts), confidence=0.95, seed=0, permutations=9, swap="both", alpha=0.05
    )
    columns = Columns([*ranked, *blind], ranked, blind)
    return Dimension("x", sample, columns, FittedControls({}, {"x": {}}), settings).controls()


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
    against = controls_of(given, counts, columns, blind)["kendall_tau_b"]
    p = [
        paired_bootstrap(
            c.scores, control, people, images, statistic="kendall_tau_b", counts=counts
        ).p_two_sided
        for c in columns
    ]
    assert 2 * p[0] <= 0.05 < p[1]  # Holm: the smaller one twice, the other as it is
    assert (against.control, against.best) == ("Length", "Good")
    assert (against.above, against.shows) == (("Good",), "something")
    assert controls_of(given, counts, columns, []) == {}


def test_the_accuracy_on_pairs_is_compared_over_the_same_resampled_images() -> None:
    """By hand from every image's own accuracy at the calibrated ε; a gap counts for neither."""
    rng = np.random.default_rng(1)
    n_images, captions = 50, 4
    n, images = n_images * captions, np.repeat(np.arange(n_images), captions)
    people = rng.integers(1, 5, n).astype(float)
    metric, control = people + rng.normal(0, 1, n), people + rng.normal(0, 4, n)
    metric[:5] = NAN
    given = Ratings(np.arange(n), people, people, images, n_images)
    counts = bootstrap_counts(n_images, 300, 0)
    columns = [RankedScores("Metric", metric)], [RankedScores("Length", control)]
    against = controls_of(given, counts, *columns)["accuracy"]
    common = np.where(np.isnan(metric), NAN, control)

    def of_images(scores: np.ndarray) -> np.ndarray:
        epsilon = tie_calibration(scores, people, images).epsilon
        values = []
        for i in range(n_images):
            right = []
            for j, k in combinations(np.flatnonzero((images == i) & ~np.isnan(scores)), 2):
                gap, judged = scores[j] - scores[k], people[j] - people[k]
                right.append((0 if abs(gap) <= epsilon else np.sign(gap)) == np.sign(judged))
            values.append(np.mean(right) if right else NAN)
        return np.array(values)

    a, b = of_images(metric), of_images(common)
    (compared,) = against.comparisons
    assert np.isnan([a[0], b[0]]).all()  # of the first image no pair is left
    assert compared.difference.value == pytest.approx(np.nanmean(a) - np.nanmean(b), abs=1e-12)
    known = ~np.isnan(a)
    drawn = [np.average((a - b)[known], weights=c[known]) for c in counts]
    p = 2 * norm.sf(abs(compared.difference.value) / np.std(drawn, ddof=1))
    assert compared.test.p == pytest.approx(p, rel=1e-9)


def test_a_metric_of_a_part_of_the_captions_meets_the_best_control_there() -> None:
    """Length is best on all captions and knows nothing of the first half, which the metric scored;
    "Other" is best there."""
    rng = np.random.default_rng(2)
    n, images = 200, np.repeat(np.arange(50), 4)
    people = rng.integers(1, 5, n).astype(float)
    first = np.arange(n) < 100
    length = np.where(first, rng.normal(0, 1, n), people + rng.normal(0, 0.1, n))
    other = np.where(first, people + rng.normal(0, 2, n), rng.normal(0, 1, n))
    metric = np.where(first, people + rng.normal(0, 1, n), NAN)
    given = Ratings(np.arange(n), people, people, images, 50)
    counts = bootstrap_counts(50, 200, 0)
    whole = people + rng.normal(0, 1, n)
    ranked = [RankedScores("Metric", metric), RankedScores("Whole", whole)]
    controls = [RankedScores("Length", length), RankedScores("Other", other)]
    made = controls_of(given, counts, ranked, controls)
    for against in (made["kendall_tau_b"], made["accuracy"]):
        assert against.control == "Length"
        assert [(c.a, c.b) for c in against.comparisons] == [
            ("Metric", "Other"), ("Whole", "Length"),
        ]  # fmt: skip
