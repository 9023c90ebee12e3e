"""ρ by the swept parameter, one small chart a metric: inline SVG in the page's own style."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from reports.shared import formatting
from reports.sweep.groups import JobGroup, SeedSpread, number

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 320, 150, 34, 18, 8


def line_chart(groups: Sequence[JobGroup], parameters: Sequence[str], metric: str) -> Markup:
    """Mean ρ (line), its seeds (dots) against the first of `parameters`, a line per other value.

    All charts of a sweep share the axis −0.1 … 1, stretched down where any ρ is lower.
    """
    everything = [v for g in groups for s in g.values.values() for v in s.values]
    low, high = min([-0.1, *everything]), 1.0

    def y(value: float) -> str:
        return f"{TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM):.1f}"

    main = parameters[0] if parameters else None
    xs = list(dict.fromkeys(dict(g.settings).get(main or "", "") for g in groups))
    places = _places(xs)
    series: dict[tuple[tuple[str, str], ...], list[tuple[float, SeedSpread]]] = {}
    for g in groups:
        if metric in g.values:
            rest = tuple(pair for pair in g.settings if pair[0] != main)
            at = places[dict(g.settings).get(main or "", "")]
            series.setdefault(rest, []).append((at, g.values[metric]))
    parts = []
    for tick in (0.0, 0.5, 1.0):
        kind = "zero" if tick == 0 else "tick"
        parts.append(f'<path class="{kind}" d="M{LEFT} {y(tick)}H{WIDTH}"/>')
        parts.append(
            f'<text class="axis" x="{LEFT - 6}" y="{y(tick)}" dy="3" text-anchor="end">'
            f"{formatting.number(tick, 1)}</text>"
        )
    shown = xs if len(xs) <= 6 else [xs[0], xs[-1]]
    parts += [
        f'<text class="axis" x="{places[x]:.1f}" y="{HEIGHT - 4}" text-anchor="middle">'
        f"{escape(x.strip('[]'))}</text>"
        for x in shown
    ]
    for k, (rest, points) in enumerate(series.items()):
        name = escape(", ".join(f"{key}={value}" for key, value in rest) or metric)
        line = "L".join(f"{x:.1f} {y(s.mean)}" for x, s in sorted(points))
        parts.append(f'<path class="line l{k}" d="M{line}"><title>{name}</title></path>')
        parts += [
            f'<circle class="seed l{k}" cx="{x:.1f}" cy="{y(v)}" r="2.4"><title>{name}: '
            f"{formatting.number(v, 4)}</title></circle>"
            for x, s in points
            for v in s.values
        ]
    return Markup(  # numbers, and names escaped above
        f'<svg class="sweep" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="rank-order ρ by {escape(main or "job")}">{"".join(parts)}</svg>'
    )


def _places(xs: Sequence[str]) -> dict[str, float]:
    """Where each value stands: to scale if all are numbers, else evenly."""
    left, right = LEFT + 14, WIDTH - 14
    numbers = [number(x) for x in xs]
    if len(xs) > 1 and all(n is not None for n in numbers) and len(set(numbers)) == len(xs):
        values = [n for n in numbers if n is not None]
        low, high = min(values), max(values)
        return {x: left + (v - low) / (high - low) * (right - left)
                for x, v in zip(xs, values, strict=True)}  # fmt: skip
    return {x: left + (i + 0.5) * (right - left) / len(xs) for i, x in enumerate(xs)}
