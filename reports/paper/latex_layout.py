"""LaTeX tables that fit a column or a page of a two-column paper at a size that can be read.

Widths are estimated from the letters of the cells. A table that fits neither a column nor a page is
divided into panels of columns, each with the first column again, and one that is higher than a page
into several tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Cell = tuple[str, bool, str, float | None]  # text, whether it is bold, mark
Width = Literal["auto", "column", "page"]

# an ACL paper: \textwidth 455 pt, \columnsep 17 pt, 11 pt; other two-column styles are like it
PAGE, COLUMN = 455.0, 219.0
GAP = 3.0  # \tabcolsep
_LETTER = 0.53  # mean width of letters and digits, in sizes of the font
_RESERVE = 0.98  # the share of a line that estimated widths may fill
_LINES = 42  # of a table, which fit a page with caption and notes
_PARAGRAPH = 26  # letters, from which a column of words is set as paragraphs
_NARROWEST = 50.0  # pt, of a column of paragraphs
_INTERVAL = re.compile(r"([−\d.,%]+) ([\[(].*\d.*[\])])")
_ESCAPED = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$",
    ">": "$>$", "ρ": r"$\rho$", "τ": r"$\tau$", "ε": r"$\varepsilon$", "β": r"$\beta$", "−": "$-$",
    "–": "--", "→": r"$\rightarrow$", "≥": r"$\geq$", "±": r"$\pm$", "×": r"$\times$",
    "σ": r"$\sigma$", "≈": r"$\approx$",
    "Δ": r"$\Delta$", "†": r"$^\dagger$", "‡": r"$^\ddagger$", "§": r"$^\S$", "¶": r"$^\P$",
    "‖": r"$^\|$",
}  # fmt: skip


class Size(NamedTuple):
    """A size of LaTeX in an 11 pt paper: its command, and its points."""

    command: str
    points: float


SMALL, FOOTNOTE, SCRIPT = Size(r"\small", 10), Size(r"\footnotesize", 9), Size(r"\scriptsize", 8)


@dataclass(frozen=True)
class Column:
    """How a column is set: its head in lines, its width in letters, whether it is words."""

    head: tuple[str, ...]
    letters: float
    words: bool
    longest: int  # letters of the longest cell

    @property
    def paragraphs(self) -> bool:
        """Whether its cells are broken into lines."""
        return self.words and self.longest > _PARAGRAPH


class Layout(NamedTuple):
    """Where and how large a table is set: panels of column numbers, widths of paragraphs in pt."""

    page: bool
    size: Size
    panels: tuple[tuple[int, ...], ...]
    stacked: bool
    paragraph: float


def latex(text: str) -> str:
    """A text with what LaTeX would take for commands escaped, and signs as LaTeX writes them."""
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def layout(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], width: Width = "auto"
) -> tuple[Layout, list[Column]]:
    """The place, size and panels of a table: the largest size in which it fits.

    Intervals are below their numbers where they would not fit next to them.
    """
    places = {"auto": (COLUMN, PAGE), "column": (COLUMN,), "page": (PAGE,)}[width]
    tries = [
        (line, size, stacked)
        for line in places
        for size in ((SMALL, FOOTNOTE) if line == COLUMN else (SMALL, FOOTNOTE, SCRIPT))
        for stacked in (False, True)
    ]
    everything = tuple(range(len(heads)))
    for line, size, stacked in tries:
        columns = _columns(heads, rows, stacked)
        if (paragraph := _fits(columns, everything, line, size)) is not None:
            return Layout(line == PAGE, size, (everything,), stacked, paragraph), columns
    line, columns = places[-1], _columns(heads, rows, True)
    panels = _panels(columns, line, FOOTNOTE)
    widths = [_fits(columns, panel, line, FOOTNOTE) or _NARROWEST for panel in panels]
    return Layout(line == PAGE, FOOTNOTE, panels, True, min(widths)), columns


def tables(
    heads: Sequence[str],
    groups: Sequence[Sequence[Sequence[Cell]]],
    caption: str,
    notes: Sequence[str] = (),
    width: Width = "auto",
) -> str:
    """A table, or several of one caption, in LaTeX; `\\usepackage{array,booktabs}`."""
    rows = [row for group in groups for row in group]
    chosen, columns = layout(heads, rows, width)
    bodies = [
        (panel, part) for panel in chosen.panels for part in _parts(groups, columns, panel, chosen)
    ]
    name = "table*" if chosen.page else "table"
    lines = [r"% needs \usepackage{array,booktabs}"]
    height, first = 0.0, True
    for k, (panel, part) in enumerate(bodies):
        needed = _height(part, columns, panel, chosen) + len(columns[panel[0]].head)
        if k == 0 or height + needed > _LINES:
            if k:
                lines += [rf"\end{{{name}}}", ""]
            whole = caption if first else f"{caption.rstrip('.')}, continued."
            lines += [
                rf"\begin{{{name}}}[t]",
                r"\centering",
                rf"\caption{{{latex(whole)}}}",
                rf"{chosen.size.command}\setlength{{\tabcolsep}}{{{GAP:g}pt}}",
            ]
            height, first = 0.0, False
        else:
            lines += ["", r"\medskip"]
        height += needed
        lines += _tabular(part, columns, panel, chosen)
    lines += ["", *(rf"\smallskip {{{note}\par}}" for note in notes)] if notes else []
    return "\n".join([*lines, rf"\end{{{name}}}", ""])


def note(marks: Sequence[tuple[str, str]]) -> str:
    """What the marks mean."""
    return r"\footnotesize " + "; ".join(f"{latex(mark)} {latex(text)}" for mark, text in marks)


def signature_note(signatures: Sequence[tuple[str, str]]) -> str:
    """The signatures of the scores, which may be broken at their bars."""
    shown = "; ".join(
        f"{latex(name)}: {latex(signature).replace('|', '|' + chr(92) + 'allowbreak ')}"
        for name, signature in signatures
    )
    return rf"\scriptsize\raggedright Signatures. {shown}."


def _columns(heads: Sequence[str], rows: Sequence[Sequence[Cell]], stacked: bool) -> list[Column]:
    columns = []
    for k, head in enumerate(heads):
        texts = [row[k][0] for row in rows]
        numbers = sum(text[:1] in "0123456789.+−–<>" for text in texts)
        words = k == 0 or 2 * numbers < len(texts)
        cells = max((_letters(row[k], stacked) for row in rows), default=0.0)
        lines = _broken(head, max(cells, 7))
        letters = max([cells, *(float(len(line)) for line in lines)])
        longest = max((len(text) for text in texts), default=0)
        columns.append(Column(tuple(lines), letters, words, longest))
    return columns


def _letters(cell: Cell, stacked: bool) -> float:
    """The width of a cell in letters, bold ones being wider; an interval may stand below."""
    text, bold, mark = cell[:3]
    match = _INTERVAL.fullmatch(text) if stacked else None
    factor = 1.12 if bold else 1.0
    if match is None:
        return factor * len(text) + 0.8 * len(mark)
    return max(factor * len(match[1]) + 0.8 * len(mark), 0.8 * len(match[2]))


def _broken(head: str, width: float) -> list[str]:
    """A head in lines, none longer than the column where its words allow it."""
    lines: list[str] = []
    for word in head.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _fits(columns: Sequence[Column], panel: Sequence[int], line: float, size: Size) -> float | None:
    """The width of paragraphs with which the columns fit the line; `None` where they do not."""
    letter = _LETTER * size.points
    chosen = [columns[k] for k in panel]
    gaps = 2 * GAP * (len(chosen) - 1)
    fixed = sum(letter * c.letters for c in chosen if not c.paragraphs)
    several = sum(c.paragraphs for c in chosen)
    rest = _RESERVE * line - gaps - fixed
    if not several:
        return 0.0 if rest >= 0 else None
    width = rest / several
    longest = max(c.longest for c in chosen if c.paragraphs) * letter
    return min(width, longest) if width >= max(_NARROWEST, longest / 8) else None


def _panels(columns: Sequence[Column], line: float, size: Size) -> tuple[tuple[int, ...], ...]:
    """The columns in panels that fit the line, each with the first column, of equal size."""
    most = len(columns) - 1
    for several in range(2, most + 1):
        size_of = math.ceil(most / several)
        panels = tuple(
            (0, *range(start, min(start + size_of, len(columns))))
            for start in range(1, len(columns), size_of)
        )
        if all(_fits(columns, panel, line, size) is not None for panel in panels):
            return panels
    return tuple((0, k) for k in range(1, len(columns)))


def _lines_of(row: Sequence[Cell], columns: Sequence[Column], panel: Sequence[int],
              chosen: Layout) -> float:  # fmt: skip
    """The height of a row in lines."""
    letter = _LETTER * chosen.size.points
    height = 1.0
    for k in panel:
        if columns[k].paragraphs:
            height = max(height, math.ceil(1.1 * len(row[k][0]) * letter / chosen.paragraph))
        elif chosen.stacked and _INTERVAL.fullmatch(row[k][0]):
            height = max(height, 1.7)
    return height


def _height(
    groups: Sequence[Sequence[Sequence[Cell]]],
    columns: Sequence[Column],
    panel: Sequence[int],
    chosen: Layout,
) -> float:
    return sum(_lines_of(row, columns, panel, chosen) for group in groups for row in group) + 1


def _parts(
    groups: Sequence[Sequence[Sequence[Cell]]],
    columns: Sequence[Column],
    panel: Sequence[int],
    chosen: Layout,
) -> Iterator[list[list[Sequence[Cell]]]]:
    """The groups of rows, divided where they are higher than a page."""
    part: list[list[Sequence[Cell]]] = []
    height = 0.0
    for group in groups:
        part.append([])
        for row in group:
            lines = _lines_of(row, columns, panel, chosen)
            if height and height + lines > _LINES - 4:
                yield [g for g in part if g]
                part, height = [[]], 0.0
            part[-1].append(row)
            height += lines
    yield [g for g in part if g]


def _tabular(
    groups: Sequence[Sequence[Sequence[Cell]]],
    columns: Sequence[Column],
    panel: Sequence[int],
    chosen: Layout,
) -> list[str]:
    def letters(k: int) -> str:
        if columns[k].paragraphs:
            return rf">{{\raggedright\arraybackslash}}p{{{math.floor(chosen.paragraph)}pt}}"
        return "l" if columns[k].words else "r"

    specification = "@{}" + "".join(map(letters, panel)) + "@{}"
    lines = [
        rf"\begin{{tabular}}{{{specification}}}",
        r"\toprule",
        " & ".join(_head(columns[k]) for k in panel) + r" \\",
    ]
    for group in groups:
        lines.append(r"\midrule")
        lines += [
            " & ".join(_cell(row[k], chosen.stacked) for k in panel) + r" \\" for row in group
        ]
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _head(column: Column) -> str:
    if len(column.head) == 1:
        return latex(column.head[0])
    side = "l" if column.words else "r"
    lines = r"\\".join(map(latex, column.head))
    return rf"\shortstack[{side}]{{{lines}}}"


def _cell(cell: Cell, stacked: bool) -> str:
    """A cell; where they are stacked, its interval below its number."""
    text, bold, mark = cell[:3]
    match = _INTERVAL.fullmatch(text) if stacked else None
    number = latex(match[1] if match else text)
    shown = (rf"\textbf{{{number}}}" if bold else number) + latex(mark)
    if match is None:
        return shown
    return (
        rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{shown}\\[-.4ex]"
        rf"{{\scriptsize {latex(match[2])}}}\end{{tabular}}"
    )
