"""LaTeX tables for papers: booktabs' rules, and no wider than a column or a page.

LaTeX shrinks a table that is wider than its line; one that is longer than a page is divided into
several. The preamble needs `\\usepackage{booktabs,graphicx}`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Literal

Cell = tuple[str, bool, str, float | None]  # text, whether it is bold, mark
Width = Literal["auto", "column", "page"]
Groups = Sequence[Sequence[Sequence[Cell]]]  # of rows, with a rule between two groups

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


def tables(
    heads: Sequence[str],
    groups: Groups,
    caption: str,
    notes: Sequence[str] = (),
    width: Width = "auto",
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
    shown_heads = [_head(head, side) for head, side in zip(lines, sides, strict=True)]
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
            _line(shown_heads),
        ]
        for group in part:
            made += [r"\midrule", *(_line(map(_cell, row)) for row in group)]
        made += [r"\bottomrule", r"\end{tabular}}"]
        if k == len(parts) - 1:
            made += [rf"\par\smallskip {{{note}\par}}" for note in notes]
        made += [rf"\end{{{name}}}", ""]
    return "\n".join(made)


def note(marks: Sequence[tuple[str, str]]) -> str:
    """What the marks mean."""
    return r"\footnotesize " + "; ".join(f"{latex(mark)} {latex(text)}" for mark, text in marks)


def signature_note(signatures: Sequence[tuple[str, str]]) -> str:
    """The signatures of the scores, a line each, which may be broken at their bars; of paths the
    last part."""
    lines = [f"{latex(name)}: {latex(_FOLDERS.sub('', text))}" for name, text in signatures]
    shown = "\\newline\n".join(["Signatures.", *lines])
    return r"\scriptsize\raggedright " + shown.replace(r"\textbar{}", r"\textbar{}\allowbreak ")


def _parts(groups: Groups) -> list[list[list[Sequence[Cell]]]]:
    """The groups of rows, divided where they are higher than a page."""
    parts: list[list[list[Sequence[Cell]]]] = [[]]
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


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _head(lines: Sequence[str], side: str) -> str:
    if len(lines) == 1:
        return latex(lines[0])
    return rf"\shortstack[{side}]{{" + r"\\".join(map(latex, lines)) + "}"


def _cell(cell: Cell) -> str:
    text, bold, mark = cell[:3]
    return (rf"\textbf{{{latex(text)}}}" if bold else latex(text)) + latex(mark)
