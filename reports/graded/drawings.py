"""The figures inside the page: inline SVG from binned data, coloured by the page's own style.

A path of set k has class `l<k>`; the style gives each level its colour in light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

from metaeval.reports.graded.bins import Array, Density
from metaeval.reports.shared.formatting import number, percent, plainly

WIDTH = 320
ORDER_HEIGHT, RIDGE = 92, 27


def order_chart(counts: Array, names: Sequence[str]) -> Markup:
    """Captions by position, [s, bins], worst first: stacked shares, and overlaid as histograms.

    Every bin holds the same number of captions, so the stack fills its frame, and a perfect metric
    draws s clean blocks. The style shows one of the two groups.
    """
    height = ORDER_HEIGHT
    total = counts.sum(axis=0)
    share = counts / np.where(total > 0, total, 1)
    upper = np.cumsum(share, axis=0)
    tallest = max(float(counts.max()), 1.0)
    stacked, overlaid = [], []
    for k, name in enumerate(names):
        title = f"<title>{escape(name)}</title>"
        top = _steps(height * (1 - upper[k]))
        bottom = _steps(height * (1 - (upper[k] - share[k])), backwards=True)
        stacked.append(f'<path class="l{k}" d="M{top}L{bottom}z">{title}</path>')
        line = _steps(height - 2 - (height - 4) * counts[k] / tallest)
        overlaid.append(f'<path class="l{k}" d="M{line}">{title}</path>')
    axis = (
        f'<text class="axis" x="0" y="{height + 14}">worst scores</text>'
        f'<text class="axis" x="{WIDTH}" y="{height + 14}" text-anchor="end">best scores</text>'
    )
    return Markup(  # numbers, and names escaped above
        f'<svg class="order" viewBox="0 0 {WIDTH} {height + 18}" role="img" '
        f'aria-label="Captions of each version by position in the order of score">'
        f'<g class="stacked">{"".join(stacked)}</g>'
        f'<g class="overlaid">{"".join(overlaid)}</g>{axis}</svg>'
    )


def density_chart(d: Density, names: Sequence[str]) -> Markup:
    """Score densities as one ridge per set, best on top; atoms as bars of their share."""
    height = RIDGE * len(names) + 16
    low, high = float(d.edges[0]), float(d.edges[-1])
    parts = []
    for k, name in enumerate(names):
        base = RIDGE * (len(names) - k)
        line = _steps(base - (RIDGE - 4) * d.ridge(k))
        parts.append(f'<path class="base" d="M0 {base}H{WIDTH}"/>')
        parts.append(
            f'<path class="ridge l{k}" d="M0 {base}L{line}L{WIDTH} {base}z">'
            f"<title>{escape(name)}</title></path>"
        )
        for value, shares in d.atoms:
            if not shares[k]:
                continue
            x = min(max((value - low) / (high - low), 0), 1) * (WIDTH - 4)
            tall = max((RIDGE - 4) * shares[k], 0.8)
            parts.append(
                f'<rect class="atom l{k}" x="{x:.1f}" y="{base - tall:.1f}" width="4" '
                f'height="{tall:.1f}"><title>{escape(name)}: {percent(shares[k])} of captions '
                f"score exactly {number(value)}</title></rect>"
            )
            if shares[k] >= 0.05 and len(d.atoms) == 1:
                parts.append(
                    f'<text class="share" x="{x + 7:.1f}" y="{base - 14}">'
                    f"{percent(shares[k], 0)} at {plainly(value)}</text>"
                )
    ticks = [(0.0, low, "start"), (WIDTH / 2, (low + high) / 2, "middle"), (WIDTH, high, "end")]
    parts += [
        f'<text class="axis" x="{x:g}" y="{height - 3}" text-anchor="{anchor}">'
        f"{'score ' if anchor == 'middle' else ''}{number(v, 2)}</text>"
        for x, v, anchor in ticks
    ]
    return Markup(  # numbers, and names escaped above
        f'<svg class="density" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Score densities, one ridge per version">{"".join(parts)}</svg>'
    )


def _steps(y: npt.NDArray[np.float64], *, backwards: bool = False) -> str:
    """A step line through heights `y` of equal bins over the full width: `x y` then H and V."""
    n = len(y)
    edges = [f"{WIDTH * i / n:.4g}" for i in range(n + 1)]
    level = [f"{v:.1f}".removesuffix(".0") for v in y]
    bins = range(n - 1, -1, -1) if backwards else range(n)
    start = edges[n] if backwards else edges[0]
    path, last = [f"{start} {level[bins[0]]}"], level[bins[0]]
    for i in bins:
        if level[i] != last:
            path.append(f"V{level[i]}")
        path.append(f"H{edges[i] if backwards else edges[i + 1]}")
        last = level[i]
    return "".join(_merged(path))


def _merged(path: list[str]) -> list[str]:
    """Drops an H that another H overtakes at once."""
    return [
        p
        for p, after in zip(path, [*path[1:], ""], strict=True)
        if not (p[0] == "H" and after[:1] == "H")
    ]
