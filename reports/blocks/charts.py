"""Blocks of charts: the ranking, curves and histograms, drawn by seaborn and matplotlib.

A chart is drawn twice, for wide and for narrow windows, so that nothing is cut off on a phone;
what is folded is drawn once, and scrolls there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from metaeval.reports.blocks.texts import NOTHING, Block, rendered
from metaeval.reports.paper.figures import (
    BLUE,
    GREY,
    INK,
    PAPER,
    RED,
    RULE,
    SOFT,
    LazyFigure,
    colours_of,
    inline,
)
from metaeval.reports.shared.formatting import file_stem
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import Estimate
from metaeval.results.measured import Extra, ranked
from metaeval.results.run import Measure
from metaeval.results.sentences import with_interval
from metaeval.runs import print_style
from metaeval.runs.files import digest
from metaeval.runs.records import LOWER
from metaeval.stats.resampling.items import without_rounding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, NARROW = 9.0, 3.4  # inches
ROW = 0.23  # inches of one metric
LONG_NAME = 20  # characters of a line's name, of which a narrow legend has one column
MOST_TICKS = 8  # of an axis with a tick for each number
FAR = 30.0  # an axis whose ends are further apart than this factor is logarithmic
LONG_TITLE = 24  # characters of a line of a small panel's title
MOST_PANELS = 12  # small ones that are not folded
FURTHER = Markup("<details><summary>{} further</summary>{}</details>")


def _figure(width: float, height: float) -> Figure:
    """A figure of this size in inches."""
    from matplotlib.figure import Figure  # slow to import

    return Figure((width, height), layout="constrained")


def ranking(run: LoadedRun, measure: Measure | None = None) -> Block:
    """Every metric with its interval, the band of the best control, and printed values."""
    result = run.result
    measure = measure or result.declared[0]
    metrics = ranked([m for m in result.metrics if m.ok and m.column.is_ranked], measure)
    names = [metric.name for metric in metrics]
    learned = {m.name: why for m in metrics if (why := m.why_not_ranked(result.experiment))}
    controls = [m.name for m in ranked([m for m in result.metrics if m.column.is_control], measure)]
    if measure.key in result.controls:
        controls = [result.controls[measure.key].control]
    if not names:
        return NOTHING
    estimates = {name: result.metric(name).numbers[measure.key] for name in (*names, *controls[:1])}
    printed = {
        name: source.values[name][measure.key]
        for source in result.published
        if source.why_not is None
        for name in names
        if measure.key in source.values.get(name, {})
    }
    scale = 100 if measure.unit == "share" else 1
    band = estimates[controls[0]] if controls else None

    people, pale = result.people.get(measure.key), {*controls[:1], *learned}
    axis = measure.full_title + (", per cent" if measure.unit == "share" else "")
    data = estimates, sorted(pale), band, printed, people, scale

    def draw(width: float) -> Figure:
        return _forest(width, axis, *data)

    legend = ["Interval of each metric"]
    if band is not None:
        legend.append(f"band: the best control, {controls[0]}")
    if learned:
        legend.append(f"grey: not ranked, {' or '.join(dict.fromkeys(learned.values()))}")
    if printed:
        legend.append("diamond: the printed value")
    if people is not None:
        legend.append(": ".join(filter(None, ("dotted: people", result.people_note))))
    label = "; ".join(
        f"{name} {with_interval(measure, estimate)}" for name, estimate in estimates.items()
    )
    note = f"{'; '.join(legend)}."
    return _chart("ranking", "Ranking", draw, repr((axis, data)), label, note)


def intervals(key: str, title: str, estimates: Mapping[str, Estimate], axis: str) -> Block:
    """Each name with its value and interval, in the given order."""

    def draw(width: float) -> Figure:
        return _forest(width, axis, estimates)

    label = f"{axis}: {', '.join(estimates)}"
    return _chart(key, title, draw, repr((axis, estimates)), label, "")


def _forest(
    width: float,
    axis: str,
    estimates: Mapping[str, Estimate],
    pale: Collection[str] = (),
    band: Estimate | None = None,
    printed: Mapping[str, float] = MappingProxyType({}),
    people: Estimate | None = None,
    scale: float = 1,
) -> Figure:
    """A line for each name; a long label of the axis is not cut off where names leave it little
    width."""
    figure = _figure(width, 0.55 + ROW * len(estimates))
    axes = figure.add_subplot()
    if band is not None and band.value is not None:
        low, high = band.interval or (band.value, band.value)
        axes.axvspan(scale * low, scale * high, color=RULE, alpha=0.5, linewidth=0)
        axes.axvline(scale * band.value, color=SOFT, linewidth=0.8)
    for place, (name, estimate) in enumerate(estimates.items()):
        colour = GREY if name in pale else BLUE
        if estimate.interval is not None:
            ends = [scale * end for end in estimate.interval]
            axes.plot(ends, [place, place], color=colour, linewidth=3, solid_capstyle="butt")
        axes.plot(scale * (estimate.value or 0.0), place, "o", color=INK, markersize=3.5)
        if name in printed:
            axes.plot(
                scale * printed[name], place, "D", color=PAPER, markersize=5, markeredgecolor=RED
            )
    axes.set_yticks(range(len(estimates)), list(estimates))
    for label in axes.get_yticklabels():
        if label.get_text() in print_style.style().highlight:
            label.set(fontweight="bold", color=RED)
    axes.invert_yaxis()
    axes.margins(y=0.5 / len(estimates))
    axes.grid(axis="x", color=RULE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    if people is not None and people.value is not None:
        axes.axvline(scale * people.value, color=INK, linestyle=":", linewidth=1)
    axes.set_xlabel(axis, loc="center" if width > NARROW else "right")
    return figure


def curves(extra: Extra, note: str = "") -> Block:
    """Lines over x with their intervals: an extra of the kind "curves".

    With a column `panel` a panel each. Lines whose column `control` is true are dashed. `sd` is
    drawn as bars, `printed` as crosses. Where x is a text, points are not joined and stand side by
    side; where its numbers are far apart, the axis is logarithmic.
    """
    table = extra.frame()
    lines = list(dict.fromkeys(table["line"]))
    panels = list(dict.fromkeys(table["panel"])) if "panel" in table else [None]
    colours = colours_of(lines)

    def draw(width: float) -> Figure:
        many = len(panels) > 4
        columns = min(len(panels), (2 if width > NARROW else 1) * (1 + many))
        rows = -(-len(panels) // columns)
        height = 1.6 if many else 2.9
        figure = _figure(width, height * rows + 0.16 * len(lines))
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes, panel in zip(grid, panels, strict=False):
            chosen = table if panel is None else table[table["panel"] == panel]
            _draw_lines(axes, chosen, colours)
            axes.set_title(panel or "", fontsize=9)
            axes.set_xlabel(str(chosen["x_title"].iloc[0]) if "x_title" in table else "")
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower left",
            ncols=4 if width > NARROW else 1 + (max(map(len, labels)) < LONG_NAME),
            fontsize=8.5,
        )
        return figure

    key = f"extra-{extra.name}"
    return _chart(key, extra.title, draw, repr(extra), extra.title, note, extra.folded, extra.name)


def _draw_lines(axes: Axes, table: pd.DataFrame, colours: Mapping[str, str]) -> None:
    words = list(table["x"].unique())
    is_text = isinstance(words[0], str)
    n = table["line"].nunique()
    for place, (line, rows) in enumerate(table.groupby("line", sort=False)):
        is_control = "control" in rows and bool(rows["control"].iloc[0])
        colour = GREY if is_control else colours[str(line)]
        style = "o--" if is_control else "o-"
        x = rows["x"]
        if is_text:
            style = "o"
            x = x.map(words.index) + 0.6 * ((place + 0.5) / n - 0.5)
        axes.plot(
            x,
            rows["y"],
            style,
            color=colour,
            linewidth=2.8 if line in print_style.style().highlight else 1.4,
            markersize=2.5,
            label=str(line),
        )
        if "sd" in rows and rows["sd"].notna().any():
            axes.errorbar(
                x,
                rows["y"],
                rows["sd"],
                fmt="none",
                capsize=2,
                ecolor=colour,
                elinewidth=0.8,
            )
        if "printed" in rows:
            printed = rows["printed"].astype(float)
            axes.plot(x, printed, "x", color=colour, markersize=5)
        if "low" in rows and rows["low"].notna().all():
            low, high = rows["low"].astype(float), rows["high"].astype(float)
            if is_text:
                axes.vlines(x, low, high, color=colour, linewidth=0.6)
            else:
                axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.grid(color=RULE, linewidth=0.5)
    if table["y"].min() < 0 < table["y"].max():
        axes.axhline(0, color=SOFT, linewidth=0.8)
    if is_text:
        axes.set_xticks(range(len(words)), words)
    set_scale(axes, words)


def set_scale(axes: Axes, places: list[Any]) -> None:
    """A logarithmic axis where the numbers are far apart; 0 has a place to the left of it."""
    if isinstance(places[0], str):
        axes.tick_params(axis="x", labelrotation=0 if sum(map(len, places)) < 40 else 20)
        return
    least = min((place for place in places if place > 0), default=0.0)
    if min(places) >= 0 and least > 0 and max(places) > FAR * least:
        if min(places) > 0:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=least, linscale=0.5)
    if len(places) <= MOST_TICKS:
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()


def histograms(
    key: str,
    title: str,
    read: Callable[[], pd.DataFrame],
    metrics: Sequence[str],
    content: str,
    colours: Mapping[str, str],
    values: Mapping[str, str] = MappingProxyType({}),
    ends: tuple[float, float] | None = None,
    note: str = "",
    lower: Collection[str] = (),
) -> Block:
    """Scores by set of captions, a small panel a metric.

    `read` gives the table when it is drawn, with metric, set and score, and where rows are bins of
    scores, `count`; `content` identifies it. `values` are what titles of panels have below the
    name, `ends` those of all panels' axis; of the metrics in `lower`, lower scores are better.
    """
    table = cache(read)

    def fill(axes: Axes, metric: str) -> None:
        import seaborn  # slow to import

        of_metric = table()[table()["metric"] == metric]
        binned = "count" in of_metric
        seaborn.histplot(
            of_metric.assign(score=without_rounding(of_metric["score"])),
            x="score",
            hue="set",
            weights="count" if binned else None,
            bins=60 if binned else 24,
            binrange=ends,
            element="step",
            fill=False,
            legend=False,
            ax=axes,
            palette=dict(colours),
            hue_order=list(colours),
        )
        axes.set_yticks([])

    panels = _titles(metrics, lower, values)
    return _panels(key, title, panels, fill, f"{content} {ends} {colours}", 1.35, note, colours)


BY_RATING = "Scores by people's rating"
ACROSS = "Across: people's mean rating of a caption."
MOST_LEVELS = 10  # different ratings, up to which each has a violin of its own


def by_rating(
    scores: pd.DataFrame, ratings: npt.NDArray[np.float64], lower: Collection[str] = ()
) -> Block:
    """The scores of each metric, a column, by people's rating [n]: a violin a rating where there
    are few, otherwise hexagons, darker where there are more captions. Of the metrics in `lower`,
    lower scores are better."""
    levels = np.unique(ratings[~np.isnan(ratings)])
    whole = [value for value in levels if value == int(value)]

    def fill(axes: Axes, metric: str) -> None:
        import seaborn  # slow to import

        known = ~np.isnan(ratings) & scores[metric].notna().to_numpy()
        x, y = ratings[known], without_rounding(scores[metric][known])
        if len(levels) > MOST_LEVELS:
            axes.hexbin(
                x,
                y,
                gridsize=16,
                cmap=seaborn.blend_palette(["#a9bfe0", BLUE], as_cmap=True),
                mincnt=1,
                bins="log",
                linewidths=0.1,
            )
        else:
            seaborn.violinplot(
                x=x, y=y, order=levels, ax=axes, cut=0, inner="quart", color=BLUE,
                density_norm="width", linewidth=0.6,
            )  # fmt: skip
            shown = whole if len(whole) > 1 else [levels[0], levels[-1]]
            ticks = [int(np.searchsorted(levels, value)) for value in shown]
            axes.set_xticks(ticks, [f"{value:.3g}" for value in shown])

    rows = pd.util.hash_pandas_object(scores.assign(**{"": ratings}), index=False)
    content = digest(f"{list(scores.columns)} {len(scores)}".encode() + rows.to_numpy().tobytes())
    titles = _titles(scores.columns, lower)
    return _panels("by-rating", BY_RATING, titles, fill, content.hex(), 1.6, ACROSS)


def _titles(
    metrics: Iterable[str],
    lower: Collection[str],
    values: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Metric → the lines of its panel's title."""
    lines = {m: (m, LOWER if m in lower else "", values.get(m, "")) for m in metrics}
    return {metric: "\n".join(filter(None, each)) for metric, each in lines.items()}


def _panels(
    key: str,
    title: str,
    names: Mapping[str, str],
    fill: Callable[[Axes, str], None],
    content: str,
    height: float,
    note: str = "",
    colours: Mapping[str, str] = MappingProxyType({}),
    folded: bool = False,
) -> Block:
    """A small panel a name, filled by `fill`, with its title; those behind the first MOST_PANELS
    are folded, and a figure of their own. `colours` are the entries of the legend; `content` is
    what `fill` depends on."""
    first, further = list(names)[:MOST_PANELS], list(names)[MOST_PANELS:]
    if not first:
        return NOTHING

    @cache
    def filled() -> tuple[Figure, npt.NDArray[Any]]:
        figure = _figure(WIDE, height)
        panels = figure.subplots(len(first), squeeze=False).flatten()
        for axes, name in zip(panels, first, strict=True):
            fill(axes, name)
            weight = "bold" if name in print_style.style().highlight else "normal"
            lines = [part for line in names[name].splitlines() for part in wrap(line, LONG_TITLE)]
            axes.set_title("\n".join(lines), fontsize=8.5, fontweight=weight)
            axes.set(xlabel="", ylabel="")
            axes.tick_params(labelsize=8.5)
        return figure, panels

    def draw(width: float) -> Figure:
        from matplotlib.lines import Line2D  # slow to import

        figure, panels = filled()
        _arrange(figure, panels, width, height)
        figure.legends.clear()
        if handles := [Line2D([], [], color=c, label=s) for s, c in colours.items()]:
            ncols = 5 if width > NARROW else 2
            figure.legend(handles=handles, loc="outside lower left", ncols=ncols, fontsize=8.5)
        return figure

    drawn = {name: names[name] for name in first}
    block = _chart(key, title, draw, f"{content} {height} {drawn}", title, note, folded)
    if not further:
        return block
    others = {name: names[name] for name in further}
    more = _panels(f"{key}-more", title, others, fill, content, height, note, colours, folded=True)
    html = block.html + FURTHER.format(len(further), more.html)
    return block._replace(html=html, figures={**block.figures, **more.figures})


def _arrange(figure: Figure, panels: npt.NDArray[Any], width: float, height: float) -> None:
    """Put the same panels into as many columns as fit: drawing them takes longest."""
    columns = min(len(panels), 4 if width > NARROW else 2)
    rows = -(-len(panels) // columns)
    figure.set_layout_engine("constrained")
    figure.set_size_inches(width, height * rows + 0.4)
    places = figure.add_gridspec(rows, columns)
    for k, axes in enumerate(panels):
        axes.set_subplotspec(places[k])


def _chart(
    key: str,
    title: str,
    draw: Callable[[float], Figure],
    content: str,
    label: str,
    note: str,
    folded: bool = False,
    stem: str = "",
) -> Block:
    """The block of a figure that `draw` makes of a width, and of nothing else but `content`; what
    is folded is drawn for wide windows alone."""
    stem = file_stem(stem or key)
    wide, *others = (
        LazyFigure(partial(draw, width), f"{key} {width} {print_style.style().highlight} {content}")
        for width in ((WIDE,) if folded else (WIDE, NARROW))
    )
    drawn = [inline(figure, label) for figure in (*others, wide)]
    html = rendered("chart.html.j2", drawn=drawn, note=note, stem=stem)
    return Block(key, title, html, folded=folded, figures={stem: wide})
