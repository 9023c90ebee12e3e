"""A correlation with its interval as a small drawing, on one axis for all rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from reports.shared.formatting import interval, known, number

WIDTH, HEIGHT, PAD = 176, 18, 6

Span = tuple[float, float]


def span_of(values: Iterable[float | None]) -> Span:
    """The common axis: whole tenths around 0 and every value."""
    shown = [0.0, 0.1, *(float(v) for v in values if v is not None and known(v))]
    return math.floor(10 * min(shown)) / 10, math.ceil(10 * max(shown)) / 10


def bar(
    value: float | None, ci: Sequence[float | None] | None, published: float | None, span: Span
) -> Markup:
    """The number, and beside it its interval, its place and the published value."""

    def x(v: float) -> str:
        return f"{_place(v, span):.1f}"

    middle = HEIGHT / 2
    parts = [
        f'<path class="{"tick" if tick else "zero"}" d="M{x(tick)} 0V{HEIGHT}"/>'
        for tick in _ticks(span)
    ]
    if ci and ci[0] is not None and ci[1] is not None:
        parts.append(f'<path class="ci" d="M{x(ci[0])} {middle:g}H{x(ci[1])}"/>')
    if published is not None:
        at = float(x(published))
        parts.append(
            f'<path class="paper" d="M{at - 3.5:.1f} {middle:g}l3.5 -3.5 3.5 3.5 -3.5 3.5z"/>'
        )
    if value is not None:
        parts.append(f'<path class="dot" d="M{x(value)} {middle - 5:g}v10"/>')
    return Markup(  # numbers only
        f'<span class="rho"><b>{number(value)}</b><svg class="iv" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{"".join(parts)}'
        f'</svg><span class="vh"> interval {interval(ci)}</span></span>'
    )


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


def _place(value: float, span: Span) -> float:
    low, high = span
    return PAD + (min(max(value, low), high) - low) / (high - low) * (WIDTH - 2 * PAD)


def _ticks(span: Span) -> list[float]:
    step = 0.2 if span[1] - span[0] <= 1.2 else 0.5
    return [k * step for k in range(-5, 6) if span[0] - 1e-9 <= k * step <= span[1] + 1e-9]
