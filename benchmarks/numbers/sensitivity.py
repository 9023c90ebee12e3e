"""The tables of experiment=sensitivity and of the corruptions' own pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.numbers.graded import head, row, three
from benchmarks.numbers.tables import Command, Result, Table
from corruptions.base import KINDS
from metaeval.runs import files

PROFILE = Command(
    "-m metaeval experiment=sensitivity dataset=coco_val2017 metric.spice.parser=rules"
)
AUDIT = "-m benchmarks.corruption_audit"
HARMFUL = KINDS[:-1]


def _ran(result: Result) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The metrics that ran and are no parts, those that see most first, controls last; the sets."""
    statistics = files.read_json(result.folder / files.STATISTICS)
    sets = statistics["sets"]
    ran = [r for r in statistics["metrics"] if r["status"] == "ok" and r["part_of"] is None]
    return sorted(ran, key=lambda r: (r["control"], -mean_auc(r, sets, "lower"))), sets


def mean_auc(
    record: Mapping[str, Any], sets: Sequence[Mapping[str, Any]], expected: str, kind: str = ""
) -> float:
    """The mean AUC over the sets that should harm ("lower") or should not, of a kind if given."""
    values = [
        record["profile"][s["set"]]["auc"]
        for s in sets
        if s["expected"] == expected and kind in ("", s["kind"])
    ]
    some = [v for v in values if v is not None and not np.isnan(v)]
    return float(np.mean(some)) if some else float("nan")


def metrics(results: Sequence[Result]) -> str:
    """A line a metric: what it sees, what it punishes, hard positives, what it misses."""
    ran, sets = _ran(results[0])
    lines = head("metric", "harm", "harmless", "rewrite above near-copy", "misses", "undecided")
    for record in ran:
        positives = record["hard_positives"]["all"]
        verdicts = [record["profile"][s["set"]]["verdict"] for s in sets]
        low, high = positives["ci"]
        lines.append(
            row(
                record["metric"] + (" (control)" if record["control"] else ""),
                three(mean_auc(record, sets, "lower")),
                three(mean_auc(record, sets, "same")),
                f"{three(positives['mean'])} [{three(low)}, {three(high)}]",
                str(sum(v in ("blind", "prefers") for v in verdicts)),
                str(verdicts.count("unsure")),
            )
        )
    return "\n".join(lines)


def kinds(results: Sequence[Result]) -> str:
    """Mean AUC by kind of change."""
    ran, sets = _ran(results[0])
    lines = head("metric", *HARMFUL)
    for record in ran:
        cells = [three(mean_auc(record, sets, "lower", kind)) for kind in HARMFUL]
        lines.append(row(record["metric"] + (" (control)" if record["control"] else ""), *cells))
    return "\n".join(lines)


def as_printed(results: Sequence[Result]) -> str:
    return results[0].printed.strip()


TABLES = (
    Table("sensitivity-metrics", (PROFILE,), metrics),
    Table("sensitivity-kinds", (PROFILE,), kinds),
    Table("corruptions-made", (Command(f"{AUDIT} table"),), as_printed),
    Table("corruptions-audit", (Command(f"{AUDIT} report"),), as_printed),
    Table("corruptions-scenes", (Command(f"{AUDIT} scenes"),), as_printed),
)
