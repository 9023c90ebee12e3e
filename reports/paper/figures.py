"""A drawing of matplotlib as SVG and PDF files, and inside a page in the page's own colours."""

import io
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from metaeval.reports.shared.figure_style import STYLE
from metaeval.runs import files

# colours of the page's light theme, by which files are drawn → their names in its style
INK, SOFT, RULE = "#1d2128", "#5b6370", "#c4c7c4"
BLUE, RED, PAPER = "#1f4f8f", "#a8322a", "#ffffff"
_NAMES = {INK: "ink", SOFT: "soft", RULE: "strong-rule", BLUE: "link", RED: "bad", PAPER: "paper"}
_NO_DATES = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
_PIXELS = 4 / 3  # of a point


def write_figure(
    figure: Figure, folder: Path, stem: str, title: str, forms: Sequence[str] = ("svg", "pdf")
) -> list[Path]:
    """Write `folder/stem.svg` and `.pdf`; the same drawing gives the same bytes."""
    written = []
    with mpl.rc_context(STYLE):
        for form in forms:
            path = folder / f"{stem}.{form}"
            metadata = {**_NO_DATES[form], "Title": title}
            files.atomic(path, partial(figure.savefig, format=form, metadata=metadata))
            written.append(path)
    return written


def inline(figure: Figure, label: str) -> Markup:
    """The drawing as an element of a page, in its natural size and in the colours of the theme.

    `label` is what a screen reader says of it.
    """
    out = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata=_NO_DATES["svg"])
    text = out.getvalue()
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r' id="[a-zA-Z0-9]+_\d+"', "", body)  # two drawings would share them
    for colour, name in _NAMES.items():
        body = body.replace(colour, f"var(--{name},{colour})")
    body = re.sub(r">\s+<", "><", body).strip()
    width, height = (72 * inches for inches in figure.get_size_inches())
    return Markup(  # matplotlib's own drawing, and a label escaped here
        f'<svg class="drawn" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{_PIXELS * width:.0f}" '
        f'height="{_PIXELS * height:.0f}">{body}'
    )
