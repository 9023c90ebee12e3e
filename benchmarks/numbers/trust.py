"""The tables of experiment=trust: a sentence for each use, and the matrix of verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import row
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.results.trust import SHOWN, TrustResult

BATTERY = Command("-m metaeval experiment=trust")


def sentences(results: Sequence[Result]) -> str:
    """A row a use: its title, and the rest of its sentence."""
    result = results[0].read(TrustResult)
    lines = [row("to", f"`python {BATTERY.line}`, on {result.dataset}"), row("---", "---")]
    lines += [row(use.title, result.about(use)) for use in result.uses]
    return "\n".join(lines)


def matrix(results: Sequence[Result]) -> str:
    """A row a metric, a column a use, as the command prints it; below, how robust it is."""
    result = results[0].read(TrustResult)
    lines = ["| | " + " | ".join(use.title for use in result.uses) + " |"]
    lines.append("|---|" + ":---:|" * len(result.uses))
    for metric in result.judged:
        cells = [SHOWN[metric.numbers.cells[use.id].verdict] for use in result.uses]
        lines.append(row(metric.name, *cells))
    missing = ", ".join(i.id for i in result.items if i.status == "missing")
    after = [result.robustness_sentence, f"On {result.dataset}."]
    if missing:
        after.append(f"Missing: {missing}.")
    return "\n".join([*lines, "", " ".join(part for part in after if part)])


TABLES = (
    Table("trust-sentences", (BATTERY,), sentences, show=False),
    Table("trust-matrix", (BATTERY,), matrix),
)
