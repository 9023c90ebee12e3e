"""Metrics against the best control: which ones agree significantly better with people."""

from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf
from scipy.stats import kendalltau, t

from metaeval.experiments.judgments.sample import FittedControls, Ratings, Sample
from metaeval.experiments.judgments.task import Dimension
from metaeval.results.comparison import AgainstControl
from metaeval.runs.records import ScoreColumn
from metaeval.stats.ordering.tie_calibration import tie_calibration
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats

NAN = float("nan")


def controls_of(
    given: Ratings, counts: Any, ranked: dict[str, Floats], blind: dict[str, Floats]
) -> dict[str, AgainstControl]:
    """Every metric against the best control, by the key of the statistic."""
    captions = [
        SimpleNamespace(candidate="a", human={"x": (mean,)}, raters=(), system=None)
        for mean in given.mean
    ]
    protocol = SimpleNamespace(statistic="kendall_tau_b")
    judged: Any = SimpleNamespace(protocol=protocol, higher_is_better=True, judged=captions)
    sample = Sample(judged, given.image, counts, (), given.image * 0 - 1, {}, {"x": given})
    stats = OmegaConf.create({"replicates": len(counts), "confidence": 0.95, "seed": 0})
    columns = [ScoreColumn(name, control=name in blind) for name in (*ranked, *blind)]
    fitted = FittedControls({}, {"x": {}})
    dimension = Dimension("x", sample, ranked | blind, columns, fitted, stats)
    return dimension.measured().controls


N, IMAGES = 200, np.repeat(np.arange(50), 4)


def people_and_noise(seed: int) -> tuple[Ratings, Floats, np.random.Generator]:
    """Ratings of four captions for each of 50 images, and what to draw noise from."""
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 5, N).astype(float)
    return Ratings(np.arange(N), people, people, IMAGES, 50), people, rng


def p_of(difference: float, drawn: Sequence[float], n_images: int) -> float:
    """Student's t of the bootstrap's error."""
    error = np.std(drawn, ddof=1) * np.sqrt(n_images / (n_images - 1))
    return float(2 * t.sf(abs(difference) / error, n_images - 1))


def test_ratings_are_compared_with_the_best_control_by_the_bootstrap() -> None:
    """p by hand from resampled captions and scipy's τ-b (Holm: two tests); a metric with gaps is
    compared on the captions that it could score."""
    given, people, rng = people_and_noise(0)
    control = people + rng.normal(0, 4, N)
    good = people + rng.normal(0, 0.5, N)
    poor = np.where(rng.random(N) < 0.2, NAN, people + rng.normal(0, 4, N))
    counts = bootstrap_counts(50, 400, 0)
    columns = {"Good": good, "Poor": poor}
    blind = {"Length": control, "Random": rng.normal(0, 1, N)}
    against = controls_of(given, counts, columns, blind)["kendall_tau_b"]

    def gap(scores: np.ndarray, rows: np.ndarray) -> float:
        rows = rows[~np.isnan(scores[rows])]
        a, b = (kendalltau(x[rows], people[rows]).statistic for x in (scores, control))
        return float(a - b)

    for column, compared in zip((good, poor), against.comparisons, strict=True):
        drawn = [gap(column, np.repeat(np.arange(N), np.repeat(c, 4))) for c in counts]
        scored = len(np.unique(IMAGES[~np.isnan(column)]))
        p = p_of(gap(column, np.arange(N)), drawn, scored)
        assert compared.test.p == pytest.approx(p, rel=1e-6)
    p_good, p_poor = (compared.test.p for compared in against.comparisons)
    assert 2 * p_good <= 0.05 < p_poor
    assert (against.control, against.best, against.above, against.shows) == (
        "Length", "Good", ("Good",), "something",
    )  # fmt: skip
    assert controls_of(given, counts, columns, {}) == {}


def test_the_accuracy_on_pairs_is_compared_over_the_same_resampled_images() -> None:
    """By hand from every image's own accuracy at the calibrated ε; a gap counts for neither."""
    given, people, rng = people_and_noise(1)
    metric, control = people + rng.normal(0, 1, N), people + rng.normal(0, 4, N)
    metric[:5] = NAN
    counts = bootstrap_counts(50, 300, 0)
    against = controls_of(given, counts, {"Metric": metric}, {"Length": control})["accuracy"]
    common = np.where(np.isnan(metric), NAN, control)

    def of_images(scores: np.ndarray) -> np.ndarray:
        epsilon = tie_calibration(scores, people, IMAGES).epsilon
        values = np.full(50, NAN)
        for i in range(50):
            j, k = np.array([*combinations(range(4 * i, 4 * i + 4), 2)]).T
            gap, judged = scores[j] - scores[k], people[j] - people[k]
            right = np.where(np.abs(gap) <= epsilon, 0, np.sign(gap)) == np.sign(judged)
            if not np.isnan(gap).all():
                values[i] = right[~np.isnan(gap)].mean()
        return values

    a, b = of_images(metric), of_images(common)
    (compared,) = against.comparisons
    known = np.arange(1, 50)  # of the first image no pair is left
    assert compared.difference.value == pytest.approx(np.nanmean(a) - np.nanmean(b), abs=1e-12)
    drawn = [np.average((a - b)[known], weights=c[known]) for c in counts]
    p = p_of(compared.difference.value, drawn, 49)
    assert compared.test.p == pytest.approx(p, rel=1e-9)
