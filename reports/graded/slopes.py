"""The slope chart: each metric's ρ pooled over all captions, and within an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from metaeval.reports.graded.run import Metric
from metaeval.reports.shared.figure_style import label_places
from metaeval.reports.shared.formatting import number
from metaeval.reports.shared.row_kind import kind_of

WIDTH, LEFT, RIGHT, TOP, LINE = 560, 190, 370, 22, 15
KINDS = ("result", "control")


class Slope(NamedTuple):
    """One line: the metric, its kind (see `kind_of`), its two values."""

    metric: str
    kind: str
    pooled: float
    within: float


def slopes(metrics: Sequence[Metric]) -> list[Slope]:
    """The lines of the metrics that have both values, in the order of the metrics."""
    lines = []
    for m in metrics:
        if kind_of(m) in KINDS:
            pooled = m.numbers.rank_order_rho.value
            within = m.numbers.rank_order_rho_within.value
            if pooled is not None and within is not None:
                lines.append(Slope(m.name, kind_of(m), pooled, within))
    return lines


def slope_chart(lines: Sequence[Slope]) -> Markup:
    """Lines from the pooled value, left, to the value within images, right, on one scale.

    Labels keep a line's height apart; a hair line leads from a label that had to move to its end.
    """
    ends = [value for line in lines for value in (line.pooled, line.within)]
    low, high = min([0.0, *ends]), max(ends, default=1.0)
    height = max(170, LINE * (len(lines) + 2))
    room = height - TOP - 8

    def y(value: float) -> float:
        return TOP + room * (high - value) / ((high - low) or 1.0)

    parts = [
        f'<text class="axis" x="{LEFT}" y="10" text-anchor="end">pooled over all captions</text>',
        f'<text class="axis" x="{RIGHT}" y="10">within an image</text>',
    ]
    for line in lines:
        title = f"{line.metric}: {number(line.pooled)} pooled, {number(line.within)} within"
        parts.append(
            f'<path class="slope {line.kind}" d="M{LEFT} {y(line.pooled):.1f}'
            f'L{RIGHT} {y(line.within):.1f}"><title>{escape(title)}</title></path>'
        )
    for x, step, anchor in ((LEFT, -1, "end"), (RIGHT, 1, "start")):
        values = [line.pooled if x == LEFT else line.within for line in lines]
        heights = label_places([y(value) for value in values], LINE, height - 4)
        for line, value, label in zip(lines, values, heights, strict=True):
            end, name = y(value), escape(line.metric)
            text = f"{name} {number(value)}" if x == LEFT else f"{number(value)} {name}"
            parts.append(
                f'<path class="lead" d="M{x + 3 * step} {end:.1f}L{x + 13 * step} {label:.1f}"/>'
                f'<text class="name {line.kind}" x="{x + 16 * step}" y="{label + 3.5:.1f}" '
                f'text-anchor="{anchor}">{text}</text>'
            )
    return Markup(  # numbers, and names escaped above
        f'<svg class="slopes" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Rank-order ρ '
        f'of every metric, pooled and within an image">{"".join(parts)}</svg>'
    )
