"""The page of experiment=reproduce: how many printed values come out, then each paper's tables with
ours under theirs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.texts import NOTHING, Block, rendered
from metaeval.reports.measured import PageOptions
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra

MEANING = {
    "equal": "the same value, to the printed digits",
    "within": "inside the declared uncertainty",
    "differs": "outside; the cause, or what is suspected, is listed below",
    "other model": "the metric ran with another model than the paper's",
    "other data": "on other images or references than the paper's",
    "not run": "a model or data is not there; listed below with the command that needs it",
}
Record = Mapping[str, Any]


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The counts, the values that differ or are missing, then a block for each paper."""
    values = run.result.extra("values").records
    items = run.result.extra("items").records
    of_item: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for value in values:
        of_item[value["paper"], value["item"]].append(value)
    papers = groupby(items, lambda item: str(item["paper"]))
    overview = [e for e in run.result.extras if e.name == "overview" and e.rows]
    return [
        *(tables.extra_table(None, extra) for extra in overview),
        Block("summary", "What comes out", _summary(values, items)),
        *(_paper(name, list(group), of_item) for name, group in papers),
        texts.reproduce(run, run.result.settings, ["tables/reproduction.csv"]),
    ]


def _summary(values: Sequence[Record], items: Sequence[Record]) -> Markup:
    printed = [value for value in values if value["published"] is not None]
    rows = {"printed": "values that the papers print", **MEANING}
    counts = {
        name: [
            sum(name in ("printed", v["verdict"]) and v["of"] in whose for v in printed)
            for whose in (("own", "compared", ""), ("own",), ("compared",))
        ]
        for name in rows
    }
    missing: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for value in printed:
        if value["verdict"] == "not run":
            missing[value["paper"], value["item"], value["reason"]].append(value)
    return rendered(
        "reproduce_items.html.j2",
        meaning=rows,
        counts=counts,
        n_alone=len(values) - len(printed),
        differing=[value for value in printed if value["verdict"] == "differs"],
        missing=missing,
        items={(item["paper"], item["item"]): item for item in items},
        shown=_shown,
    )


def _shown(value: Record) -> str:
    """Our value with a digit more than the printed one; four digits at least, six at most."""
    digits = Decimal(f"{value['published'] or 0:g}").normalize().as_tuple().digits
    return f"{value['ours']:.{min(max(len(digits) + 1, 4), 6)}g}"


def _paper(
    name: str, items: Sequence[Record], of_item: Mapping[tuple[str, str], Sequence[Record]]
) -> Block:
    drawn: dict[str, Markup] = {}
    figures: dict[str, Any] = {}
    for item in items:
        chart = _chart(item, of_item[name, item["item"]])
        drawn[item["item"]] = chart.html
        figures |= chart.figures
    grouped: dict[str, list[Record]] = {}
    for item in items:
        grouped.setdefault(item["table"], []).append(item)
    of_paper = [_table(title, group, of_item) for title, group in grouped.items()]
    html = rendered(
        "reproduce_paper.html.j2", paper=items[0], tables=of_paper, charts=drawn, shown=_shown
    )
    return Block(name, name, html, figures=figures)


def _table(
    title: str, items: Sequence[Record], of_item: Mapping[tuple[str, str], Sequence[Record]]
) -> dict[str, Any]:
    """A table as the paper has it: `cells` are (row, part, column) → values, `reasons` are
    (verdict, reason) → rows."""
    cells: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    numbers: dict[tuple[str, str], float] = {}
    reasons: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for item in items:
        for value in of_item[item["paper"], item["item"]]:
            cells[value["row"], item["part"], value["column"]].append(value)
            if item["axis"]:
                numbers[item["part"], value["column"]] = float(value["cell"])
            if value["reason"]:
                reasons[value["verdict"], value["reason"]][value["row"]] = None
    columns = list(dict.fromkeys((part, column) for _, part, column in cells))
    parts = list(dict.fromkeys(part for part, _ in columns))
    if len(numbers) == len(columns):
        columns.sort(key=lambda column: numbers[column])
    return {
        "title": items[0]["title"] if len(items) == 1 else title,
        "items": items,
        "rows": list(dict.fromkeys(row for row, _, _ in cells)),
        "parts": {part: [column for of, column in columns if of == part] for part in parts},
        "cells": cells,
        "reasons": {key: ", ".join(rows) for key, rows in reasons.items()},
    }


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
        return NOTHING
    extra = Extra.of(f"{item['paper']}-{item['item']}", item["title"], points)
    return charts.curves(extra, "Lines: computed here; crosses: printed.")
