"""A value with its interval as a small drawing, on one axis for all rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from metaeval.reports.shared.formatting import interval, known, number
from metaeval.runs.records import PaperValue

WIDTH, HEIGHT, PAD = 176, 18, 9

Span = tuple[float, float]
Interval = Sequence[float | None]


def span_of(values: Iterable[float | None]) -> Span:
    """The common axis of all rows: whole tenths around 0 and every value."""
    shown = [0.0, 0.1, *(float(v) for v in values if v is not None and known(v))]
    return math.floor(10 * min(shown)) / 10, math.ceil(10 * max(shown)) / 10


def axis(span: Span) -> Markup:
    """The axis' labels, for the head of the column."""
    labels = "".join(
        f'<text x="{_place(t, span):.1f}" y="9" text-anchor="middle">{number(t, 1)}</text>'
        for t in _ticks(span)
    )
    return Markup(  # numbers only
        f'<svg class="iv" width="{WIDTH}" height="11" viewBox="0 0 {WIDTH} 11" aria-hidden="true">'
        f"{labels}</svg>"
    )


def interval_bar(
    value: float | None,
    ci: Interval | None,
    span: Span,
    *,
    published: PaperValue | None = None,
    bounds: Interval | None = None,
    title: str = "",
) -> Markup:
    """The number, and next to it inline SVG that is hidden from screen readers.

    Drawn are the value, its confidence interval, as a thin line the `bounds` between which it could
    lie (cut at the ends of the axis), and a diamond at the published value, dotted where that is
    another model's. `title` is the hover text.
    """
    middle = HEIGHT / 2
    parts = [
        f'<path class="{"tick" if tick else "zero"}" d="M{_place(tick, span):.1f} 0V{HEIGHT}"/>'
        for tick in _ticks(span)
    ]
    for pair, kind in ((bounds, "range"), (ci, "ci")):
        if pair and pair[0] is not None and pair[1] is not None:
            low, high = (f"{_place(end, span):.1f}" for end in (pair[0], pair[1]))
            parts.append(f'<path class="{kind}" d="M{low} {middle:g}H{high}"/>')
    if published is not None:
        left = float(f"{_place(published.value, span):.1f}") - 3.5
        kind = "paper" if published.same_model else "paper other"
        parts.append(
            f'<path class="{kind}" d="M{left:.1f} {middle:g}l3.5 -3.5 3.5 3.5 -3.5 3.5z"/>'
        )
    if value is not None:
        parts.append(f'<path class="dot" d="M{_place(value, span):.1f} {middle - 5:g}v10"/>')
    hover = f"<title>{escape(title)}</title>" if title else ""
    return Markup(  # numbers, and a title escaped above
        f'<span class="rho"><b>{number(value)}</b>'
        f'<svg class="iv" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-hidden="true">{hover}{"".join(parts)}</svg>'
        f'<span class="vh"> interval {interval(ci)}</span></span>'
    )


def _place(value: float, span: Span) -> float:
    low, high = span
    return PAD + (min(max(value, low), high) - low) / (high - low) * (WIDTH - 2 * PAD)


def _ticks(span: Span) -> list[float]:
    step = 0.2 if span[1] - span[0] <= 1.2 else 0.5
    return [k * step for k in range(-5, 6) if span[0] - 1e-9 <= k * step <= span[1] + 1e-9]
