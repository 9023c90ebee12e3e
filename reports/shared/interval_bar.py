"""A metric's ρ as a small drawing: interval, exact tie range and published value on one axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from metaeval.runs.files import PaperValue, paper_value
from reports.graded.row_kind import Record, rho
from reports.shared.formatting import interval, number

WIDTH, HEIGHT, PAD = 176, 18, 6


def domain(records: Sequence[Record], published: Mapping[str, float]) -> tuple[float, float]:
    """The common axis of all rows: whole tenths around 0, every interval and published value.

    Tie ranges, which may span almost everything, are cut at its ends.
    """
    values = [0.0, 0.1]
    for r in records:
        values += [float(v) for v in r.get("rank_order_rho_ci") or (rho(r),) if v is not None]
        if (paper := paper_value(published, r["metric"])) is not None:
            values.append(paper.value)
    return math.floor(10 * min(values)) / 10, math.ceil(10 * max(values)) / 10


def axis(span: tuple[float, float]) -> Markup:
    """The axis' labels, for the head of the column."""
    labels = "".join(
        f'<text x="{_place(t, span):.1f}" y="9" text-anchor="middle">{number(t, 1)}</text>'
        for t in _ticks(span)
    )
    return Markup(  # numbers only
        f'<svg class="iv" width="{WIDTH}" height="11" viewBox="0 0 {WIDTH} 11" aria-hidden="true">'
        f"{labels}</svg>"
    )


def _place(value: float, span: tuple[float, float]) -> float:
    low, high = span
    return PAD + (min(max(value, low), high) - low) / (high - low) * (WIDTH - 2 * PAD)


def _ticks(span: tuple[float, float]) -> list[float]:
    step = 0.2 if span[1] - span[0] <= 1.2 else 0.5
    return [k * step for k in range(-5, 6) if span[0] - 1e-9 <= k * step <= span[1] + 1e-9]


def interval_bar(record: Record, published: PaperValue | None, span: tuple[float, float]) -> Markup:
    """Inline SVG; the number stands beside it, so the drawing is hidden from screen readers.

    The diamond of a published value is dotted where it is another model's.
    """

    def x(value: float) -> str:
        return f"{_place(value, span):.1f}"

    middle = HEIGHT / 2
    value, parts = rho(record), []
    for tick in _ticks(span):
        kind = "zero" if tick == 0 else "tick"
        parts.append(f'<path class="{kind}" d="M{x(tick)} 0V{HEIGHT}"/>')
    for key, kind in (("rank_order_rho_bounds", "range"), ("rank_order_rho_ci", "ci")):
        pair = record.get(key)
        if pair and None not in pair:
            parts.append(f'<path class="{kind}" d="M{x(pair[0])} {middle:g}H{x(pair[1])}"/>')
    if published is not None:
        at, kind = float(x(published.value)), "paper" if published.same_model else "paper other"
        parts.append(
            f'<path class="{kind}" d="M{at - 3.5:.1f} {middle:g}l3.5 -3.5 3.5 3.5 -3.5 3.5z"/>'
        )
    if value is not None:
        parts.append(f'<path class="dot" d="M{x(value)} {middle - 5:g}v10"/>')
    told = [
        f"ρ {number(value, 4)}",
        f"interval {interval(record.get('rank_order_rho_ci'), 4)}",
        f"tie-breaking alone: {interval(record.get('rank_order_rho_bounds'), 4)}",
    ]
    if published is not None:
        who = "" if published.same_model else " for another model"
        told.append(f"published{who}: {number(published.value, 4)}")
    return Markup(  # numbers and our own words only
        f'<span class="rho"><b>{number(value)}</b>'
        f'<svg class="iv" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-hidden="true"><title>{escape("; ".join(told))}</title>'
        f'{"".join(parts)}</svg><span class="vh"> interval '
        f"{interval(record.get('rank_order_rho_ci'))}</span></span>"
    )
