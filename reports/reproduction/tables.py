"""The table of reproduced values as text, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.paper.latex_layout import latex
from metaeval.reports.reproduction.cells import value_cells
from metaeval.results.reproduction import ReproducedItem, ReproducedValue, summary
from metaeval.runs.csv_text import csv_text

Items = Sequence[ReproducedItem]
HEADS = ("paper", "item", "metric", "cell", "published", "ours", "difference", "verdict", "reason")


def to_text(items: Items) -> str:
    """Columns of equal width; the reason at the end of a line."""
    cells = [_cells(value) for value in _values(items)]
    widths = [max(len(head), *(len(c[k]) for c in cells)) for k, head in enumerate(HEADS)]
    lines = [HEADS, *cells]
    text = ["  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([*(line.rstrip() for line in text), summary(_values(items)), ""])


def to_csv(items: Items) -> str:
    """All numbers in full."""
    rows = (
        (v.paper, v.item, v.column, v.cell, v.published, v.ours, v.difference, v.verdict, v.reason)
        for v in _values(items)
    )
    return csv_text([HEADS, *rows])


def to_latex(items: Items) -> str:
    """A longtable with booktabs' rules; reasons are left out."""
    lines = [
        r"% needs \usepackage{booktabs,longtable}",
        r"\begin{longtable}{llllrrrl}",
        r"\toprule",
        " & ".join(HEADS[:-1]) + r" \\",
        r"\midrule",
        r"\endhead",
    ]
    lines += [" & ".join(map(latex, _cells(value)[:-1])) + r" \\" for value in _values(items)]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def _values(items: Items) -> list[ReproducedValue]:
    return [value for item in items for value in item.values]


def _cells(value: ReproducedValue) -> tuple[str, ...]:
    return (value.paper, value.item, *value_cells(value))
