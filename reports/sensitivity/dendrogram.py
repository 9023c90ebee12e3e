"""Which metrics see alike: the tree of the seriation as an SVG drawing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from metaeval.reports.shared.formatting import number

_ROW, _WIDTH, _NAMES, _FOOT = 19, 460, 160, 34


def dendrogram(order: Sequence[str], leaves: Sequence[str], tree: Sequence[Sequence[float]]) -> str:
    """Metrics below one another, joined at their distance; empty for fewer than three.

    `tree` is scipy's linkage of `leaves`: each row joins two clusters at a distance.
    """
    if not tree:
        return ""
    height = len(order) * _ROW + _FOOT
    greatest = max(row[2] for row in tree) or 1.0
    scale = (_WIDTH - 10) / greatest
    place = {k: (0.0, order.index(name) * _ROW + _ROW / 2) for k, name in enumerate(leaves)}
    lines = []
    for step, (a, b, distance, _) in enumerate(tree):
        (xa, ya), (xb, yb), x = place[int(a)], place[int(b)], distance * scale
        lines.append(f"M{xa:.1f} {ya:.1f}H{x:.1f}V{yb:.1f}H{xb:.1f}")
        place[len(leaves) + step] = (x, (ya + yb) / 2)
    names = "".join(
        f'<text x="{_NAMES - 8}" y="{k * _ROW + _ROW / 2 + 4:.1f}" text-anchor="end">'
        f"{escape(name)}</text>"
        for k, name in enumerate(order)
    )
    axis = "".join(
        f'<text x="{_NAMES + scale * at:.1f}" y="{height - 6}" text-anchor="{anchor}">'
        f"{number(at, 2)}</text>"
        for at, anchor in ((0.0, "start"), (greatest / 2, "middle"), (greatest, "end"))
    )
    return Markup(
        f'<svg class="tree" viewBox="0 0 {_NAMES + _WIDTH} {height}" role="img" '
        f'aria-label="Metrics joined by how alike their AUC are">{names}'
        f'<g transform="translate({_NAMES} 0)"><path d="{"".join(lines)}"/></g>{axis}</svg>'
    )
