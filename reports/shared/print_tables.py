"""Tables for papers: `tables/NAME.tex` (booktabs), `.md` and `.csv` next to a run's report.

The best result of a column is bold. Parts are indented under their metric, controls stand below a
rule, a metric that did not run is left out, and what a cell notes ("below control") is a mark that
is explained below the table; a note with a number in it ("12% in image") stands in the cell. LaTeX
and Markdown may leave out columns that CSV has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from metaeval.reports.shared.elements import Row
from metaeval.reports.shared.formatting import DASH
from metaeval.reports.shared.table import MetricsTable
from metaeval.runs import files
from metaeval.runs.csv_text import csv_text

MARKS = "†‡§¶‖"  # one per kind of note
EQUAL = "not separated from the best by every test"
# columns of which no value is the best, and of which the lowest is
_UNRANKED = frozenset({"metric", "ties", "n", "paper", "delta", "offset", "auc", "gain", "common"})
_LOWER = frozenset({"inversions"})
_WIDE = 6  # columns
_LONG = 85  # letters
_STACKED = 3  # columns with intervals
_WITH_INTERVAL = re.compile(r"([−\d.,%]+) ([\[(].*\d.*[\])])")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$",
    ">": "$>$", "ρ": r"$\rho$", "τ": r"$\tau$", "ε": r"$\varepsilon$", "β": r"$\beta$", "−": "$-$",
    "–": "--", "→": r"$\rightarrow$", "≥": r"$\geq$", "±": r"$\pm$", "×": r"$\times$",
    "σ": r"$\sigma$", "≈": r"$\approx$",
    "Δ": r"$\Delta$", "†": r"$^\dagger$", "‡": r"$^\ddagger$", "§": r"$^\S$", "¶": r"$^\P$",
    "‖": r"$^\|$",
}  # fmt: skip


_ENTITY = re.compile(r"&(?=#?\w+;)")  # what would be shown as another letter
_MARKDOWN = {
    "<": "&lt;", ">": "&gt;", "|": r"\|", "\n": " ",
}  # fmt: skip


class PrintCell(NamedTuple):
    """A cell of a table for print: its text, whether it is the best of its column, a mark."""

    text: str
    best: bool = False
    mark: str = ""


class PrintTable(NamedTuple):
    """A table for print.

    `groups` are its rows, parted by rules; `notes` what the marks mean; `in_full` the numbers of
    the columns that CSV alone has.
    """

    name: str
    caption: str
    heads: Sequence[str]
    groups: Sequence[Sequence[Sequence[PrintCell]]]
    notes: Sequence[tuple[str, str]] = ()
    in_full: Collection[int] = ()

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
    columns = [k for k, head in enumerate(table.heads) if head.key in in_full]
    tables = []
    for k, (choice, _) in enumerate(table.bodies):
        file = name if k == 0 else f"{name}-{_file_name(choice)}"
        one = _of_body(table, k, file, caption, (equal or {}).get(choice, ()))
        tables.append(one._replace(in_full=columns))
    return tables


def plain_table(
    name: str, caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]
) -> PrintTable:
    """A table of texts, nothing of it bold."""
    return PrintTable(name, caption, heads, [[[PrintCell(text) for text in row] for row in rows]])


def write_tables(directory: Path, tables: Iterable[PrintTable]) -> None:
    """Write each table as LaTeX, Markdown and CSV into the run's folder."""
    for table in tables:
        for suffix, text in (
            ("tex", to_latex(table)),
            ("md", to_markdown(table)),
            ("csv", to_csv(table)),
        ):
            path = directory / files.TABLES / f"{table.name}.{suffix}"
            files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))


def to_latex(table: PrintTable) -> str:
    """A LaTeX table with booktabs' rules; `\\usepackage{booktabs,graphicx}` and it compiles.

    A wide one is set smaller, with less room between columns, and shrunk if it is still wider than
    the line; where most columns hold intervals, these stand below their numbers.
    """
    table = table.brief()
    wide = len(table.heads) > _WIDE or _longest(table) > _LONG
    cell = _stacked if _intervals(table) >= _STACKED else _latex_cell
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.caption)}}}",
        *([r"\footnotesize\setlength{\tabcolsep}{3.5pt}"] if wide else []),
        *([r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"] if wide else []),
        rf"\begin{{tabular}}{{{_columns(table)}}}",
        r"\toprule",
        " & ".join(map(_latex_head if wide else latex, table.heads)) + r" \\",
    ]
    for group in table.groups:
        lines.append(r"\midrule")
        lines += [" & ".join(map(cell, row)) + r" \\" for row in group]
    lines += [r"\bottomrule", r"\end{tabular}" + ("}" if wide else "")]
    if table.notes:
        notes = "; ".join(f"{latex(mark)} {latex(note)}" for mark, note in table.notes)
        lines += ["", rf"\smallskip {{\footnotesize {notes}}}"]
    return "\n".join([*lines, r"\end{table}", ""])


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


def latex(text: str) -> str:
    """A text with what LaTeX would take for commands escaped, and signs as LaTeX writes them."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


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
            text = cell.printed or _plain(cell.text)
            if cell.key == "metric" and row.kind == "part":
                text = f"– {text}"
            notes = [cell.note] if cell.note else []
            if any(letter.isdigit() for letter in cell.note):
                text, notes = (text if cell.printed else f"{text} ({cell.note})"), []
            if cell.key == "rho" and row.metric in equal:
                notes.append(EQUAL)
            wins = row.kind == "result" and cell.value is not None
            cells.append(PrintCell(text, wins and cell.value == best.get(cell.key), marked(notes)))
        groups[{"trained": 1, "control": 2, "random": 3}.get(row.kind, 0)].append(cells)
    if len(table.bodies) > 1:
        caption = f"{caption.rstrip('.')} ({choice})."
    return PrintTable(
        name,
        caption,
        [head.name for head in table.heads],
        [group for group in groups if group],
        [(mark, note) for note, mark in marks.items()],
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


def _columns(table: PrintTable) -> str:
    """LaTeX's letters: numbers to the right, the first column and words to the left."""
    letters = ["l"]
    for k in range(1, len(table.heads)):
        texts = [row[k].text for group in table.groups for row in group]
        numbers = sum(text[:1] in "0123456789.+−–<>" for text in texts)
        letters.append("r" if 2 * numbers >= len(texts) else "l")
    return "".join(letters)


def _intervals(table: PrintTable) -> int:
    """How many columns hold numbers with intervals."""
    rows = [row for group in table.groups for row in group]
    return sum(
        any(_WITH_INTERVAL.fullmatch(row[k].text) for row in rows) for k in range(len(table.heads))
    )


def _longest(table: PrintTable) -> int:
    """The letters of the longest row, each column as wide as its longest cell."""
    rows = [[c.text for c in row] for group in table.groups for row in group]
    return sum(max(map(len, column)) for column in zip(table.heads, *rows, strict=True))


def _latex_head(text: str) -> str:
    """The head of a column; what it has in brackets stands below."""
    name, _, rest = text.partition(" (")
    return rf"\shortstack{{{latex(name)}\\({latex(rest)}}}" if rest else latex(text)


def _stacked(cell: PrintCell) -> str:
    """A cell with its interval below its number."""
    match = _WITH_INTERVAL.fullmatch(cell.text)
    if match is None:
        return _latex_cell(cell)
    number, ends = latex(match[1]), latex(match[2])
    shown = rf"\textbf{{{number}}}" if cell.best else number
    return (
        rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{shown}{latex(cell.mark)}\\[-.3ex]"
        rf"{{\tiny {ends}}}\end{{tabular}}"
    )


def _latex_cell(cell: PrintCell) -> str:
    text = latex(cell.text)
    return (rf"\textbf{{{text}}}" if cell.best else text) + latex(cell.mark)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str | Markup) -> str:
    """A cell's text: of markup without its tags, of a plain text (a metric's name) all of it."""
    plain = text.striptags() if isinstance(text, Markup) else text
    return plain.strip() or DASH


def _file_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
