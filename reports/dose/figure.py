"""`figures/dose.svg` and `.pdf`: score and ρ by dose, a column of axes per corruption.

The bytes depend on the numbers alone: a fixed salt for ids, no date, text as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.reports.dose.curves import Panel
from metaeval.reports.shared.figure_style import (
    GREY,
    SOFT,
    STYLE,
    LineEnd,
    colours_of,
    label_ends,
    save_figure,
)
from metaeval.reports.shared.formatting import known
from metaeval.results.base import Estimate
from metaeval.results.graded import DoseCurve
from metaeval.runs import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE = "dose"
WIDTH, HEIGHT, LABELS = 2.7, 2.75, 1.6  # inches: of axes, and next to them for the names
LEFT, TOP, BETWEEN, BOTTOM = 0.8, 0.3, 0.5, 0.75


def write_dose_figure(directory: Path, panels: Sequence[Panel]) -> list[Path]:
    """Draw the panels side by side, and write them as SVG and as PDF into `figures/`."""
    import matplotlib as mpl  # a second to import
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(m for p in panels for m in p.results))
    colours = colours_of(names)
    with mpl.rc_context(STYLE):
        size = ((WIDTH + LABELS) * len(panels) + LEFT, 2 * HEIGHT + TOP + BETWEEN + BOTTOM)
        figure = Figure(figsize=size)
        for k, panel in enumerate(panels):
            left, across = (LEFT + k * (WIDTH + LABELS)) / size[0], WIDTH / size[0]
            up = HEIGHT / size[1]
            upper = figure.add_axes((left, 1 - up - TOP / size[1], across, up))
            lower = figure.add_axes((left, BOTTOM / size[1], across, up))
            _draw_change(upper, panel, colours)
            _draw_rho(lower, panel, colours)
            upper.set_title(panel.title, loc="left", fontsize=11, fontweight="bold")
            if k == 0:
                upper.set_ylabel(
                    "change from the human caption,\nsd within an image (lower: worse)"
                )
                lower.set_ylabel("rank-order ρ against the human caption")
        seeds = max(panel.n_seeds for panel in panels)
        bars = f"; bars: ± sd over {seeds} seeds" if seeds > 1 else ""
        figure.text(
            LEFT / size[0], 0.12 / size[1], fontsize=7, color=SOFT,
            s=f"bands: intervals over images{bars}\n○ half of the effect; dashed: controls",
        )  # fmt: skip
        return save_figure(figure, directory / files.FIGURES / FIGURE, "dose and response")


def _draw_change(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    """The standardised score by dose: a band of the images, bars of the seeds, and the floor."""
    doses, beyond = panel.doses, _beyond(panel)

    def draw(metric: str, curve: DoseCurve, style: dict[str, Any]) -> float:
        change, low, high = _numbers(curve.change)
        axes.fill_between(doses, low, high, color=style["color"], alpha=0.15, linewidth=0)
        axes.plot(doses, change, **style)
        if curve.seed_sd:
            axes.errorbar(
                doses[1:], change[1:], _known(curve.seed_sd)[1:], fmt="none", capsize=1.6,
                elinewidth=0.7, capthick=0.7, ecolor=style["color"],
            )  # fmt: skip
        half = curve.half_effect.dose
        floor = None if curve.floor is None else _known([curve.floor.value])[0]
        whole = change[-1] if floor is None else floor
        if half is not None:
            axes.plot(half, whole / 2, "o", mfc="white", mec=style["color"], ms=4, mew=1)
        if floor is not None:
            axes.plot([doses[-1], beyond], [change[-1], whole], lw=0.6, ls=":",
                      color=style["color"])  # fmt: skip
            axes.plot(beyond, whole, "D", color=style["color"], ms=2.6)
        return whole

    _draw_lines(axes, panel, colours, draw, beyond)
    ticks = _ticks(doses)
    labels = [f"{100 * t:g}%" for t in ticks]
    if panel.floor:
        ticks, labels = [*ticks, beyond], [*labels, f"\n{panel.floor}"]
    axes.set_xticks(ticks, labels)


def _draw_rho(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    doses = panel.doses[1:]

    def draw(metric: str, curve: DoseCurve, style: dict[str, Any]) -> float:
        rho, low, high = _numbers(curve.rho)
        axes.fill_between(doses, low, high, color=style["color"], alpha=0.15, linewidth=0)
        axes.plot(doses, rho, **style)
        if curve.seed_sd:
            axes.errorbar(
                doses, rho, _known(curve.rho_seed_sd), fmt="none", capsize=1.6,
                elinewidth=0.7, capthick=0.7, ecolor=style["color"],
            )  # fmt: skip
        return rho[-1]

    _draw_lines(axes, panel, colours, draw, doses[-1])
    axes.set_xlim(0, _beyond(panel))
    ticks = _ticks(panel.doses)
    axes.set_xticks(ticks, [f"{100 * t:g}%" for t in ticks])
    axes.set_xlabel(f"{panel.title}: requested share of words")


def _draw_lines(
    axes: Axes,
    panel: Panel,
    colours: Mapping[str, str],
    draw: Callable[[str, DoseCurve, dict[str, Any]], float],
    last: float,
) -> None:
    """Draw every metric's line, and write its name next to the end that `draw` returns."""
    axes.axhline(0, color="#d5d9e0", lw=0.8, zorder=0)
    ends: list[LineEnd] = []
    for metric, curve in panel.curves.items():
        control = metric in panel.controls
        colour = GREY if control else colours[metric]
        style = {"color": colour, "lw": 1.0 if control else 1.4, "ls": "--" if control else "-"}
        end = draw(metric, curve, style)
        if known(end):
            ends.append(LineEnd(metric, colour, end))
    axes.set_xlim(0, last)
    label_ends(axes, ends, last, 72 * HEIGHT)


def _numbers(estimates: Sequence[Estimate]) -> tuple[list[float], list[float], list[float]]:
    """The values and both ends of their intervals; NaN where there is none."""
    return (
        _known([e.value for e in estimates]),
        _known([e.low for e in estimates]),
        _known([e.high for e in estimates]),
    )


def _known(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _beyond(panel: Panel) -> float:
    """The place of the floor on the axis of doses, which ends there."""
    return panel.doses[-1] * (1.12 if panel.floor else 1.0)


def _ticks(doses: Sequence[float]) -> list[float]:
    """At most six of the doses, the first and the last among them; none whose number would run into
    the last one's."""
    if len(doses) <= 6:
        return list(doses)
    step = max(1, -(-(len(doses) - 1) // 5))
    room = (doses[-1] - doses[0]) / 8
    return [*(d for d in doses[:-1:step] if doses[-1] - d >= room), doses[-1]]
