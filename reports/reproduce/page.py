"""The page of experiment=reproduce: printed values next to computed ones, a section a paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from metaeval.reports.blocks import charts, texts
from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.measured import PageOptions
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra

MEANING = {
    "equal": "the same value, to the printed digits",
    "within": "inside the declared uncertainty",
    "differs": "outside; the reason stands next to it",
    "other model": "the metric ran with another model than the paper's",
    "other data": "on other images or references than the paper's",
    "not published": "no printed value is known",
    "not run": "something is missing; the reason says what helps",
}
Record = Mapping[str, Any]


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The items with their verdicts, then a block for each paper."""
    values = defaultdict(list)
    for value in run.result.extra("values").records:
        values[value["paper"], value["item"]].append(value)
    items = run.result.extra("items").records
    summary = rendered("reproduce_items.html.j2", items=items, values=values, meaning=MEANING)
    papers = groupby(items, lambda item: str(item["paper"]))
    return [
        Block("summary", "Items", summary),
        *(_paper(name, list(group), values) for name, group in papers),
        texts.reproduce(run, run.result.settings, ["tables/reproduction.csv"]),
    ]


def _paper(
    name: str, items: Sequence[Record], values: Mapping[tuple[str, str], Sequence[Record]]
) -> Block:
    drawn: dict[str, Markup] = {}
    figures: dict[str, Figure] = {}
    for item in items:
        chart = _chart(item, values[name, item["item"]])
        drawn[item["item"]] = chart.html
        figures |= chart.figures
    html = rendered("reproduce_paper.html.j2", items=items, values=values, charts=drawn)
    return Block(name, name, html, figures=figures)


def _chart(item: Record, values: Sequence[Record]) -> Block:
    """The columns of an item by its cells, where these are numbers and a column has two values."""
    points = [
        {
            "line": value["metric"],
            "x": float(value["cell"]),
            "y": value["ours"],
            "printed": value["published"],
            "x_title": item["axis"],
        }
        for value in values
        if item["axis"]
    ]
    known = [point["line"] for point in points if point["y"] is not None]
    points = [point for point in points if known.count(point["line"]) > 1]
    if not points:
        return Block("", "", Markup(""))
    extra = Extra.of(f"{item['paper']}-{item['item']}", item["title"], points)
    return charts.curves(extra, "Lines: computed here; crosses: printed.")
