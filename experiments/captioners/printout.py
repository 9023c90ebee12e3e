"""What a finished run of `experiment=captioners` prints: every system's score by every metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def printout(summary: Mapping[str, Any], file: Path) -> str:
    """A line a metric, a column a system, the systems by their mean rank; `*` marks a lead over
    the next system that Holm's correction leaves standing.

    `file` is what to open next: the report, or the statistics of a run without one.
    """
    done = [r for r in summary["metrics"] if r["status"] == "ok" and r["part_of"] is None]
    names = by_mean_rank(summary)
    wide = {name: max(9, len(name) + 1) for name in names}
    left = max((len(r["metric"]) for r in done), default=0)
    alpha = 1 - summary["settings"]["confidence"]
    lines = [" " * left + "".join(f"{name:>{wide[name] + 1}}" for name in names)]
    for record in done:
        ahead = {
            n["better"]
            for n in record["neighbours"]
            if n["p_permutation_holm"] is not None and n["p_permutation_holm"] <= alpha
        }
        cells = [
            f"{record['systems'][name]['score']:>{wide[name]}.4f}{'*' if name in ahead else ' '}"
            for name in names
        ]
        lines.append(f"{record['metric']:<{left}}" + "".join(cells))
    lines.append(f"* ahead of the next by a paired permutation test (Holm, p ≤ {alpha:.2g})")
    lacking = {r["family"]: r["status"] for r in summary["metrics"] if r["status"] != "ok"}
    if lacking:  # the reasons went to stderr, and are in the report
        told = ", ".join(f"{name} ({status})" for name, status in lacking.items())
        lines.append(f"not run: {told}")
    return "\n".join([*lines, f"{file.stem}: {file}"])


def by_mean_rank(summary: Mapping[str, Any]) -> list[str]:
    """The systems by their mean rank over the headline scores, the best first."""
    systems = summary["systems"]
    ranks = [s["mean_rank"] if s["mean_rank"] == s["mean_rank"] else math.inf for s in systems]
    order = sorted(range(len(systems)), key=ranks.__getitem__)
    return [systems[k]["name"] for k in order]
