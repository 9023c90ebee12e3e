"""A drawing of matplotlib as SVG and PDF files, and inside a page in the page's own colours.

Drawings of the same content by the same code are drawn once: their files are remembered. Nothing
here imports matplotlib, or reads the content, before something is drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from metaeval.reports.shared.figure_style import STYLE
from metaeval.runs import files
from metaeval.runs.source import digest_of_code
from metaeval.runs.store import remember

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
