"""Drawings of matplotlib, their look and colours: as SVG and PDF files, and inside a page.

Drawings of the same content by the same code are drawn once: their files are remembered. Nothing
here imports matplotlib, or reads the content, before something is drawn.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from metaeval.runs import files
from metaeval.runs.source import digest_of_code
from metaeval.runs.store import remember

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# the look of files, for `matplotlib.rc_context`: the same bytes whenever they are drawn
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

# colours of the page's light theme, by which files are drawn → their names in its style
INK, SOFT, RULE = "#1d2128", "#5b6370", "#c4c7c4"
BLUE, RED, PAPER = "#1f4f8f", "#a8322a", "#ffffff"
_NAMES = {INK: "ink", SOFT: "soft", RULE: "strong-rule", BLUE: "link", RED: "bad", PAPER: "paper"}
_NO_DATES: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None},
}
_PIXELS = 4 / 3  # of a point


@cache
def page_code() -> str:
    """A digest of the code and the packages that make pages and their figures."""
    rooms = ("reports", "results", "runs", "stats")
    return f"pages {digest_of_code(rooms, ('matplotlib', 'numpy', 'pandas', 'seaborn'))}"


class LazyFigure:
    """A figure, which is drawn when one of its files is not remembered.

    Parameters
    ----------
    draw
        Makes the figure.
    content
        All that it depends on besides code.
    """

    def __init__(self, draw: Callable[[], Figure], content: str) -> None:
        self._draw, self._content = draw, content

    @cached_property
    def figure(self) -> Figure:
        """The figure itself."""
        import matplotlib as mpl  # slow to import

        with mpl.rc_context(STYLE):
            return self._draw()

    @cached_property
    def _laid_out(self) -> bytes:
        """The SVG of the page; the files have its layout."""
        content = _saved(self.figure, "svg")
        self.figure.set_layout_engine("none")
        return content

    @cached_property
    def svg(self) -> str:
        """The SVG of the page."""
        return remember(page_code(), f"{self._content} svg", lambda: self._laid_out).decode()

    def file(self, form: str, title: str) -> bytes:
        """Its file in this form, with this title."""

        def save() -> bytes:
            _ = self._laid_out
            return _saved(self.figure, form, title)

        return remember(page_code(), f"{self._content} {form} {title}", save)


def _saved(figure: Figure, form: str, title: str | None = None) -> bytes:
    import matplotlib as mpl  # slow to import

    out = io.BytesIO()
    titled = {} if title is None else {"Title": title}
    with mpl.rc_context(STYLE):
        figure.savefig(out, format=form, metadata={**_NO_DATES[form], **titled})
    return out.getvalue()


def write_figure(figure: LazyFigure, folder: Path, stem: str, title: str) -> None:
    """Write `folder/stem.svg` and `.pdf`; the same drawing gives the same bytes."""
    for form in ("svg", "pdf"):
        content = figure.file(form, title)
        files.atomic(folder / f"{stem}.{form}", partial(Path.write_bytes, data=content))


def inline(drawing: LazyFigure, label: str) -> Markup:
    """The drawing as an element of a page, in its natural size and in the colours of the theme.

    `label` is what a screen reader says of it.
    """
    text = drawing.svg
    start = text.index("<svg")
    size = re.findall(r'(?:width|height)="([0-9.]+)pt"', text[start : text.index(">", start)])
    body = text[text.index(">", start) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r' id="[a-zA-Z0-9]+_\d+"', "", body)  # two drawings would share them
    for colour, name in _NAMES.items():
        body = body.replace(colour, f"var(--{name},{colour})")
    body = re.sub(r">\s+<", "><", body).strip()
    width, height = map(float, size)
    return Markup(  # matplotlib's own drawing, and a label escaped here
        f'<svg class="drawn" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{_PIXELS * width:.0f}" '
        f'height="{_PIXELS * height:.0f}">{body}'
    )


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


def level_colours(n: int, *, dark: bool = False) -> list[str]:
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
