"""What a run prints at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.printout import printout


def _record(metric: str, rho: float) -> dict[str, Any]:
    return {
        "metric": metric,
        "family": metric.lower(),
        "status": "ok",
        "rank_order_rho": rho,
        "rank_order_rho_ci": [rho - 0.01, rho + 0.01],
        "kendall_tau_b": 0.5,
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
        "High        0.7500  0.7400 0.7600     0.500  25.0%     0.7000",
        "Low         0.2500  0.2400 0.2600     0.500  25.0%",
        "not run: spice (skipped)",
        "report: OUT/report.html",
    ]
