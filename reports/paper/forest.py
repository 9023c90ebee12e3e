"""The forest plot: a line per metric, its value and interval on one axis, controls below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from metaeval.reports.paper.figures import BLUE, INK, PAPER, RED, RULE, SOFT
from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.shared.formatting import known, with_interval

WIDTH, LINE, HEAD, FOOT = 7.0, 0.235, 0.32, 0.62  # in inches
LEFT, RIGHT = 1.95, 1.75
_ACROSS = 5  # names in a line of the legend
_TEXT = 9  # points: twelve pixels of the page
_SPREAD = 0.62  # of a line's height, what several points of one line take


class PlottedEstimate(NamedTuple):
    """A value with its interval, and the published value, where there is one."""

    value: float | None
    ci: Sequence[float | None] | None = None
    published: float | None = None


class ForestRow(NamedTuple):
    """A metric: `kind` is "result" or "control"; an estimate a series, most often one."""

    name: str
    kind: str
    estimates: Sequence[PlottedEstimate]


def forest(
    rows: Sequence[ForestRow],
    axis: str,
    *,
    chance: float | None = 0.0,
    series: Sequence[tuple[str, str]] = (),
) -> Figure:
    """The drawing, rows from the top; `axis` names the horizontal axis, `chance` draws a line.

    With several estimates a row, `series` has the name and the colour (#rrggbb) of each; without,
    the numbers are at the right.
    """
    with mpl.rc_context(STYLE):
        return _forest(rows, axis, chance, series)


def _forest(
    rows: Sequence[ForestRow],
    axis: str,
    chance: float | None,
    series: Sequence[tuple[str, str]],
) -> Figure:
    height = LINE * max(len(rows), 1) * (1.0 if len(series) < 3 else 1.9)
    above = HEAD + LINE * max(0, -(-len(series) // _ACROSS) - 1)  # lines of the legend
    figure = Figure(figsize=(WIDTH, height + above + FOOT))
    FigureCanvasAgg(figure)
    right = 0.25 if series else RIGHT
    axes = figure.add_axes(
        (
            LEFT / WIDTH,
            FOOT / (height + above + FOOT),
            1 - (LEFT + right) / WIDTH,
            height / (height + above + FOOT),
        )
    )
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=_TEXT)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.tick_params(axis="x", labelsize=_TEXT, colors=SOFT)
    axes.set_xlabel(axis, fontsize=_TEXT, color=SOFT)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    if chance is not None:
        axes.axvline(chance, color=RULE, linewidth=1, zorder=0)
    for y, row in enumerate(rows):
        control = row.kind == "control"
        axes.get_yticklabels()[y].set(
            color=SOFT if control else INK, style="italic" if control else "normal"
        )
        step = _SPREAD / max(len(row.estimates), 1)
        for k, estimate in enumerate(row.estimates):
            offset = (k - (len(row.estimates) - 1) / 2) * step
            colour = series[k][1] if series else (SOFT if control else BLUE)
            _draw(axes, y + offset, estimate, colour, hollow=control)
        if not series and row.estimates and known(row.estimates[0].value):
            text = with_interval(row.estimates[0].value, row.estimates[0].ci)
            axes.text(
                1.03,
                y,
                text,
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=_TEXT,
                color=SOFT if control else INK,
            )
    published = any(e.published is not None for row in rows for e in row.estimates)
    _legend(figure, series, published)
    return figure


def _draw(axes: Axes, y: float, estimate: PlottedEstimate, colour: str, *, hollow: bool) -> None:
    ends = [end for end in estimate.ci or () if end is not None and known(end)]
    if len(ends) == 2:
        axes.plot(ends, [y, y], color=colour, linewidth=1.5, solid_capstyle="butt")
    if estimate.value is not None and known(estimate.value):
        axes.plot(
            [estimate.value],
            [y],
            "o",
            markersize=4.2,
            color=colour,
            markerfacecolor=PAPER if hollow else colour,
        )
    if estimate.published is not None and known(estimate.published):
        axes.plot([estimate.published], [y], "D", markersize=4.2, color=RED, markerfacecolor="none")


def _legend(figure: Figure, series: Sequence[tuple[str, str]], published: bool) -> None:
    handles = [
        Line2D([], [], color=colour, marker="o", markersize=4.2, linewidth=1.5, label=name)
        for name, colour in series
    ]
    if published:
        handles.append(
            Line2D(
                [],
                [],
                color=RED,
                marker="D",
                markersize=4.2,
                linewidth=0,
                markerfacecolor="none",
                label="published",
            )
        )
    if handles:
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0.0, 1.0),
            fontsize=_TEXT,
            ncols=min(_ACROSS, len(handles)),
            handlelength=1.4,
            columnspacing=1.2,
            borderaxespad=0.2,
            labelcolor=SOFT,
            frameon=False,
        )
