"""What a run prints at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metaeval.experiments.graded.printout import printout
from metaeval.results.graded import StatisticsSettings
from tests.reports.graded_results import graded_metric, graded_result


def _metric(metric: str, rho: float, **more: Any) -> Any:
    return graded_metric({
        "metric": metric,
        "variant_of": metric.split(" (")[0] if " (" in metric else None,
        "family": metric.lower(),
        "status": "ok",
        "control": False,
        "rank_order_rho": rho,
        "rank_order_rho_ci": [rho - 0.01, rho + 0.01],
        "rank_order_rho_within": 0.5,
        "pairwise_accuracy": 0.625,
        "monotone_rate": 0.125,
        "tie_fraction": 0.25,
        **more,
    })  # fmt: skip


def _printed(*metrics: Any, published: dict[str, float] | None = None, level: float = 0.95) -> str:
    settings = StatisticsSettings(seed=0, replicates=40, confidence=level)
    result = graded_result(metrics, settings=settings)
    return printout(result, published or {}, Path("OUT/report.html"))


def test_best_first_with_what_was_published_and_what_did_not_run() -> None:
    skipped = {"metric": "SPICE", "family": "spice", "status": "skipped", "reason": "no Java"}
    absent = [graded_metric(skipped), graded_metric(skipped | {"metric": "SPICE-object"})]
    metrics = [_metric("Low", 0.25), *absent, _metric("High", 0.75)]
    head, *lines = _printed(*metrics, published={"High": 0.7}, level=0.9).splitlines()
    assert "90% interval" in head
    assert head.endswith("published")
    assert lines == [
        "High        0.7500  0.7400 0.7600      0.500  62.5%  12.5%  25.0%     0.7000",
        "Low         0.2500  0.2400 0.2600      0.500  62.5%  12.5%  25.0%",
        "not run: spice (skipped)",
        "report: OUT/report.html",
    ]


def test_another_model_than_the_papers_is_marked_as_such() -> None:
    metrics = [_metric("BERTScore (MiniLM)", 0.5), _metric("TIGEr (trained on corruptions)", 0.25)]
    lines = _printed(*metrics, published={"BERTScore": 0.5569}).splitlines()
    assert lines[1].endswith("25.0%     0.5569 (another model)")
    assert lines[2].endswith("25.0%")  # nothing was published for it


def test_counts_are_reported_once_per_metric() -> None:
    counts = [
        {"what": "images without objects", "unit": "images", "n": 48, "of": 5000},
        {"what": "captions without content words", "unit": "captions", "n": 0, "of": 20000},
        {"what": "content words without a vector", "unit": "words", "n": 1234, "of": None},
    ]
    metrics = [_metric(name, 0.5, family="vifidel", counts=counts) for name in "AB"]
    lines = _printed(*metrics).splitlines()
    assert lines[3:-1] == [
        "A: 48 of 5,000 images without objects (1.0%); 1,234 content words without a vector"
    ]


def test_controls_stand_below_whatever_they_get() -> None:
    lines = _printed(_metric("Model", 0.75, control=True), _metric("Metric", 0.25)).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["Metric", "controls", "Model"]
    assert "controls" not in _printed(_metric("Metric", 0.25))


def test_the_spread_over_seeds_is_reported_if_known() -> None:
    seeds = {"n": 5, "rank_order_rho": {"mean": 0.25, "sd": 0.00144}}
    lines = _printed(_metric("A", 0.25, seeds=seeds), _metric("B", 0.5)).splitlines()
    assert lines[-3:-1] == [
        "sd of rank-order ρ over corruption seeds: A 0.0014 (5)",
        "with one corruption seed only (corruption.reseeded): B",
    ]


def test_training_seeds_where_they_were_measured() -> None:
    """One line for the metrics of which a card knows other seeds of this run, or none at all."""
    seeds = {"seeds": [0, 1, 2], "rank_order_rho": {"mean": 0.8, "sd": 0.012}}
    faier, cider = _metric("FAIEr", 0.75, training_seeds=seeds), _metric("CIDEr", 0.25)
    line = "sd of rank-order ρ over training seeds: FAIEr 0.012 (3)"
    assert line in _printed(faier, cider).splitlines()
    assert "training seeds" not in _printed(cider)


def test_what_is_not_defined_is_a_dash() -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy", "monotone_rate",
         "tie_fraction")
    )  # fmt: skip
    printed = _printed(_metric("A", 0.25, **nothing, rank_order_rho_ci=None), _metric("B", 0.5))
    assert [line.split() for line in printed.splitlines() if line.startswith("A")] == [
        ["A", "–", "–", "–", "–", "–"]
    ]
    assert "nan" not in printed
