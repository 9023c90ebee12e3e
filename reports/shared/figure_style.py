"""The look of SVG files, for `matplotlib.rc_context`: the same bytes whenever they are drawn."""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.runs import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "metaeval",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # letters as letters
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # matplotlib ships it: the same sizes on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a919d",
    "axes.labelcolor": "#3c434e",
    "xtick.color": "#5b6370",
    "ytick.color": "#5b6370",
    "legend.frameon": False,
}

# of metrics, distinct in print and for most colour-blind readers; lines are labelled as well
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9", "#8c1d40", "#4d4dff",
    "#e69f00", "#2b6a4d", "#b15928", "#6a3d9a",
)  # fmt: skip
GREY = "#8a919d"  # of controls, which are dashed
SOFT = "#5b6370"
LABEL_HEIGHT = 8.6  # points from one name to the next


class LineEnd(NamedTuple):
    """The right end of a line: whose it is, its colour, its height in the axes' units."""

    name: str
    colour: str
    y: float


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each metric, the same for the same names in the same order."""
    return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}


def label_ends(axes: Axes, ends: Sequence[LineEnd], x: float, points: float) -> None:
    """Write each line's name at its right end, names a line's height apart.

    `x` is where the lines end, `points` the height of the axes in points.
    """
    low, high = axes.get_ylim()
    gap = min(LABEL_HEIGHT, points / max(len(ends), 1))
    wanted = [(high - end.y) * points / (high - low) for end in ends]
    for end, place in zip(ends, label_places(wanted, gap, points), strict=True):
        axes.annotate(
            end.name, xy=(x, end.y), xycoords="data", xytext=(1.05, 1 - place / points),
            textcoords="axes fraction", fontsize=7, annotation_clip=False, color=end.colour,
            va="center", arrowprops={
                "arrowstyle": "-", "color": end.colour, "lw": 0.4, "shrinkA": 1, "shrinkB": 2,
            },
        )  # fmt: skip
    axes.set_ylim(low, high)


def label_places(wanted: Sequence[float], gap: float, lowest: float) -> list[float]:
    """Places at least `gap` apart, in the order wanted, as near to it as a sweep down and one up
    from `lowest` get."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    places = list(wanted)
    above = float("-inf")
    for k in order:
        above = places[k] = max(places[k], above + gap)
    below = lowest + gap
    for k in reversed(order):
        below = places[k] = min(places[k], below - gap)
    return places


def save_figure(figure: Figure, path: Path, title: str) -> list[Path]:
    """Write a figure as SVG and as PDF to `path` with these endings; no date, no random ids."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it reports every letter it drops
    written = []
    for suffix, canvas, date in (
        ("svg", FigureCanvasSVG, "Date"),
        ("pdf", FigureCanvasPdf, "CreationDate"),
    ):
        canvas(figure)
        file = path.with_name(f"{path.name}.{suffix}")
        metadata = {date: None, "Title": title}
        files.atomic(file, partial(figure.savefig, format=suffix, metadata=metadata))
        written.append(file)
    return written


def as_data_uri(path: Path) -> str:
    """An SVG file as the address of an image inside a page."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"
