"""The lines of an item whose cells are numbers: computed values, and printed ones as crosses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from metaeval.reports.shared.figure_style import (
    STYLE,
    LineEnd,
    colours_of,
    label_ends,
    save_figure,
)
from metaeval.results.reproduction import ReproducedItem, ReproducedValue

Points = list[tuple[float, float]]
WIDTH, HEIGHT = 2.9, 2.4  # inches, of the axes
LEFT, RIGHT, TOP, BOTTOM = 0.75, 1.7, 0.15, 0.6  # inches, around them


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
