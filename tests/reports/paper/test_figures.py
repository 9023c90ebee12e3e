"""Figures: files of the same bytes, and the drawing inside a page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

from metaeval.reports.paper.figures import BLUE, inline, write_figure
from metaeval.reports.shared.figure_style import STYLE


def drawing() -> Figure:
    """A name with markup, a line in the theme's blue."""
    with mpl.rc_context(STYLE):
        figure = Figure((3, 2))
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 0], color=BLUE)
        axes.set_yticks([0, 1], ["CIDEr <b>", "Length"])
    return figure


def test_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    written = [write_figure(drawing(), tmp_path / str(k), "forest", "Title") for k in range(2)]
    assert [p.name for p in written[0]] == ["forest.svg", "forest.pdf"]
    for one, other in zip(*written, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert written[0][1].read_bytes().startswith(b"%PDF-")
    root = ElementTree.parse(written[0][0]).getroot()
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"CIDEr <b>", "Length"} <= set(texts)


def test_inside_a_page_it_follows_the_theme_and_leaves_the_page_alone() -> None:
    text = str(inline(drawing(), "a <label>"))
    ElementTree.fromstring(re.sub(r"xlink:href", "href", text))  # is well formed
    assert 'aria-label="a &lt;label&gt;"' in text
    assert "CIDEr &lt;b&gt;" in text
    assert "var(--link,#1f4f8f)" in text
    assert not re.search(r"(?<!,)#1f4f8f", text)  # every colour can be changed by the theme
    assert "<style" not in text  # matplotlib's would hold for the whole page
    assert not re.search(r' id="[a-z]+2?d?_\d+"', text)
    assert "http://www.w3.org/1999/xhtml" not in text
