"""The look of SVG files, for `matplotlib.rc_context`: the same bytes whenever they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "metaeval",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # letters as letters
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # matplotlib ships it: the same sizes on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a919d",
    "axes.labelcolor": "#3c434e",
    "xtick.color": "#5b6370",
    "ytick.color": "#5b6370",
    "legend.frameon": False,
}

# of metrics, distinct in print and for most colour-blind readers; lines are labelled as well
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9", "#8c1d40", "#4d4dff",
    "#e69f00", "#2b6a4d", "#b15928", "#6a3d9a",
)  # fmt: skip
GREY = "#8a919d"  # of controls, which are dashed


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each metric, the same for the same names in the same order."""
    return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
