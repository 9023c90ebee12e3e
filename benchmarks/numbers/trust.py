"""The tables of experiment=trust: the metrics of each use, and the matrix of verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import row
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.experiments.trust.result import NAMED, SHOWN

BATTERY = Command("-m metaeval experiment=trust")


def uses(results: Sequence[Result]) -> str:
    """A row a use: the metrics with each verdict."""
    result = results[0].read()
    lines = [row(f"`python {BATTERY.line}`, on {result.dataset}", *NAMED[:3])]
    lines.append(row(*["---"] * 4))
    lines += [
        row(use["use"], *(use[verdict] or "–" for verdict in NAMED[:3]))
        for use in result.extra("uses").records
    ]
    return "\n".join(lines)


def matrix(results: Sequence[Result]) -> str:
    """A row a metric, a column a use, as the command prints it; below, how robust it is."""
    result = results[0].read()
    lines = ["| | " + " | ".join(use["use"] for use in result.extra("uses").records) + " |"]
    lines.append("|---|" + ":---:|" * len(result.extra("uses").rows))
    rows: dict[str, list[str]] = {}
    for cell in result.extra("cells").records:
        rows.setdefault(cell["metric"], []).append(SHOWN[cell["verdict"]])
    lines += [row(metric, *verdicts) for metric, verdicts in rows.items()]
    changes = result.extra("robustness").records
    changed = "; ".join(f"{one['change']} {one['verdicts']}" for one in changes)
    after = f"Verdicts that change, of {changes[0]['of'] if changes else 0}: {changed}."
    after += f" On {result.dataset}."
    missing = [i["item"] for i in result.extra("items").records if i["status"] == "missing"]
    if missing:
        after += f" Missing: {', '.join(missing)}."
    return "\n".join([*lines, "", after])


TABLES = (
    Table("trust-uses", (BATTERY,), uses, show=False),
    Table("trust-matrix", (BATTERY,), matrix),
)
