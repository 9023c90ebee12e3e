"""The look of SVG files, for `matplotlib.rc_context`: the same bytes whenever they are drawn."""

from __future__ import annotations

from typing import Any

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "metaeval",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a919d",
    "axes.labelcolor": "#3c434e",
    "xtick.color": "#5b6370",
    "ytick.color": "#5b6370",
    "legend.frameon": False,
}
