"""Tables for papers: `tables/NAME.tex` (booktabs), `.md` and `.csv` next to a run's report.

The best result of a column is bold. Parts are indented under their metric, controls stand below a
rule, a metric that did not run is left out, and what a cell notes ("below control") is a mark that
is explained below the table; a note with a number in it ("12% in image") stands in the cell. LaTeX
and Markdown may leave out columns that CSV has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from metaeval.errors import ConfigError
from metaeval.reports.paper import latex_layout
from metaeval.reports.shared.elements import Row
from metaeval.reports.shared.formatting import DASH, file_stem
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.run import RunResult
from metaeval.runs import files
from metaeval.runs.csv_text import csv_text
from metaeval.runs.print_style import style

MARKS = "†‡§¶‖"  # one per kind of note
TESTED = "Bold: the best metrics, which no test separates."
# columns of which no value is the best, and of which the lowest is
_UNRANKED = frozenset({"metric", "ties", "n", "paper", "delta", "offset", "auc", "gain", "common"})
_LOWER = frozenset({"inversions"})
_DECIMAL = re.compile(r"(?<![\d.])([+−]?)(\d+)\.(\d+)(?![\d.]*%)")
_ENTITY = re.compile(r"&(?=#?\w+;)")  # what would be shown as another letter
_MARKDOWN = {"<": "&lt;", ">": "&gt;", "|": r"\|", "\n": " "}


def scaled(text: str) -> str:
    """A text with its decimal numbers, except percentages, multiplied by the style's scale.

    >>> from metaeval.runs.print_style import PrintStyle, print_style
    >>> with print_style(PrintStyle(scale=100)):
    ...     scaled("0.324 [0.301, 0.350]"), scaled("−0.50"), scaled("32.4%"), scaled("12")
    ('32.4 [30.1, 35.0]', '−50.0', '32.4%', '12')
    """
    scale = style().scale
    if scale == 1 or any(letter.isalpha() for letter in text):
        return text

    def times(match: re.Match[str]) -> str:
        digits = max(1, len(match[3]) - round(math.log10(scale)))
        return f"{match[1]}{scale * float(f'{match[2]}.{match[3]}'):.{digits}f}"

    return _DECIMAL.sub(times, text)


def chosen_columns(table: PrintTable) -> PrintTable:
    """The table with the columns that the style names, the first one always; and its scale.

    Raises ConfigError for a column that the table does not have.
    """
    caption = table.caption
    if style().scale != 1:
        caption = f"{caption} Scores and correlations times {style().scale}."
    table = table._replace(caption=caption)
    if not style().columns:
        return table
    keys = [_column_key(head) for head in table.heads]
    kept = [0]
    for name in style().columns:
        if _column_key(name) not in keys:
            known = ", ".join(table.heads[1:])
            raise ConfigError(f"report.columns: there is no column '{name}'; choose from {known}")
        kept.append(keys.index(_column_key(name)))
    kept = list(dict.fromkeys(kept))
    groups = [[[row[k] for k in kept] for row in group] for group in table.groups]
    return table._replace(heads=[table.heads[k] for k in kept], groups=groups)


def _column_key(head: str) -> str:
    spelt = head.replace("ρ", "rho").replace("τ", "tau").replace("Δ", "delta")
    return re.sub(r"[\s_-]+", "", spelt.partition(" (")[0].lower())


def signed(tables: Iterable[PrintTable], result: RunResult[Any]) -> list[PrintTable]:
    """The tables with the signatures of their scores: those of metrics whose names they contain."""
    known = {m.name: m.signature for m in result.metrics if m.signature and not m.column.control}
    made = []
    for table in tables:
        names = dict.fromkeys([*(row[0].text for g in table.groups for row in g), *table.heads])
        shown = [(name, known[name]) for name in names if name in known]
        made.append(table._replace(signatures=shown))
    return made


class PrintCell(NamedTuple):
    """A cell of a table for print: its text, whether it is bold, a mark, and what it sorts by."""

    text: str
    best: bool = False
    mark: str = ""
    number: float | None = None


class PrintTable(NamedTuple):
    """A table for print.

    `groups` are its rows, parted by rules; `notes` what the marks mean; `in_full` the numbers of
    the columns that CSV alone has; `signatures` those of the scores, for LaTeX.
    """

    name: str
    caption: str
    heads: Sequence[str]
    groups: Sequence[Sequence[Sequence[PrintCell]]]
    notes: Sequence[tuple[str, str]] = ()
    in_full: Collection[int] = ()
    signatures: Sequence[tuple[str, str]] = ()

    def brief(self) -> PrintTable:
        """The table without the columns of `in_full` and empty ones, and without their notes."""
        rows = [row for group in self.groups for row in group]
        chosen = [
            k
            for k in range(len(self.heads))
            if k not in self.in_full and not (rows and all(row[k].text == DASH for row in rows))
        ]
        groups = [[[row[k] for k in chosen] for row in group] for group in self.groups]
        used = "".join(cell.mark for group in groups for row in group for cell in row)
        notes = [(mark, note) for mark, note in self.notes if mark in used]
        heads = [self.heads[k] for k in chosen]
        return self._replace(heads=heads, groups=groups, notes=notes, in_full=())


def print_tables(
    table: MetricsTable,
    name: str,
    caption: str,
    equal: Mapping[str, Collection[str]] | None = None,
    in_full: Collection[str] = (),
) -> list[PrintTable]:
    """A table of metrics for print, one for each choice of its switch.

    `equal` is choice → the metrics that no test separates from the best by the quoted statistic:
    they get a mark. `in_full` are the keys of the columns that CSV alone has.
    """
    tables = []
    for k, (choice, _) in enumerate(table.bodies):
        file = name if k == 0 else f"{name}-{file_stem(choice)}"
        one = _of_body(table, k, file, caption, (equal or {}).get(choice, ()))
        full = {head.name for head in table.heads if head.key in in_full}
        kept = () if style().columns else [k for k, name in enumerate(one.heads) if name in full]
        tables.append(one._replace(in_full=kept))
    return tables


def plain_table(
    name: str, caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]
) -> PrintTable:
    """A table of texts, nothing of it bold."""
    return PrintTable(name, caption, heads, [[[PrintCell(text) for text in row] for row in rows]])


def write_tables(directory: Path, tables: Iterable[PrintTable]) -> None:
    """Write each table as LaTeX, Markdown and CSV into the run's folder.

    `signatures.tex` has the signatures of all their scores.
    """
    signatures: dict[str, str] = {}
    for table in tables:
        signatures |= table.signatures
        for suffix, text in (
            ("tex", to_latex(table)),
            ("md", to_markdown(table)),
            ("csv", to_csv(table)),
        ):
            path = directory / files.TABLES / f"{table.name}.{suffix}"
            files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))
    if signatures:
        path = directory / files.TABLES / "signatures.tex"
        text = f"{{{latex_layout.signature_note(list(signatures.items()))}\\par}}\n"
        files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))


def to_latex(table: PrintTable) -> str:
    """LaTeX tables with booktabs' rules; `\\usepackage{booktabs,graphicx}` and they compile.

    As wide as a column or, where it does not fit, a page of a two-column paper (`report.width`);
    the signatures of the scores below it if the style has them there (`report.signatures`).
    """
    table = table.brief()
    notes = [latex_layout.note(table.notes)] if table.notes else []
    if table.signatures and style().signatures:
        notes.append(latex_layout.signature_note(table.signatures))
    return latex_layout.tables(table.heads, table.groups, table.caption, notes, style().width)


def to_markdown(table: PrintTable) -> str:
    """A Markdown table, its caption before it and its notes behind it."""
    table = table.brief()
    lines = [
        f"**{markdown(table.caption)}**",
        "",
        _markdown_row([markdown(head) for head in table.heads]),
        _markdown_row(["---", *["---:"] * (len(table.heads) - 1)]),
    ]
    for group in table.groups:
        for row in group:
            cells = [markdown(c.text) for c in row]
            marked = [
                f"**{text}**{c.mark}" if c.best else f"{text}{c.mark}"
                for text, c in zip(cells, row, strict=True)
            ]
            lines.append(_markdown_row(marked))
    if table.notes:
        lines += ["", "; ".join(f"{mark} {markdown(note)}" for mark, note in table.notes)]
    return "\n".join([*lines, ""])


def to_csv(table: PrintTable) -> str:
    """The texts as they are printed; the report's own CSV has all numbers in full."""
    rows = [[f"{c.text}{c.mark}" for c in row] for group in table.groups for row in group]
    return csv_text([table.heads, *rows])


def markdown(text: str) -> str:
    """A text as Markdown shows it: no HTML, no end of a cell, no emphasis."""
    text = _ENTITY.sub("&amp;", text)
    return "".join(_MARKDOWN.get(letter, letter) for letter in text)


def bold_best(
    rows: Sequence[Sequence[str]], values: Sequence[Sequence[float | None]], higher: Sequence[bool]
) -> list[list[PrintCell]]:
    """Cells [rows, columns] with the best value of each column bold; `None` is skipped."""
    best = []
    for column, upward in enumerate(higher):
        known = [v[column] for v in values if v[column] is not None]
        best.append((max if upward else min)(known, default=None))  # type: ignore[type-var]
    return [
        [
            PrintCell(text, value is not None and value == best[k])
            for k, (text, value) in enumerate(zip(texts, of_row, strict=True))
        ]
        for texts, of_row in zip(rows, values, strict=True)
    ]


def _of_body(
    table: MetricsTable, place: int, name: str, caption: str, equal: Collection[str]
) -> PrintTable:
    choice, body = table.bodies[place]
    rows = [row for row in body if row.kind != "absent"]
    best = {head.key: _best(rows, head.key) for head in table.heads if head.key not in _UNRANKED}
    marks: dict[str, str] = {}

    def marked(notes: Iterable[str]) -> str:
        return "".join(marks.setdefault(note, MARKS[len(marks) % len(MARKS)]) for note in notes)

    groups: list[list[list[PrintCell]]] = [[], [], [], []]
    for row in rows:
        cells = []
        for cell in row.cells:
            text = scaled(cell.printed or _plain(cell.text))
            if cell.key == "metric" and row.kind == "part":
                text = f"– {text}"
            notes = [cell.note] if cell.note else []
            if any(letter.isdigit() for letter in cell.note):
                text, notes = (text if cell.printed else f"{text} ({cell.note})"), []
            wins = row.kind == "result" and cell.value is not None
            bold = wins and cell.value == best.get(cell.key)
            if equal:
                bold = wins and cell.key == "rho" and (bold or row.metric in equal)
            cells.append(PrintCell(text, bold, marked(notes)))
        groups[{"trained": 1, "control": 2, "random": 3}.get(row.kind, 0)].append(cells)
    if len(table.bodies) > 1:
        caption = f"{caption.rstrip('.')} ({choice})."
    if equal:
        caption = f"{caption} {TESTED}"
    return chosen_columns(
        PrintTable(
            name,
            caption,
            [head.name for head in table.heads],
            [group for group in groups if group],
            [(mark, note) for note, mark in marks.items()],
        )
    )


def _best(rows: Sequence[Row], key: str) -> float | None:
    """The best value of a column among the metrics."""
    values = (
        cell.value
        for row in rows
        if row.kind == "result"
        for cell in row.cells
        if cell.key == key and isinstance(cell.value, int | float)
    )
    return (min if key in _LOWER else max)(values, default=None)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str | Markup) -> str:
    """A cell's text: of markup without its tags, of a plain text (a metric's name) all of it."""
    plain = text.striptags() if isinstance(text, Markup) else text
    return plain.strip() or DASH
