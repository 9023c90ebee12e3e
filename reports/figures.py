"""The SVG files of a run: per metric the order of all captions and the score densities.

Made with Matplotlib on two figures that are drawn anew for every metric. The bytes depend on the
run alone: a fixed salt for ids, no date, text as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from metaeval import results
from reports import palette
from reports.bins import Array, Density, density, order_counts
from reports.run import Run
from reports.words import file_stem, percent, plainly

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 50
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "metaeval",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a919d",
    "axes.labelcolor": "#3c434e",
    "xtick.color": "#5b6370",
    "ytick.color": "#5b6370",
    "legend.frameon": False,
}


def write_figures(run: Run) -> list[Path]:
    """Write `figures/<metric>-order.svg` and `-density.svg` for every metric that ran."""
    folder = run.directory / results.FIGURES
    records = {m["metric"]: m for m in run.metrics}
    names, colours = [s["name"] for s in run.sets], palette.levels(len(run.sets))
    written = []
    with mpl.rc_context(_STYLE):
        order, spread = Figure(figsize=(5.2, 2.9)), Figure(figsize=(5.2, 0.62 * len(names) + 0.7))
        FigureCanvasSVG(order)
        FigureCanvasSVG(spread)
        for metric, scores in zip(run.columns, run.scores, strict=True):
            record = records[metric]
            noise = "weights:random" in (record.get("signature") or "")
            title = f"{metric} (random weights: not a result)" if noise else metric
            counts = order_counts(scores, run.seed, BINS, record.get("higher_is_better", True))
            _draw_order(order, counts, names, colours, title, int(counts.sum()))
            _draw_density(spread, density(scores), names, colours, title)
            for figure, kind in ((order, "order"), (spread, "density")):
                path = folder / f"{file_stem(metric)}-{kind}.svg"
                metadata = {"Date": None, "Title": f"{metric}: {kind}"}
                results.atomic(path, partial(figure.savefig, format="svg", metadata=metadata))
                written.append(path)
    return written


def _draw_order(
    figure: Figure, counts: Array, names: Sequence[str], colours: Sequence[str], title: str, n: int
) -> None:
    figure.clear()
    axes = figure.add_axes((0.11, 0.16, 0.83, 0.68))
    edges = [n * k / BINS for k in range(BINS + 1)]
    for name, colour, row in zip(names, colours, counts, strict=True):
        axes.stairs(row, edges, color=colour, linewidth=1.4, label=name)
        axes.stairs(row, edges, color=colour, alpha=0.10, fill=True)
    axes.set(
        xlim=(0, n),
        ylim=(0, None),
        xlabel="position in the order of score, worst first",
        ylabel="captions",
    )
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=20)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.015, 0.985),
        ncols=len(names),
        fontsize=8,
        handlelength=1.1,
        columnspacing=1.2,
    )


def _draw_density(
    figure: Figure, d: Density, names: Sequence[str], colours: Sequence[str], title: str
) -> None:
    figure.clear()
    bottom, top, n = 0.42 / figure.get_figheight(), 1 - 0.32 / figure.get_figheight(), len(names)
    each = (top - bottom) / n
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        axes = figure.add_axes((0.19, bottom + k * each, 0.78, each * 0.86))
        axes.stairs(d.ridge(k), d.edges, color=colour, fill=True, alpha=0.45)
        axes.stairs(d.ridge(k), d.edges, color=colour, linewidth=0.9)
        _draw_atoms(axes, d, k, colour)
        axes.set(xlim=(d.edges[0], d.edges[-1]), ylim=(0, 1.05), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.set_ylabel(name, rotation=0, ha="right", va="bottom", y=0)
        axes.tick_params(labelbottom=k == 0, length=3 if k == 0 else 0)
        if k == 0:
            axes.set_xlabel("score")
    figure.text(0.02, 1 - 0.2 / figure.get_figheight(), title, fontsize=11, fontweight="bold")


def _draw_atoms(axes: Axes, d: Density, k: int, colour: str) -> None:
    width = 0.012 * (d.edges[-1] - d.edges[0])
    for value, shares in d.atoms:
        if shares[k]:
            axes.bar(value, shares[k], width, color=colour, align="edge")
            if shares[k] >= 0.05 and len(d.atoms) == 1:
                label = f"{percent(shares[k], 0)} at {plainly(value)}"
                axes.annotate(label, (value + 1.6 * width, 0.72), fontsize=7, color="#5b6370")
