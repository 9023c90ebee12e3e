"""Which differences between a document and a run `--check` accepts.

Scores of networks differ between processors in their last digits, and their columns declare a
precision (`ScoreColumn.precision`). In a cell whose row or column is named after such a column, a
decimal number may differ by one unit of its last printed digit. All other cells are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.numbers.tables import Result
from metaeval.results.files import read_result
from metaeval.runs import files

_NUMBER = re.compile(r"\d*\.\d+")
_MARKS = "*¹²³ "  # italics of controls, footnotes
_ROUNDING = 1e-6  # of the subtraction, in units of the last digit


def network_columns(results: Iterable[Result]) -> frozenset[str]:
    """The names of the columns whose scores pass through a network."""
    paths = (result.folder / files.STATISTICS for result in results)
    runs = [read_result(path) for path in paths if path.is_file()]
    return frozenset(
        m.column.name for run in runs for m in run.metrics if m.column.precision is not None
    )


def accept(old: str, new: str, networks: frozenset[str]) -> str:
    """The new text, with the old cells where they differ from the new ones within the tolerance."""
    lines, others = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(lines) != len(others):
        return new
    head: list[str] = []
    accepted = []
    for before, after in zip(lines, others, strict=True):
        cells, changed = before.split("|"), after.split("|")
        if len(cells) < 3 or len(cells) != len(changed):
            head = []
            accepted.append(after)
            continue
        head = head or changed
        row = changed[1].strip(_MARKS) in networks
        for i in range(2, len(cells)):
            if (row or head[i].strip(_MARKS) in networks) and _close(cells[i], changed[i]):
                changed[i] = cells[i]
        accepted.append("|".join(changed))
    return "".join(accepted)


def _close(old: str, new: str) -> bool:
    """Whether two cells differ in decimal numbers alone, each by one unit of its last digit."""
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    for a, b in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True):
        digits = len(a.partition(".")[2])
        if digits != len(b.partition(".")[2]):
            return False
        if abs(float(a) - float(b)) * 10**digits > 1 + _ROUNDING:
            return False
    return True
