"""CSV files for people: what a spreadsheet would take for a formula is written as text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?")


class CsvWriter:
    """Writes rows with line feeds; cells are those of `spreadsheet_cell`."""

    def __init__(self, out: TextIO) -> None:
        self._writer = csv.writer(out, lineterminator="\n")

    def writerow(self, row: Iterable[Any]) -> None:
        self._writer.writerow([spreadsheet_cell(cell) for cell in row])


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as the text of a CSV file."""
    out = io.StringIO()
    writer = CsvWriter(out)
    for row in rows:
        writer.writerow(row)
    return out.getvalue()


def spreadsheet_cell(value: Any) -> Any:
    """The value; a text that a spreadsheet would run as a formula gets an apostrophe before it.

    >>> [spreadsheet_cell(x) for x in ("=cmd()|A0", "-0.5", -0.5, "@name", "a dog")]
    ["'=cmd()|A0", '-0.5', -0.5, "'@name", 'a dog']
    """
    if not isinstance(value, str) or not value.lstrip(" ").startswith(_FORMULA):
        return value
    return value if _NUMBER.fullmatch(value.strip()) else f"'{value}"


def without_apostrophe(value: str) -> str:
    """The text that `spreadsheet_cell` wrote."""
    inner = value[1:]
    return inner if value.startswith("'") and spreadsheet_cell(inner) == value else value
