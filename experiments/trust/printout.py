"""What a finished run of `experiment=trust` prints."""

from __future__ import annotations

from pathlib import Path

from metaeval.experiments.text_table import text_table
from metaeval.results.trust import SHOWN, TrustResult


def printout(result: TrustResult, file: Path) -> str:
    """The matrix, one sentence a use, how robust it is, and what is missing."""
    rows = [
        {"metric": m.name} | {u.id: SHOWN[m.numbers.cells[u.id].verdict] for u in result.uses}
        for m in result.judged
    ]
    lines = [*text_table(rows, ""), ""]
    lines += [result.sentence(use) for use in result.uses]
    if result.robustness_sentence:
        lines.append(result.robustness_sentence)
    for item in result.items:
        if item.status == "missing":
            lines.append(f"missing: {item.id}: {item.reason}; {item.command}")
    for m in result.metrics:
        if not m.ok:
            lines.append(f"{m.name} {m.status}: {m.reason}")
    lines.append(f"report: {file}" if file.suffix == ".html" else f"result: {file}")
    return "\n".join(lines)
