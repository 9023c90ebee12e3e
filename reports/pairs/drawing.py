"""The figure: what metrics and controls get on each kind, as an SVG for the page and as a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from reports.shared.formatting import percent
from reports.shared.row_kind import Record, row_kind

WIDTH, ROW, LEFT, RIGHT, TOP = 760, 34, 110, 250, 22
_TEXT = "font-family:sans-serif;font-size:11px"
_INK, _SOFT = "var(--ink,#1d2128)", "var(--soft,#5b6370)"
_RULE, _LINK = "var(--strong-rule,#c4c7c4)", "var(--link,#1f4f8f)"
_BAD = "var(--bad,#a8322a)"


def accuracy_figure(records: Sequence[Record], kinds: Sequence[str], comparison: str) -> Markup:
    """A row a kind: a dot a metric, a ring a control, a bar at the best control; at the right the
    best of both by name. Outside the page the colours are those of its light theme."""
    shown = [r for r in records if row_kind(r) in ("result", "control")]
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
        f'style="width:100%;max-width:{WIDTH}px;height:auto" role="img" '
        f'aria-label="Accuracy of metrics and controls on each kind, {escape(comparison)}">'
        f"{''.join(parts)}</svg>"
    )


def _row(records: Sequence[Record], kind: str, comparison: str, y: float) -> str:
    def value(r: Any) -> float | None:
        v: float | None = r["accuracy"][comparison][kind]["value"]
        return v

    scored = [r for r in records if value(r) is not None]
    parts = [
        f'<text x="{LEFT - 14}" y="{y + 4:g}" text-anchor="end" style="{_TEXT};fill:{_INK}">'
        f"{escape(kind)}</text>"
    ]
    best: dict[bool, Any] = {}
    for r in scored:
        control = row_kind(r) == "control"
        if control not in best or (value(r) or 0) > (value(best[control]) or 0):
            best[control] = r
        paint = f"fill:none;stroke:{_BAD}" if control else f"fill:{_LINK};fill-opacity:.75"
        parts.append(
            f'<circle cx="{_place(value(r) or 0):.1f}" cy="{y + (7 if control else -3):g}" r="3.6" '
            f'style="{paint}"><title>{escape(r["metric"])} {percent(value(r))}</title></circle>'
        )
    if True in best:
        x = _place(value(best[True]) or 0)
        parts.append(
            f'<path d="M{x:.1f} {y - 13:g}V{y + 13:g}" style="stroke:{_BAD};stroke-width:1.6"/>'
        )
    for control, r in best.items():
        colour, dy = (_BAD, 12) if control else (_INK, -1)
        parts.append(
            f'<text x="{WIDTH - RIGHT + 22}" y="{y + dy:g}" style="{_TEXT};fill:{colour}">'
            f"{escape(r['metric'])} {percent(value(r))}</text>"
        )
    return "".join(parts)


def _place(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)
