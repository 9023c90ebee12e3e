"""The table of reproduced values as text, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape

from metaeval.reports.paper.latex_layout import latex
from metaeval.reproduce.compare import ReproducedValue

HEADS = ("paper", "item", "metric", "cell", "published", "ours", "difference", "verdict", "reason")


def summary(rows: Sequence[ReproducedValue]) -> str:
    """How many values are equal, within, differ, and were not run."""
    counts = Counter(str(row.verdict) for row in rows)
    order = ("equal", "within", "differs", "other model", "not run")
    return f"{len(rows)} values: " + ", ".join(f"{counts[name]} {name}" for name in order)


def to_text(rows: Sequence[ReproducedValue]) -> str:
    """Columns of equal width; the reason at the end of a line."""
    cells = [_cells(row) for row in rows]
    widths = [max(len(head), *(len(c[k]) for c in cells)) for k, head in enumerate(HEADS)]
    lines = [HEADS, *cells]
    text = ["  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([*(line.rstrip() for line in text), summary(rows), ""])


def to_csv(rows: Sequence[ReproducedValue]) -> str:
    """All numbers in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADS)
    for r in rows:
        numbers = (r.published, r.ours, r.difference)
        writer.writerow([r.paper, r.item, r.column, r.cell, *numbers, r.verdict, r.reason])
    return out.getvalue()


def to_latex(rows: Sequence[ReproducedValue]) -> str:
    """A longtable with booktabs' rules; reasons are left out."""
    lines = [
        r"% needs \usepackage{booktabs,longtable}",
        r"\begin{longtable}{llllrrrl}",
        r"\toprule",
        " & ".join(HEADS[:-1]) + r" \\",
        r"\midrule",
        r"\endhead",
    ]
    lines += [" & ".join(map(latex, _cells(row)[:-1])) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def to_html(rows: Sequence[ReproducedValue]) -> str:
    """One page without scripts."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADS)
    body = "\n".join(
        f'<tr class="{row.verdict.replace(" ", "-")}">'
        + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row))
        + "</tr>"
        for row in rows
    )
    style = (
        "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;max-width:75rem}"
        "table{border-collapse:collapse}td,th{padding:.2rem .6rem;text-align:left;"
        "border-bottom:1px solid #ddd}td:nth-child(n+5):nth-child(-n+7){text-align:right;"
        "font-variant-numeric:tabular-nums}.equal td:nth-child(8),.within td:nth-child(8)"
        "{color:#1a6b2f}.differs td:nth-child(8){color:#a8322a}.not-run{color:#767d89}"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Reproduced values</title><style>{style}</style></head><body>\n"
        f"<h1>Reproduced values</h1>\n<p>{escape(summary(rows))}. The difference is in units of "
        "the declared uncertainty.</p>\n"
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></body></html>\n"
    )


FORMS: dict[str, Callable[[Sequence[ReproducedValue]], str]] = {
    "txt": to_text, "csv": to_csv, "tex": to_latex, "html": to_html,
}  # fmt: skip


def _cells(row: ReproducedValue) -> tuple[str, ...]:
    return (
        row.paper,
        row.item,
        row.column,
        row.cell,
        f"{row.published:g}",
        "" if row.ours is None else f"{row.ours:.4g}",
        "" if row.difference is None else f"{row.difference:+.1f}",
        row.verdict,
        row.reason,
    )
