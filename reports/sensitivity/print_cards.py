"""The trust cards for print: `figures/METRIC-card.svg` and `tables/METRIC-card.tex`, .md, .csv."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape
from itertools import groupby
from pathlib import Path

from metaeval.reports.sensitivity.profile import Metric, card_stem, shown
from metaeval.reports.shared.formatting import capital, count, interval, number
from metaeval.reports.shared.print_tables import PrintCell, PrintTable, write_tables
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.sensitivity import SensitivityCell, SensitivityResult
from metaeval.runs import files

_COLOURS = {
    "sees": "#2c6fbb", "prefers": "#d9701b", "blind": "#d9701b", "punishes": "#d9701b",
    "rewards": "#d9701b", "spares": "#2c6fbb", "unsure": "#8a919d",
}  # fmt: skip
_ROW = 11  # pixels
_FONT = "Helvetica Neue, Arial, Liberation Sans, sans-serif"


def write_cards(run: LoadedRun[SensitivityResult]) -> None:
    """Write a figure and a table for each metric that ran and is not a part."""
    tables = []
    for metric in shown(run.result):
        stem = card_stem(metric.name)
        path = run.directory / files.FIGURES / f"{stem}.svg"
        drawing = _figure(metric, run.result)
        write = partial(Path.write_text, data=drawing, encoding="utf-8", newline="\n")
        files.atomic(path, write)
        tables.append(_table(metric, run.result, stem))
    write_tables(run.directory, tables)


def _rows(
    metric: Metric, result: SensitivityResult
) -> Iterator[tuple[str, list[tuple[str, SensitivityCell, float]]]]:
    """Kind → its (set, cell, AUC) in the order of the heat map, of sets with any image."""
    sets = {entry.set: entry for entry in result.sets}
    ordered = [sets[name] for name in result.set_order]
    for kind, entries in groupby(ordered, key=lambda e: e.kind):
        cells = [(e.set, metric.numbers.profile[e.set]) for e in entries]
        if some := [(name, c, v) for name, c in cells if (v := c.auc.value) is not None]:
            yield kind, some


def _figure(metric: Metric, result: SensitivityResult) -> str:
    """An SVG: a dot and an interval a set, blue where all is well and orange where not."""
    left, width = 230, 300  # of the axis from 0 to 1
    drawn: list[str] = []
    y = 44

    def text(x: float, content: str, style: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y + 3.2:.1f}" {style}>{escape(content)}</text>'

    for kind, cells in _rows(metric, result):
        drawn.append(text(left - 8, capital(kind), 'text-anchor="end" font-weight="bold"'))
        y += _ROW
        for name, cell, auc in cells:
            colour = _COLOURS[cell.verdict]
            drawn.append(text(left - 8, name, 'text-anchor="end"'))
            if (ends := cell.auc.interval) is not None:
                low, high = (left + width * end for end in ends)
                drawn.append(f'<path d="M{low:.1f} {y}H{high:.1f}" stroke="{colour}"/>')
            at = left + width * auc
            drawn.append(f'<circle cx="{at:.1f}" cy="{y}" r="2.2" fill="{colour}"/>')
            drawn.append(text(left + width + 12, f"{number(auc)}  n {count(cell.n)}"))
            y += _ROW
    middle, foot, y = left + width / 2, y, y + 8
    axis = [
        text(left + width * share, label, 'text-anchor="middle"')
        for share, label in ((0, "0"), (0.5, "0.5"), (1, "1"))
    ]
    y += _ROW
    axis.append(text(middle, "AUC within images, interval by images", 'text-anchor="middle"'))
    total = left + width + 80
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{y + 12}" '
        f'viewBox="0 0 {total} {y + 12}" font-family="{_FONT}" font-size="8" fill="#1c2027">'
        f'<rect width="{total}" height="{y + 12}" fill="#fff"/>'
        f'<text x="12" y="18" font-size="14" font-weight="bold">{escape(metric.name)}</text>'
        f'<text x="12" y="31">{escape(_about(metric, result))}</text>'
        f'<path d="M{middle} 38V{foot}" stroke="#b9bfc9" stroke-width="0.7"/>'
        f'<g stroke-width="1.4">{"".join(drawn)}</g>{"".join(axis)}</svg>\n'
    )


def _about(metric: Metric, result: SensitivityResult) -> str:
    positives = number(metric.numbers.hard_positives.rewrites.value)
    return f"{result.dataset}, {count(result.n_images)} images; rewrite above harmful {positives}"


def _table(metric: Metric, result: SensitivityResult, stem: str) -> PrintTable:
    rows = _rows(metric, result)
    groups = [[_row(name, cell) for name, cell, _ in cells] for _, cells in rows]
    caption = f"What {metric.name} sees ({_about(metric, result)})."
    heads = ("Change", "AUC", "Interval", "Effect", "n", "Verdict")
    return PrintTable(stem, caption, heads, groups)


def _row(name: str, cell: SensitivityCell) -> list[PrintCell]:
    texts = (
        name, number(cell.auc.value), interval(cell.auc.interval), number(cell.effect.value, 2),
        count(cell.n), cell.verdict,
    )  # fmt: skip
    return [PrintCell(text) for text in texts]
