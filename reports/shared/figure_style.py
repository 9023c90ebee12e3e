"""The look of SVG files, for `matplotlib.rc_context`: the same bytes whenever they are drawn."""

import math
from collections.abc import Sequence
from typing import Any

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


# The colours of the levels: an ordered ramp from the worst version to the human caption.
#
# Lightness is monotone along the ramp and hue runs from yellow to blue, the axis that the common
# colour-vision deficiencies keep; the best level stands out most from the page, light or dark.

# (lightness, chroma, hue in degrees) in OKLCH, from worst to best
_LIGHT = ((0.84, 0.125, 86.0), (0.68, 0.105, 165.0), (0.56, 0.105, 225.0), (0.36, 0.12, 268.0))
_DARK = ((0.50, 0.095, 75.0), (0.61, 0.10, 165.0), (0.73, 0.105, 220.0), (0.88, 0.065, 255.0))


def levels(n: int, *, dark: bool = False) -> list[str]:
    """`n` colours as #rrggbb, index 0 the worst level."""
    anchors = _DARK if dark else _LIGHT
    if n == 1:
        return [_hex(*anchors[-1])]
    colours = []
    for k in range(n):
        place = k * (len(anchors) - 1) / (n - 1)
        low = min(int(place), len(anchors) - 2)
        part = place - low
        mixed = [a + part * (b - a) for a, b in zip(anchors[low], anchors[low + 1], strict=True)]
        colours.append(_hex(*mixed))
    return colours


def _hex(lightness: float, chroma: float, hue: float) -> str:
    """OKLCH to sRGB (Ottosson 2020), clipped to the gamut."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    gamma = (
        12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055
        for c in (min(max(x, 0.0), 1.0) for x in linear)
    )
    return "#" + "".join(f"{round(255 * c):02x}" for c in gamma)
