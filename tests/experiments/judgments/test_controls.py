"""Metrics against the best control: which ones agree significantly better with people."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, t

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

NAN = float("nan")


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
    sample = Sample(judged, given.image, counts, (), (), {"x": given}, bare)
    settings = JudgmentSettings(replicates=len(counts), confidence=0.95, seed=0, alpha=0.05)
    columns = Columns([*ranked, *blind], ranked, blind)
    dimension = Dimension("x", sample, columns, FittedControls({}, {"x": {}}), settings)
    return dimension.measured().controls


def test_ratings_are_compared_with_the_best_control_by_the_bootstrap() -> None:
    """p by hand from resampled captions and scipy's τ-b (Holm: two tests); a metric with gaps is
    compared on the captions that it could score."""
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

    def gap(scores: np.ndarray, rows: np.ndarray) -> float:
        rows = rows[~np.isnan(scores[rows])]
        a, b = (kendalltau(x[rows], people[rows]).statistic for x in (scores, control))
        return float(a - b)

    for column, compared in zip((good, poor), against.comparisons, strict=True):
        drawn = [gap(column, np.repeat(np.arange(n), np.repeat(c, 4))) for c in counts]
        scored = len(np.unique(images[~np.isnan(column)]))
        error = np.std(drawn, ddof=1) * np.sqrt(scored / (scored - 1))
        p = 2 * t.sf(abs(gap(column, np.arange(n))) / error, scored - 1)
        assert compared.test.p == pytest.approx(p, rel=1e-6)
    p_good, p_poor = (compared.test.p for compared in against.comparisons)
    assert 2 * p_good <= 0.05 < p_poor
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
    error = np.std(drawn, ddof=1) * np.sqrt(49 / 48)
    p = 2 * t.sf(abs(compared.difference.value) / error, 48)
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
