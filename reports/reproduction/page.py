"""The page of experiment=reproduce: printed values next to computed ones, and what it writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from metaeval.reports.paper.latex_layout import latex
from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Header
from metaeval.reports.shared.figure_style import (
    STYLE,
    LineEnd,
    as_data_uri,
    colours_of,
    label_ends,
    save_figure,
)
from metaeval.reports.shared.run import load_run_files
from metaeval.results.reproduction import (
    VERDICTS,
    ReproducedItem,
    ReproducedValue,
    ReproductionResult,
    Verdict,
    summary,
)
from metaeval.runs import files
from metaeval.runs.csv_text import csv_text

Items = Sequence[ReproducedItem]
Points = list[tuple[float, float]]
WIDTH, HEIGHT = 2.9, 2.4  # inches, of the axes
LEFT, RIGHT, TOP, BOTTOM = 0.75, 1.7, 0.15, 0.6  # inches, around them
HEADS = ("paper", "item", "metric", "cell", "published", "ours", "difference", "verdict", "reason")
MEANING: dict[Verdict, str] = {
    "equal": "the same value, to the printed digits",
    "within": "inside the declared uncertainty",
    "differs": "outside; the reason stands next to it",
    "other model": "the metric ran with another model than the paper's",
    "other data": "on other images or references than the paper's",
    "not published": "no printed value is known",
    "not run": "something is missing; the reason says what helps",
}


class PaperPart(NamedTuple):
    """The items of one paper, in their order."""

    paper: str
    title: str
    source: str
    items: Sequence[ReproducedItem]


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, `tables/reproduction.csv`, `.tex`, `.txt` and the figures into a run's
    directory.

    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), ReproductionResult)
    write_tables(run.directory / "tables", run.result.items)
    images = {}
    for item in run.result.items:
        for drawn in write_figure(run.directory / files.FIGURES, item)[:1]:
            images[(item.paper, item.item)] = as_data_uri(drawn)
    return page.write_page(run.directory / files.REPORT, render(run.result.items, images))


def write_tables(folder: Path, items: Sequence[ReproducedItem]) -> None:
    """Write the values as `reproduction.txt`, `.csv` and `.tex` into a folder."""
    for suffix, write in {"txt": to_text, "csv": to_csv, "tex": to_latex}.items():
        path, text = folder / f"reproduction.{suffix}", write(items)
        files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8", newline="\n"))


def render(
    items: Sequence[ReproducedItem], images: Mapping[tuple[str, str], str] | None = None
) -> str:
    """The page as text; the same items give the same bytes.

    `images` is (paper, item) → the address of its figure.
    """
    values = [value for item in items for value in item.values]
    counts = Counter(value.verdict for value in values)
    header = Header(
        "Papers reproduced",
        "Printed and computed values",
        "Do the numbers of the papers come out?",
        [(name, f"{counts[name]:,}") for name in VERDICTS if counts[name]],
    )
    papers = [
        PaperPart(name, of[0].paper_title, of[0].source, of)
        for name, group in groupby(items, lambda item: item.paper)
        if (of := list(group))
    ]
    return page.render(
        "reproduction.html.j2",
        1,
        room="reproduction",
        scripts="0-*.js",
        header=header,
        papers=papers,
        images=images or {},
        verdicts=VERDICTS,
        meaning=MEANING,
        counts={(item.paper, item.item): _counts(item) for item in items},
        rows={(item.paper, item.item): _rows(item.values) for item in items},
    )


class ValueRow(NamedTuple):
    """A line of an item's table.

    Attributes
    ----------
    kind
        The class of its verdict.
    cells
        Its texts but the reason.
    reason, n_lines
        The reason, and of how many lines from here it is; 0 where an earlier line has it.
    """

    kind: str
    cells: Sequence[str]
    reason: str
    n_lines: int


def _rows(values: Sequence[ReproducedValue]) -> list[ValueRow]:
    """The lines of an item; lines of a metric that follow each other with one reason share it."""
    rows: list[ValueRow] = []
    for _, group in groupby(values, lambda value: (value.column, value.reason)):
        same = list(group)
        for place, value in enumerate(same):
            *cells, reason = value_cells(value)
            n_lines = 0 if place else len(same)
            rows.append(ValueRow(value.verdict.replace(" ", "-"), cells, reason, n_lines))
    return rows


def _counts(item: ReproducedItem) -> list[str]:
    counts = Counter(value.verdict for value in item.values)
    return [f"{counts[name]:,}" if counts[name] else "" for name in VERDICTS]


def to_text(items: Items) -> str:
    """Columns of equal width; the reason at the end of a line."""
    cells = [_table_cells(value) for value in _values(items)]
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
    lines += [" & ".join(map(latex, _table_cells(value)[:-1])) + r" \\" for value in _values(items)]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def _values(items: Items) -> list[ReproducedValue]:
    return [value for item in items for value in item.values]


def _table_cells(value: ReproducedValue) -> tuple[str, ...]:
    return (value.paper, value.item, *value_cells(value))


def value_cells(value: ReproducedValue) -> tuple[str, ...]:
    """Metric, cell, published, ours, difference, verdict and reason as texts."""
    return (
        value.column,
        value.cell,
        "" if value.published is None else f"{value.published:g}",
        "" if value.ours is None else f"{value.ours:.6g}",
        "" if value.difference is None else f"{value.difference:+.1f}",
        value.verdict,
        value.reason,
    )


def write_figure(folder: Path, item: ReproducedItem) -> list[Path]:
    """Draw an item's columns by its numeric cells, as `PAPER-ITEM.svg` and `.pdf`.

    Returns the two files, or none where no column has two values. The bytes depend on the
    numbers alone.
    """
    if not item.axis:
        return []
    ours = {n: p for n, p in _lines(item, lambda value: value.ours).items() if len(p) > 1}
    if not ours:
        return []
    printed = _lines(item, lambda value: value.published)
    import matplotlib as mpl  # a second to import
    from matplotlib.figure import Figure

    colours = colours_of(list(ours))
    size = (LEFT + WIDTH + RIGHT, BOTTOM + HEIGHT + TOP)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        axes = figure.add_axes(
            (LEFT / size[0], BOTTOM / size[1], WIDTH / size[0], HEIGHT / size[1])
        )
        for name, points in ours.items():
            axes.plot(*zip(*points, strict=True), marker="o", ms=2.6, lw=1.4, color=colours[name])
            for x, y in printed[name]:
                axes.plot(x, y, marker="x", ms=5, color=colours[name])
        axes.set_xticks(sorted({x for points in ours.values() for x, _ in points}))
        axes.set_xlabel(item.axis)
        ends = [LineEnd(name, colours[name], points[-1][1]) for name, points in ours.items()]
        label_ends(axes, ends, axes.get_xlim()[1], 72 * HEIGHT)
        return save_figure(figure, folder / f"{item.paper}-{item.item}", item.title)


def _lines(
    item: ReproducedItem, of: Callable[[ReproducedValue], float | None]
) -> dict[str, Points]:
    """Column → (cell, value), of the cells with a value."""
    lines: dict[str, Points] = {}
    for name, values in groupby(item.values, lambda value: value.column):
        known: Sequence[tuple[str, float | None]] = [(value.cell, of(value)) for value in values]
        lines[name] = [(float(cell), value) for cell, value in known if value is not None]
    return lines
