"""What a finished profile prints: a line a metric, its blind spots, and where the report is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_MOST = 4  # blind spots that are named


def printout(summary: Mapping[str, Any], file: Path) -> str:
    """Mean AUC over harmful and harmless changes, hard positives, and what is not seen."""
    return "\n".join([*_rows(summary), f"{file.stem}: {file}"])


def _rows(summary: Mapping[str, Any]) -> Iterator[str]:
    sets, records = summary["sets"], summary["metrics"]
    done = [r for r in records if r["status"] == "ok" and r["part_of"] is None]
    done.sort(key=lambda r: (r["control"], -_mean(r, sets, "lower")))
    width = max((len(r["metric"]) for r in done), default=0)
    harmful = [s for s in sets if s["expected"] == "lower"]
    yield (
        f"{len(harmful)} sets that harm, {len(sets) - len(harmful)} that do not; "
        "AUC within images, 0.5 = not told apart"
    )
    yield f"{'':<{width}}  harm seen  harmless punished  harmless above harmful  misses"
    for r in done:
        positives = r["hard_positives"]["all"]["mean"]
        blind = blind_spots(r, sets)
        named = ", ".join(blind[:_MOST]) + (" …" if len(blind) > _MOST else "")
        yield (
            f"{r['metric']:<{width}}  {_mean(r, sets, 'lower'):>9.3f}  "
            f"{_mean(r, sets, 'same'):>17.3f}  "
            f"{f'{100 * positives:.1f}%':>22}  "
            f"{len(blind)}{': ' if blind else ''}{named}{' (control)' if r['control'] else ''}"
        )
    if summary["together"]:
        best = summary["together"][0]
        yield f"together see most: {best['a']} and {best['b']} (mean AUC {best['mean_auc']:.3f})"
    lacking = {r["family"]: r["status"] for r in records if r["status"] != "ok"}
    if lacking:
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in lacking.items())


def _mean(record: Mapping[str, Any], sets: list[Mapping[str, Any]], expected: str) -> float:
    values = [record["profile"][s["set"]]["auc"] for s in sets if s["expected"] == expected]
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else float("nan")


def blind_spots(record: Mapping[str, Any], sets: list[Mapping[str, Any]]) -> list[str]:
    """Harmful sets that the metric does not see or whose changed captions it prefers, the least
    seen first."""
    cells = [(record["profile"][s["set"]], s["set"]) for s in sets]
    blind = [(cell["auc"], name) for cell, name in cells if cell["verdict"] in ("blind", "prefers")]
    return [name for _, name in sorted(blind)]
