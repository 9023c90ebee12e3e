"""Tables for papers: `tables/NAME.tex` (booktabs), `.md` and `.csv` next to a run's report.

A cell may be bold and have a mark that a note below the table explains. LaTeX and Markdown may
leave out columns that CSV has, and leave out empty ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from metaeval.options import unknown
from metaeval.reports.shared.formatting import DASH
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from metaeval.runs.files import csv_text
from metaeval.runs.print_style import style

PART = f"{DASH} "  # before the name of a score that is a part of the one above
_DECIMAL = re.compile(r"(?<![\d.])([+−]?)(\d+)\.(\d+)(?![\d.]*%)")
_ENTITY = re.compile(r"&(?=#?\w+;)")  # what would be shown as another letter
_MARKDOWN = {"<": "&lt;", ">": "&gt;", "|": r"\|", "\n": " "}


def scale_numbers(text: str) -> str:
    """A text with its decimal numbers, except percentages, multiplied by the style's scale.

    >>> from metaeval.runs.print_style import PrintStyle, print_style
    >>> with print_style(PrintStyle(scale=100)):
    ...     [scale_numbers(text) for text in ("0.324 [0.301, 0.350]", "−0.50", "32.4%", "12")]
    ['32.4 [30.1, 35.0]', '−50.0', '32.4%', '12']
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
    chosen = [0]
    for name in style().columns:
        if _column_key(name) not in keys:
            raise unknown("report.columns", "column", name, table.heads[1:])
        chosen.append(keys.index(_column_key(name)))
    return table.with_columns(list(dict.fromkeys(chosen)))


def _column_key(head: str) -> str:
    spelt = head.replace("ρ", "rho").replace("τ", "tau").replace("Δ", "delta")
    return re.sub(r"[\s_-]+", "", spelt.partition(" (")[0].lower())


def with_scores_of(table: PrintTable, result: MeasuredResult) -> PrintTable:
    """The table with the signatures of the scores that it names, and with the names of all scores
    that `report.main` leaves out."""
    known = {m.name: m.signature for m in result.metrics if m.signature and not m.column.control}
    rows = [row for group in table.groups for row in group]
    names = dict.fromkeys([*(name for row in rows for name in table.names_in(row)), *table.heads])
    columns = [m.column for m in result.metrics]
    return table._replace(
        signatures=[(name, known[name]) for name in names if name in known],
        further=frozenset(c.name for c in columns if not (c.is_ranked and c.headline)),
    )


class PrintCell(NamedTuple):
    """A cell of a table for print: its text, whether it is bold, a mark, and what it sorts by."""

    text: str
    best: bool = False
    mark: str = ""
    number: float | None = None


Row = Sequence[PrintCell]


class PrintTable(NamedTuple):
    """A table for print.

    `groups` are its rows, parted by rules; `notes` what the marks mean; `in_full` the numbers of
    the columns that CSV alone has; `signatures` those of the scores, for LaTeX; `further` the names
    of scores that are not the main one of a metric; `n_names` how many cells of a row are names.
    """

    name: str
    caption: str
    heads: Sequence[str]
    groups: Sequence[Sequence[Sequence[PrintCell]]]
    notes: Sequence[tuple[str, str]] = ()
    in_full: Collection[int] = ()
    signatures: Sequence[tuple[str, str]] = ()
    further: frozenset[str] = frozenset()
    n_names: int = 1

    def names_in(self, row: Sequence[PrintCell]) -> list[str]:
        """The names that a row begins with."""
        return [cell.text.removeprefix(PART) for cell in row[: self.n_names]]

    def with_columns(self, chosen: Sequence[int]) -> PrintTable:
        """The table with these columns, in this order."""
        groups = [[[row[k] for k in chosen] for row in group] for group in self.groups]
        in_full = [place for place, k in enumerate(chosen) if k in self.in_full]
        return self._replace(heads=[self.heads[k] for k in chosen], groups=groups, in_full=in_full)

    def exported(self) -> PrintTable:
        """The table for papers: with `report.main` without rows and columns of `further` scores."""
        if not style().main:
            return self
        table = self.with_columns(
            [k for k, head in enumerate(self.heads) if head not in self.further]
        )
        groups = [
            [row for row in group if self.further.isdisjoint(table.names_in(row))]
            for group in table.groups
        ]
        signatures = [pair for pair in self.signatures if pair[0] not in self.further]
        return table._replace(groups=[group for group in groups if group], signatures=signatures)

    def brief(self) -> PrintTable:
        """The table without the columns of `in_full` and empty ones, and without their notes."""
        rows = [row for group in self.groups for row in group]
        table = self.with_columns(
            [
                k
                for k in range(len(self.heads))
                if k not in self.in_full and not (rows and all(row[k].text == DASH for row in rows))
            ]
        )
        used = "".join(cell.mark for group in table.groups for row in group for cell in row)
        return table._replace(notes=[(mark, note) for mark, note in self.notes if mark in used])


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
        signatures |= table.exported().signatures
        for suffix, text in (
            ("tex", to_latex(table)),
            ("md", to_markdown(table)),
            ("csv", to_csv(table)),
        ):
            path = directory / files.TABLES / f"{table.name}.{suffix}"
            files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))
    if signatures:
        path = directory / files.TABLES / "signatures.tex"
        text = f"{{{_signature_note(list(signatures.items()))}\\par}}\n"
        files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))


HIGHLIGHT = "▸"


def is_highlighted(row: Row) -> bool:
    """Whether the style highlights the name that a row begins with."""
    return row[0].text.removeprefix(PART) in style().highlight


def highlighted_rows_first(groups: Sequence[Sequence[Row]]) -> list[Sequence[Row]]:
    """The groups with the rows that the style highlights as the first group."""
    first = [row for group in groups for row in group if is_highlighted(row)]
    others = [[row for row in group if not is_highlighted(row)] for group in groups]
    return [group for group in (first, *others) if group]


def highlighted(table: PrintTable) -> PrintTable:
    """The table with a mark before the names that the style highlights."""
    if not any(is_highlighted(row) for group in table.groups for row in group):
        return table
    groups = [
        [
            [row[0]._replace(text=f"{HIGHLIGHT} {row[0].text}"), *row[1:]]
            if is_highlighted(row)
            else row
            for row in group
        ]
        for group in table.groups
    ]
    return table._replace(groups=groups, notes=[*table.notes, (HIGHLIGHT, "highlighted")])


def to_latex(table: PrintTable) -> str:
    """LaTeX tables with booktabs' rules; `\\usepackage{booktabs,graphicx}` and they compile.

    As wide as a column or, where it does not fit, a page of a two-column paper (`report.width`);
    the signatures of the scores below it if the style has them there (`report.signatures`).
    """
    table = highlighted(table.exported().brief())
    notes = [_latex_note(table.notes)] if table.notes else []
    if table.signatures and style().signatures:
        notes.append(_signature_note(table.signatures))
    return _latex_tables(table.heads, table.groups, table.caption, notes, style().width)


def to_markdown(table: PrintTable) -> str:
    """A Markdown table, its caption before it and its notes behind it."""
    table = highlighted(table.exported().brief())
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
    table = table.exported()
    rows = [[f"{c.text}{c.mark}" for c in row] for group in table.groups for row in group]
    return csv_text([table.heads, *rows])


def markdown(text: str) -> str:
    """A text as Markdown shows it: no HTML, no end of a cell, no emphasis."""
    text = _ENTITY.sub("&amp;", text)
    return "".join(_MARKDOWN.get(letter, letter) for letter in text)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


# LaTeX: booktabs' rules, and no wider than a column or a page.
#
# LaTeX shrinks a table that is wider than its line; one that is longer than a page is divided into
# several. The preamble needs `\usepackage{booktabs,graphicx}`.

_COLUMN = 42  # letters, with two a gap, in a line of one of two columns
_PARAGRAPH = 30  # letters, from which a text is broken into lines
_HEIGHT = 40  # lines of a table, which fit a page with the caption
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": "$<$",
    ">": "$>$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "ε": r"$\varepsilon$",
    "β": r"$\beta$",
    "σ": r"$\sigma$",
    "Δ": r"$\Delta$",
    "−": "$-$",
    "–": "--",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "▸": r"$\triangleright$",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "§": r"$^\S$",
    "¶": r"$^\P$",
    "‖": r"$^\|$",
}
_FOLDERS = re.compile(r"(?<![\w./])(?:~|[A-Za-z]:)?[/\\](?:[^/\\|;,\s]+[/\\])+")  # of a path


def latex(text: str) -> str:
    """A text with what LaTeX would take for commands escaped, and signs as LaTeX writes them."""
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def _latex_tables(
    heads: Sequence[str],
    groups: Sequence[Sequence[Row]],
    caption: str,
    notes: Sequence[str],
    width: str,
) -> str:
    """A table, or several of one caption where a page does not hold all rows."""
    rows = [row for group in groups for row in group]
    texts = [[row[k][0] for row in rows] for k in range(len(heads))]
    lengths = [max(map(len, column), default=0) for column in texts]
    lines = [
        wrap(head, max(8, length), break_long_words=False, break_on_hyphens=False) or [""]
        for head, length in zip(heads, lengths, strict=True)
    ]
    letters = [
        min(_PARAGRAPH, max([length, *map(len, head)]))
        for head, length in zip(lines, lengths, strict=True)
    ]
    page = width == "page" or (width == "auto" and sum(letters) + 2 * len(letters) > _COLUMN)
    name = "table*" if page else "table"
    sides = []
    for k, column in enumerate(texts):
        numbers = sum(text[:1] in "0123456789.+−–<>" for text in column)
        sides.append("l" if k == 0 or 2 * numbers < len(column) else "r")
    shown_heads = [_latex_head(head, side) for head, side in zip(lines, sides, strict=True)]
    specification = "".join(
        rf"p{{{_PARAGRAPH // 2}em}}" if length > _PARAGRAPH else side
        for side, length in zip(sides, lengths, strict=True)
    )
    made = [r"% needs \usepackage{booktabs,graphicx}"]
    parts = _parts(groups)
    for k, part in enumerate(parts):
        shown_caption = f"{caption.rstrip('.')}, continued." if k else caption
        made += [
            rf"\begin{{{name}}}[t]",
            r"\centering",
            rf"\caption{{{latex(shown_caption)}}}",
            r"\small\setlength{\tabcolsep}{3pt}",
            _FIT,
            rf"\begin{{tabular}}{{@{{}}{specification}@{{}}}}",
            r"\toprule",
            _latex_line(shown_heads),
        ]
        for group in part:
            made += [r"\midrule", *(_latex_line(map(_latex_cell, row)) for row in group)]
        made += [r"\bottomrule", r"\end{tabular}}"]
        if k == len(parts) - 1:
            made += [rf"\par\smallskip {{{note}\par}}" for note in notes]
        made += [rf"\end{{{name}}}", ""]
    return "\n".join(made)


def _latex_note(marks: Sequence[tuple[str, str]]) -> str:
    """What the marks mean."""
    return r"\footnotesize " + "; ".join(f"{latex(mark)} {latex(text)}" for mark, text in marks)


def _signature_note(signatures: Sequence[tuple[str, str]]) -> str:
    """The signatures of the scores, a line each, which may be broken at their bars; of paths the
    last part."""
    lines = [f"{latex(name)}: {latex(_FOLDERS.sub('', text))}" for name, text in signatures]
    shown = "\\newline\n".join(["Signatures.", *lines])
    return r"\scriptsize\raggedright " + shown.replace(r"\textbar{}", r"\textbar{}\allowbreak ")


def _parts(groups: Sequence[Sequence[Row]]) -> list[list[list[Row]]]:
    """The groups of rows, divided where they are higher than a page."""
    parts: list[list[list[Row]]] = [[]]
    height = 0
    for group in groups:
        parts[-1].append([])
        for row in group:
            lines = max(math.ceil(len(text) / _PARAGRAPH) for text, *_ in row)
            if height and height + lines > _HEIGHT:
                parts.append([[]])
                height = 0
            parts[-1][-1].append(row)
            height += lines
    return [[group for group in part if group] for part in parts]


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_head(lines: Sequence[str], side: str) -> str:
    if len(lines) == 1:
        return latex(lines[0])
    return rf"\shortstack[{side}]{{" + r"\\".join(map(latex, lines)) + "}"


def _latex_cell(cell: PrintCell) -> str:
    text, bold, mark = cell[:3]
    return (rf"\textbf{{{latex(text)}}}" if bold else latex(text)) + latex(mark)
