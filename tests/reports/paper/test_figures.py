"""Figures: the forest plot's points where they should be, files, and the drawing inside a page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from metaeval.reports.paper.figures import inline, write_figure
from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest

ROWS = [
    ForestRow("CIDEr <b>", "result", [PlottedEstimate(0.7, (0.6, 0.8), 0.65)]),
    ForestRow("unknown", "result", [PlottedEstimate(None, (None, None))]),
    ForestRow("Length", "control", [PlottedEstimate(-0.1, (-0.2, 0.05))]),
]


def drawn(figure: object) -> list[tuple[list[float], list[float]]]:
    """The lines of a forest plot: their ends."""
    (axes,) = figure.axes  # type: ignore[attr-defined]
    return [
        (list(map(float, line.get_xdata())), list(map(float, line.get_ydata())))
        for line in axes.lines
    ]


def test_values_intervals_and_published_values_stand_in_their_rows() -> None:
    figure = forest(ROWS, "ρ")
    lines = drawn(figure)
    assert ([0.6, 0.8], [0.0, 0.0]) in lines
    assert ([0.7], [0.0]) in lines
    assert ([0.65], [0.0]) in lines  # published
    assert ([-0.2, 0.05], [2.0, 2.0]) in lines
    assert all(y != [1.0] and y != [1.0, 1.0] for _, y in lines)  # nothing is known of it
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["CIDEr <b>", "unknown", "Length"]
    assert axes.get_xlabel() == "ρ"
    texts = [t.get_text() for t in axes.texts]
    assert texts == ["0.700 [0.600, 0.800]", "−0.100 [−0.200, 0.050]"]
    top, bottom = axes.transData.transform([(0, 0), (0, 2)])[:, 1]
    assert top > bottom  # the first row is above


def test_several_points_of_a_row_do_not_lie_on_each_other() -> None:
    points = [PlottedEstimate(0.1 * k, None) for k in range(4)]
    series = [(f"system {k}", f"#{k}{k}{k}{k}{k}{k}") for k in range(4)]
    lines = drawn(forest([ForestRow("CIDEr", "result", points)], "ρ", series=series))
    heights = sorted(y[0] for x, y in lines if len(x) == 1)
    assert len(set(heights)) == 4
    assert np.diff(heights) == pytest.approx(np.diff(heights)[0])
    assert max(map(abs, heights)) < 0.5  # of the next row


def test_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    written = [
        write_figure(forest(ROWS, "ρ"), tmp_path / str(k), "forest", "Title") for k in range(2)
    ]
    assert [p.name for p in written[0]] == ["forest.svg", "forest.pdf"]
    for one, other in zip(*written, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert written[0][1].read_bytes().startswith(b"%PDF-")
    root = ElementTree.parse(written[0][0]).getroot()
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"CIDEr <b>", "Length", "published"} <= set(texts)


def test_inside_a_page_it_follows_the_theme_and_leaves_the_page_alone() -> None:
    text = str(inline(forest(ROWS, "ρ"), "a <label>"))
    ElementTree.fromstring(re.sub(r"xlink:href", "href", text))  # is well formed
    assert 'aria-label="a &lt;label&gt;"' in text
    assert "CIDEr &lt;b&gt;" in text
    assert "var(--link,#1f4f8f)" in text
    assert not re.search(r"(?<!,)#1f4f8f", text)  # every colour can be changed by the theme
    assert "<style" not in text  # matplotlib's would hold for the whole page
    assert not re.search(r' id="[a-z]+2?d?_\d+"', text)
    assert "http://www.w3.org/1999/xhtml" not in text
