"""What the statistics of a run say of pairs of metrics, of controls and of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.graded.differences import (
    against_controls,
    differences,
    extreme_steps,
    replicates_of,
)
from metaeval.stats.ordering.graded import GradedResult, graded_result
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from tests.reports.run_files import declared

N = 300
COUNTS = bootstrap_counts(N, 400, seed=0)
NAMES = ["Random", "Half", "Human"]


def result(signal: float, seed: int, steps: tuple[float, ...] = (0, 1, 2)) -> GradedResult:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(N, 3)) + signal * np.array(steps)
    return graded_result(scores, range(3), NAMES, counts=COUNTS)


def records_of(results: dict[str, GradedResult], **fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**declared(name, **fields.get(name, {})), "status": "ok", **found.record}
        for name, found in results.items()
    ]


def resampled(results: dict[str, GradedResult]) -> dict[str, dict[str, np.ndarray]]:
    return {name: replicates_of(of_column) for name, of_column in results.items()}


def test_pairs_are_of_metrics_alone_and_told_apart_where_they_differ() -> None:
    results = {
        "good": result(2.0, 1),
        "poor": result(0.3, 2),
        "twin": result(2.0, 3),
        "part": result(0.0, 4),
        "control": result(0.0, 5),
    }
    records = records_of(results, part={"part_of": "good"}, control={"control": True})
    tested = differences(records, resampled(results), N, 0.95)
    assert tested["alpha"] == 0.05
    pairs = {(p["a"], p["b"]): p for p in tested["measures"]["rank_order_rho_within"]["pairs"]}
    assert list(pairs) == [("good", "poor"), ("good", "twin"), ("poor", "twin")]
    real = pairs["good", "poor"]
    assert real["bootstrap"]["p_holm"] < 0.001
    assert real["difference"] > real["detectable"] > 0
    assert real["images_needed"] < N  # fewer would have shown this one
    assert pairs["good", "twin"]["bootstrap"]["p_holm"] > 0.05
    assert pairs["good", "twin"]["images_needed"] > N


def test_without_replicates_nothing_is_claimed() -> None:
    none = bootstrap_counts(N, 0, seed=0)
    rng = np.random.default_rng(0)
    results = {
        name: graded_result(rng.normal(size=(N, 3)), range(3), NAMES, counts=none) for name in "ab"
    }
    tested = differences(records_of(results), resampled(results), N, 0.95)
    (pair,) = tested["measures"]["rank_order_rho"]["pairs"]
    assert np.isnan(pair["bootstrap"]["p_holm"])
    assert pair["detectable"] is None


def test_a_metric_beats_the_best_control_or_does_not() -> None:
    results = {
        "good": result(2.0, 1),
        "weak": result(0.1, 2),
        "length": result(0.0, 4),
        "model": result(0.5, 5),
        "Ceiling": result(9.0, 6),
    }
    control = {"control": True}
    records = records_of(results, length=control, model=control, Ceiling=control)
    for r in records:
        r["family"] = "ceiling" if r["metric"] == "Ceiling" else r["family"]
    against_controls(records, resampled(results), N, 0.95)
    good, weak, *others = records
    for measure in ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy"):
        assert good["against_control"][measure]["control"] == "model"
        assert good["against_control"][measure]["beats"]
        assert not weak["against_control"][measure]["beats"]
    assert all("against_control" not in r for r in others)


def test_a_metric_equal_to_the_control_does_not_beat_it() -> None:
    same = result(1.0, 1)
    results = {"metric": same, "model": same}
    records = records_of(results, model={"control": True})
    against_controls(records, resampled(results), N, 0.95)
    assert not records[0]["against_control"]["rank_order_rho"]["beats"]


def test_a_step_is_named_only_where_it_differs_from_all_others() -> None:
    sharp = extreme_steps(result(1.0, 1, (0, 3, 3.3)), N, 0.95)
    assert sharp["clearest_step"] == {"lower": "Random", "upper": "Half"}
    assert sharp["least_seen_step"] == {"lower": "Half", "upper": "Human"}
    assert extreme_steps(result(1.0, 2, (0, 1, 2)), N, 0.95) == {
        "least_seen_step": None,
        "clearest_step": None,
    }
