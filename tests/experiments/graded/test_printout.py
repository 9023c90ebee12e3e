"""What a run prints at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.graded.printout import printout


def _record(metric: str, rho: float) -> dict[str, Any]:
    return {
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
    }


def test_best_first_with_what_was_published_and_what_did_not_run() -> None:
    skipped = {"metric": "SPICE", "family": "spice", "status": "skipped", "reason": "no Java"}
    parts = skipped | {"metric": "SPICE-object"}
    records = [_record("Low", 0.25), skipped, parts, _record("High", 0.75)]
    summary = {"metrics": records, "settings": {"confidence": 0.9}}
    head, *lines = printout(summary, {"High": 0.7}, Path("OUT/report.html")).splitlines()
    assert "90% interval" in head
    assert head.endswith("published")
    assert lines == [
        "High        0.7500  0.7400 0.7600      0.500  62.5%  12.5%  25.0%     0.7000",
        "Low         0.2500  0.2400 0.2600      0.500  62.5%  12.5%  25.0%",
        "not run: spice (skipped)",
        "report: OUT/report.html",
    ]


def test_another_model_than_the_papers_is_marked_as_such() -> None:
    records = [_record("BERTScore (MiniLM)", 0.5), _record("TIGEr (trained on corruptions)", 0.25)]
    summary = {"metrics": records, "settings": {"confidence": 0.95}}
    lines = printout(summary, {"BERTScore": 0.5569}, Path("OUT/report.html")).splitlines()
    assert lines[1].endswith("25.0%     0.5569 (another model)")
    assert lines[2].endswith("25.0%")  # nothing was published for it


def test_what_was_counted_is_said_once_a_metric() -> None:
    counts = [
        {"what": "images without objects", "unit": "images", "n": 48, "of": 5000},
        {"what": "captions without content words", "unit": "captions", "n": 0, "of": 20000},
        {"what": "content words without a vector", "unit": "words", "n": 1234, "of": None},
    ]
    records = [_record(name, 0.5) | {"family": "vifidel", "counts": counts} for name in "AB"]
    summary = {"metrics": records, "settings": {"confidence": 0.95}}
    lines = printout(summary, {}, Path("OUT/report.html")).splitlines()
    assert lines[3:-1] == [
        "vifidel: 48 of 5,000 images without objects; 1,234 content words without a vector"
    ]


def test_controls_stand_below_whatever_they_get() -> None:
    records = [_record("Model", 0.75) | {"control": True}, _record("Metric", 0.25)]
    summary = {"metrics": records, "settings": {"confidence": 0.95}}
    lines = printout(summary, {}, Path("OUT/report.html")).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["Metric", "controls,", "Model"]


def test_the_spread_over_seeds_is_said_where_there_is_one() -> None:
    seeds = {"n": 5, "rank_order_rho": {"mean": 0.25, "sd": 0.00144}}
    records = [_record("A", 0.25) | {"seeds": seeds}, _record("B", 0.5) | {"seeds": None}]
    summary = {"metrics": records, "settings": {"confidence": 0.95}}
    lines = printout(summary, {}, Path("OUT/report.html")).splitlines()
    assert lines[-3:-1] == [
        "sd of rank-order ρ over 5 corruption seeds: A 0.0014",
        "of one seed alone (corruption.reseeded): B",
    ]


def test_training_seeds_where_they_were_measured() -> None:
    """One line for the metrics of which a card knows other seeds of this run, or none at all."""
    known = {"training_seeds": {"seeds": [0, 1, 2], "rank_order_rho": {"mean": 0.8, "sd": 0.012}}}
    records = [_record("FAIEr", 0.75) | known, _record("CIDEr", 0.25) | {"training_seeds": None}]
    summary = {"metrics": records, "settings": {"confidence": 0.95}}
    lines = printout(summary, {}, Path("report.html")).splitlines()
    assert "sd of rank-order ρ over 3 training seeds: FAIEr 0.012" in lines
    again = printout({**summary, "metrics": records[1:]}, {}, Path("report.html"))
    assert "training seeds" not in again
