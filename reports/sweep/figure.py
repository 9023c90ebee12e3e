"""`sweep.svg` and `sweep.pdf`: each measure by what was varied, a line or point a metric.

A row of axes per measure, a column a value of the other parameters (small multiples). Numbers make
an axis, categories are drawn next to each other and are not joined by lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.reports.shared.figure_style import (
    GREY,
    SOFT,
    STYLE,
    LineEnd,
    colours_of,
    label_ends,
    save_figure,
)
from metaeval.reports.sweep.jobs import JobGroup, SeedSpread, Settings, as_number, is_axis
from metaeval.results.run import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE = "sweep"
MOST_ROWS, MOST_COLUMNS = 3, 8  # of axes; the tables have all
WIDTH, HEIGHT, LABELS = 2.7, 2.4, 1.6  # inches: of axes, and next to them for the names
LEFT, TOP, BETWEEN, BOTTOM = 0.8, 0.35, 0.62, 0.95
WIDE = 30.0  # of an axis whose ends are further apart than this factor the scale is logarithmic


def write_figure(
    directory: Path,
    gathered: Sequence[JobGroup],
    measures: Sequence[Measure],
    controls: frozenset[str],
    name: str = FIGURE,
) -> list[Path]:
    """Draw the measures, and write them as `name`.svg and .pdf.

    The bytes depend on the numbers alone.
    """
    import matplotlib as mpl  # a second to import, and only sweeps need it
    from matplotlib.figure import Figure

    rows = list(measures[:MOST_ROWS])
    columns = _columns(gathered)
    names = [m for g in gathered for values in g.values.values() for m in values]
    colours = colours_of([m for m in dict.fromkeys(names) if m not in controls])
    colours |= dict.fromkeys(controls, GREY)
    n_rows, n_columns = len(rows), min(len(columns), MOST_COLUMNS)
    size = (
        (WIDTH + LABELS) * n_columns + LEFT,
        (HEIGHT + BETWEEN) * n_rows - BETWEEN + TOP + BOTTOM,
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        for i, measure in enumerate(rows):
            up = BOTTOM + (n_rows - 1 - i) * (HEIGHT + BETWEEN)
            for j, (title, all_members) in enumerate(list(columns.items())[:n_columns]):
                members = [g for g in all_members if measure in g.values]
                if not members:
                    continue
                left = LEFT + j * (WIDTH + LABELS)
                axes = figure.add_axes(
                    (left / size[0], up / size[1], WIDTH / size[0], HEIGHT / size[1])
                )
                draw_measure(axes, members, measure, colours, controls)
                if i == 0 and title:
                    axes.set_title(title, loc="left", fontsize=9, fontweight="bold")
                if j == 0:
                    axes.set_ylabel(measure.title)
                if i == n_rows - 1 and members[0].settings:
                    axes.set_xlabel(members[0].settings[0][0])
        figure.text(LEFT / size[0], 0.1 / size[1], _legend(gathered), fontsize=7, color=SOFT)
        return save_figure(figure, directory / name, name)


def _columns(gathered: Sequence[JobGroup]) -> dict[str, list[JobGroup]]:
    """The groups by their settings but the first: one column of axes each."""
    columns: dict[Settings, list[JobGroup]] = {}
    for group in gathered:
        columns.setdefault(group.settings[1:], []).append(group)
    return {", ".join(f"{k}={v}" for k, v in settings): made for settings, made in columns.items()}


def _legend(gathered: Sequence[JobGroup]) -> str:
    """What bands and bars are, of those that are there."""
    spreads = [s for g in gathered for metrics in g.values.values() for s in metrics.values()]
    parts = ["bands and thin lines: intervals over images"] if any(s.ci for s in spreads) else []
    if seeds := max((len(s.values) for s in spreads if s.sd is not None), default=0):
        parts.append(f"capped bars: ± sd over {seeds} seeds")
    return "; ".join([*parts, "dashed grey: controls"])


def draw_measure(
    axes: Axes,
    members: Sequence[JobGroup],
    measure: Measure,
    colours: Mapping[str, str],
    controls: frozenset[str],
) -> None:
    """One measure of every metric by the first parameter."""
    labels = [g.settings[0][1] if g.settings else "all jobs" for g in members]
    numbers = [as_number(label) for label in labels]
    axis = bool(members[0].settings) and is_axis(members, 0) and len(members) > 1
    xs = [float(n or 0.0) for n in numbers] if axis else [float(k) for k in range(len(labels))]
    metrics = list(dict.fromkeys(m for g in members for m in g.values.get(measure, {})))
    ends = []
    for k, metric in enumerate(metrics):
        points = [
            (x, g.values[measure][metric])
            for x, g in zip(xs, members, strict=True)
            if metric in g.values.get(measure, {})
        ]
        # next to each other: categories have no place on an axis
        shift = 0.0 if axis else 0.5 * ((k + 0.5) / len(metrics) - 0.5)
        _draw_points(axes, points, shift, axis, colours[metric], metric in controls)
        ends.append(LineEnd(metric, colours[metric], points[-1][1].mean))
    if axis:
        least = min((x for x in xs if x > 0), default=0.0)
        if min(xs) >= 0 and least > 0 and max(xs) / least > WIDE:
            if min(xs) > 0:
                axes.set_xscale("log")
            else:  # 0 has a place to the left of the logarithms
                axes.set_xscale("symlog", linthresh=least, linscale=0.5)
        if len(xs) <= 6:
            axes.set_xticks(xs, [label.strip("[] ") for label in labels])
            axes.minorticks_off()
    else:
        axes.set_xticks(xs, labels, rotation=0 if sum(map(len, labels)) < 40 else 20)
        axes.set_xlim(-0.5, len(xs) - 0.5)
    label_ends(axes, ends, axes.get_xlim()[1], 72 * HEIGHT)


def _draw_points(
    axes: Axes,
    points: Sequence[tuple[float, SeedSpread]],
    shift: float,
    axis: bool,
    colour: str,
    control: bool,
) -> None:
    """One metric: a line on an axis, else points; bands or thin lines of images, bars of seeds."""
    xs = [x + shift for x, _ in points]
    means = [s.mean for _, s in points]
    style: dict[str, Any] = {"color": colour, "lw": 1.0 if control else 1.4}
    style["ls"] = ("--" if control else "-") if axis else "none"
    axes.plot(xs, means, marker="o", ms=2.6, **style)
    with_ci = [(x, s.ci) for x, (_, s) in zip(xs, points, strict=True) if s.ci is not None]
    if with_ci and axis:
        axes.fill_between(
            [x for x, _ in with_ci], [ci[0] for _, ci in with_ci], [ci[1] for _, ci in with_ci],
            color=colour, alpha=0.15, linewidth=0,
        )  # fmt: skip
    else:
        for x, (low, high) in with_ci:
            axes.plot([x, x], [low, high], color=colour, lw=0.6)
    sds = [(x, s.mean, s.sd) for x, (_, s) in zip(xs, points, strict=True) if s.sd is not None]
    if sds:
        places, heights, spreads = zip(*sds, strict=True)
        axes.errorbar(
            places, heights, spreads, fmt="none", capsize=1.8, elinewidth=0.8, capthick=0.8,
            ecolor=colour,
        )  # fmt: skip
