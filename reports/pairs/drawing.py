"""The figure: what metrics and controls get on each kind, for the page and for print."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from metaeval.reports.paper.figures import BLUE, RED
from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.shared.formatting import percent
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.metric import MetricResult
from metaeval.results.pairs import PairsStatistics

Metrics = Sequence[MetricResult[PairsStatistics]]

WIDTH, ROW, LEFT, RIGHT, TOP = 760, 34, 110, 250, 22
_TEXT = "font-family:sans-serif;font-size:11px"
_INK, _SOFT = "var(--ink,#1d2128)", "var(--soft,#5b6370)"
_RULE, _LINK = "var(--strong-rule,#c4c7c4)", "var(--link,#1f4f8f)"
_BAD = "var(--bad,#a8322a)"


def accuracy_figure(metrics: Metrics, kinds: Sequence[str], comparison: str) -> Markup:
    """A row per kind: a dot a metric, a ring a control, a bar at the best control; at the right the
    best of both by name. Outside the page the colours are those of its light theme."""
    shown = [m for m in metrics if kind_of(m) in ("result", "control")]
    height = TOP + ROW * len(kinds) + 8
    parts = [
        f'<text x="{_place(k / 4):.1f}" y="12" text-anchor="middle" '
        f'style="{_TEXT};fill:{_SOFT}">{25 * k}%</text>'
        f'<path d="M{_place(k / 4):.1f} {TOP - 6}V{height - 8}" style="stroke:{_RULE};fill:none"/>'
        for k in range(5)
    ]
    for i, kind in enumerate(kinds):
        parts.append(_row(shown, kind, comparison, TOP + ROW * i + ROW / 2))
    return Markup(  # numbers, and names escaped in `_row`
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" style="display:block" role="img" '
        f'aria-label="Accuracy of metrics and controls on each kind, {escape(comparison)}">'
        f"{''.join(parts)}</svg>"
    )


def print_figure(metrics: Metrics, kinds: Sequence[str], comparison: str) -> Figure:
    """The same by matplotlib: metrics as dots, controls as rings below, a bar at the best one."""
    shown = [m for m in metrics if kind_of(m) in ("result", "control")]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 0.42 * len(kinds) + 0.95))
        FigureCanvasAgg(figure)
        axes = figure.add_axes(
            (0.2, 0.5 / figure.get_figheight(), 0.76, 1 - 0.85 / figure.get_figheight())
        )
        axes.set(xlim=(0, 1.01), ylim=(len(kinds) - 0.4, -0.6))
        axes.set_xlabel(f"accuracy, {comparison}")
        axes.set_yticks(range(len(kinds)), kinds)
        axes.tick_params(axis="y", length=0)
        for y, kind in enumerate(kinds):
            for control, offset, face in ((False, -0.12, BLUE), (True, 0.16, "none")):
                values = [
                    m.numbers.accuracy[comparison].kinds[kind].value
                    for m in shown
                    if m.column.control is control
                ]
                known = [v for v in values if v is not None]
                edge = RED if control else BLUE
                axes.plot(known, [y + offset] * len(known), "o", markersize=4, color=edge,
                          markerfacecolor=face, alpha=0.85)  # fmt: skip
                if control and known:
                    axes.plot([max(known)] * 2, [y - 0.36, y + 0.36], color=RED, linewidth=1.3)
        handles = [
            Line2D([], [], marker="o", linewidth=0, color=BLUE, label="metric"),
            Line2D([], [], marker="o", linewidth=0, color=RED, markerfacecolor="none",
                   label="control (bar: the best)"),
        ]  # fmt: skip
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2,
                    borderaxespad=0)  # fmt: skip
    return figure


def _row(metrics: Metrics, kind: str, comparison: str, y: float) -> str:
    values = {m.name: m.numbers.accuracy[comparison].kinds[kind].value for m in metrics}
    points = [(m.name, m.column.control, v) for m in metrics if (v := values[m.name]) is not None]
    parts = [
        f'<text x="{LEFT - 14}" y="{y + 4:g}" text-anchor="end" style="{_TEXT};fill:{_INK}">'
        f"{escape(kind)}</text>"
    ]
    best: dict[bool, tuple[str, float]] = {}
    for name, control, value in points:
        if control not in best or value > best[control][1]:
            best[control] = (name, value)
        paint = f"fill:none;stroke:{_BAD}" if control else f"fill:{_LINK};fill-opacity:.75"
        parts.append(
            f'<circle cx="{_place(value):.1f}" cy="{y + (7 if control else -3):g}" r="3.6" '
            f'style="{paint}"><title>{escape(name)} {percent(value)}</title></circle>'
        )
    if True in best:
        x = _place(best[True][1])
        parts.append(
            f'<path d="M{x:.1f} {y - 13:g}V{y + 13:g}" style="stroke:{_BAD};stroke-width:1.6"/>'
        )
    for control, (name, value) in best.items():
        colour, dy = (_BAD, 12) if control else (_INK, -1)
        parts.append(
            f'<text x="{WIDTH - RIGHT + 22}" y="{y + dy:g}" style="{_TEXT};fill:{colour}">'
            f"{escape(name)} {percent(value)}</text>"
        )
    return "".join(parts)


def _place(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)
