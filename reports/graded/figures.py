"""The figures of a run, as SVG and on request as PDF: the order of all captions and the densities
of the scores for each metric, and the slope chart of all metrics.

Made with Matplotlib on two figures that are drawn anew for every metric. The bytes depend on the
run alone: a fixed salt for ids, no date, text as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from metaeval.reports.graded.bins import Array, Density, density, order_counts
from metaeval.reports.graded.run import GradedRun
from metaeval.reports.graded.slopes import Slope, slopes
from metaeval.reports.paper.figures import BLUE, INK, RULE, SOFT, write_figure
from metaeval.reports.shared import palette
from metaeval.reports.shared.figure_style import STYLE, label_places
from metaeval.reports.shared.formatting import file_stem, percent, plainly
from metaeval.runs import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 50
SHELF = 1.15  # from one ridge's foot to the next, where the tallest possible ridge is 1


def write_figures(run: GradedRun, pdf: bool = False) -> list[Path]:
    """Write `figures/<metric>-order` and `-density` for every metric that ran, and `slopes`.

    With `pdf` also as PDF: two files a metric, which take most of the time of a report.
    """
    forms = ("svg", "pdf") if pdf else ("svg",)
    folder = run.directory / files.FIGURES
    colours = palette.levels(len(run.sets))
    written = []
    with mpl.rc_context(STYLE):
        order, spread = _order_axes(run.names, colours), _density_axes(run.names)
        for metric, scores in zip(run.columns, run.scores, strict=True):
            column = run.ran[metric].column
            title = f"{metric} (random weights: not a result)" if column.untrained else metric
            counts = order_counts(scores, run.seed, BINS, column.higher_is_better)
            for axes, kind in ((order, "order"), (spread, "density")):
                for artist in [*axes.patches, *axes.artists, *axes.texts]:
                    artist.remove()
                pad = 20 if kind == "order" else 6  # the legend is under the title
                axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=pad)
                if kind == "order":
                    _draw_order(axes, counts, colours)
                else:
                    _draw_density(axes, density(scores), colours)
                figure = axes.get_figure(root=True)
                assert isinstance(figure, Figure)
                stem = f"{file_stem(metric)}-{kind}"
                written += write_figure(figure, folder, stem, f"{metric}: {kind}", forms)
        if lines := slopes(run.metrics):
            title = "Rank-order ρ of every metric, pooled and within an image"
            written += write_figure(_slopes(lines), folder, "slopes", title)
    return written


def _slopes(lines: Sequence[Slope]) -> Figure:
    """A line per metric from the pooled ρ, left, to the ρ within an image, right."""
    height = max(2.6, 0.21 * (len(lines) + 2))
    figure = Figure(figsize=(5.6, height))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0.36, 0.03, 0.28, 0.88))
    ends = [value for line in lines for value in (line.pooled, line.within)]
    low, high = min([0.0, *ends]), max(ends)
    axes.set(xlim=(0, 1), ylim=(low, high + 0.01))
    axes.axis("off")
    gap = 0.19 / (0.88 * height) * ((high - low) or 1.0)
    for line in lines:
        control = line.kind == "control"
        axes.plot(
            [0, 1], [line.pooled, line.within], color=SOFT if control else BLUE, linewidth=1.2,
            linestyle="--" if control else "-", clip_on=False,
        )  # fmt: skip
    for x, side, name in ((0, -1, "pooled over all captions"), (1, 1, "within an image")):
        values = [line.pooled if x == 0 else line.within for line in lines]
        # heights grow downwards where labels are placed
        places = label_places([high - v for v in values], gap, high - low)
        align = "right" if x == 0 else "left"
        for line, value, place in zip(lines, values, places, strict=True):
            shown = f"{value:.3f}".replace("-", "−")
            text = f"{line.metric}  {shown}" if x == 0 else f"{shown}  {line.metric}"
            y = high - place
            axes.plot([x + 0.02 * side, x + 0.1 * side], [value, y], color=RULE, linewidth=0.6,
                      clip_on=False)  # fmt: skip
            axes.text(x + 0.12 * side, y, text, ha=align, va="center", fontsize=8.5,
                      color=SOFT if line.kind == "control" else INK)  # fmt: skip
        axes.text(
            x, high + 0.35 * gap + 0.02, name, ha=align, va="bottom", fontsize=8.5, color=SOFT
        )
    return figure


def _order_axes(names: Sequence[str], colours: Sequence[str]) -> Axes:
    figure = Figure(figsize=(5.2, 2.9))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0.11, 0.16, 0.83, 0.68))
    axes.set(xlabel="position in the order of score, worst first", ylabel="captions")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.legend(
        handles=[Line2D([], [], color=c, label=n) for n, c in zip(names, colours, strict=True)],
        loc="lower left",
        bbox_to_anchor=(-0.015, 0.985),
        ncols=len(names),
        fontsize=8.5,
        handlelength=1.1,
        columnspacing=1.2,
    )
    return axes


def _density_axes(names: Sequence[str]) -> Axes:
    """Axes with a shelf per set, worst lowest."""
    figure = Figure(figsize=(5.2, 0.55 * len(names) + 0.85))
    FigureCanvasSVG(figure)
    bottom, top = 0.45 / figure.get_figheight(), 1 - 0.3 / figure.get_figheight()
    axes = figure.add_axes((0.19, bottom, 0.77, top - bottom))
    axes.set(xlabel="score", ylim=(0, SHELF * len(names)))
    axes.set_yticks([SHELF * k + 0.1 for k in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return axes


def _draw_order(axes: Axes, counts: Array, colours: Sequence[str]) -> None:
    n = counts.sum()
    edges = np.linspace(0, n, BINS + 1)
    axes.set(xlim=(0, max(n, 1)), ylim=(0, max(1.05 * counts.max(), 1)))
    for colour, row in zip(colours, counts, strict=True):
        axes.add_artist(StepPatch(row, edges, facecolor=colour, alpha=0.10, fill=True))
        axes.add_artist(StepPatch(row, edges, edgecolor=colour, linewidth=1.4, fill=False))


def _draw_density(axes: Axes, d: Density, colours: Sequence[str]) -> None:
    low, high = float(d.edges[0]), float(d.edges[-1])
    width = 0.012 * (high - low)
    axes.set_xlim(low, high)
    for k, colour in enumerate(colours):
        shelf = SHELF * k
        ridge = shelf + d.ridge(k)
        axes.add_artist(
            StepPatch(ridge, d.edges, baseline=shelf, facecolor=colour, alpha=0.45, fill=True)
        )
        axes.add_artist(
            StepPatch(ridge, d.edges, baseline=shelf, edgecolor=colour, linewidth=0.9, fill=False)
        )
        for value, shares in d.atoms:
            if shares[k]:
                axes.add_artist(Rectangle((value, shelf), width, shares[k], color=colour))
            if shares[k] >= 0.05 and len(d.atoms) == 1:
                label = f"{percent(shares[k], 0)} at {plainly(value)}"
                axes.text(value + 1.6 * width, shelf + 0.72, label, fontsize=8.5, color="#5b6370")
