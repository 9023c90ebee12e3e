"""The page of experiment=trust: the matrix of uses and metrics, and the evidence of each cell."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from urllib.parse import quote

from metaeval.reports.blocks import texts
from metaeval.reports.blocks.tables import extra_table
from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.measured import PageOptions
from metaeval.reports.paper.citations import save_links
from metaeval.reports.shared.formatting import number, number_with_interval
from metaeval.reports.shared.print_tables import plain_table
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra
from metaeval.results.trust import cell_text, matrix_rows
from metaeval.runs import files
from metaeval.runs.files import csv_text
from metaeval.runs.print_style import style

CELLS = "cells.csv"  # every piece of evidence, in tables/
HIDDEN = ("id", "why")  # columns of the answers
WORDS = {"shown": "shown", "below": "below", "not shown": "", "cannot tell": "", "control": ""}
CAPTION = (
    "Metrics by use: the rank, and in how many tests of how many the metric is above every blind "
    "control; *: its skill is shown."
)


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The blocks of the page, in order."""
    result = run.result
    context = _context(run)
    evidence = result.extra("evidence")
    ids = [use["id"] for use in context["shown"]]
    lines = [[row["metric"], *(row[use] for use in ids)] for row in matrix_rows(result)]
    table = plain_table("matrix", CAPTION, ["Metric", *ids], lines)
    matrix = rendered("trust_matrix.html.j2", file=CELLS, links=save_links([table]), **context)
    answers = [
        {name: cell for name, cell in use.items() if name not in HIDDEN}
        for use in context["uses"]
        if use["tests"]
    ]
    extras = {extra.name: extra for extra in result.extras if extra.rows}
    return [
        *([extra_table(None, extras["own"])] if "own" in extras else []),
        Block(
            "matrix",
            "Metrics and uses",
            matrix,
            tables=(table,),
            data={CELLS: csv_text([evidence.columns, *evidence.rows])},
        ),
        extra_table(None, Extra.of("uses", "Answers", answers, folded=True)),
        *([extra_table(None, extras["others"])] if "others" in extras else []),
        Block("evidence", "Evidence", rendered("trust_evidence.html.j2", **context)),
        *(extra_table(None, extras[name]) for name in ("silent", "robustness") if name in extras),
        Block("battery", "Battery", rendered("trust_battery.html.j2", **context)),
        texts.notes(run),
        texts.citation_block(run),
        texts.reproduce(run, result.settings, [f"{files.TABLES}/{CELLS}"]),
    ]


def _context(run: LoadedRun) -> dict[str, Any]:
    """What the templates read: cells, evidence and examples by their keys; costs in seconds for
    1,000 captions, of metrics with at least 100 scores and half of them computed."""
    result = run.result
    uses, cells = result.extra("uses").records, result.extra("cells").records
    own = result.settings["highlight"]
    marked = [*(own if isinstance(own, tuple) else ()), *style().highlight]
    shown = [use for use in uses if use["tests"]]
    tested = {
        one["metric"]
        for one in result.extra("evidence").records
        if one["use"] in [use["id"] for use in shown]
    }
    metrics = [m for m in result.metrics if m.name in tested]
    metrics.sort(key=lambda m: (m.column.control, m.name not in marked))
    takes = {}  # what the page's filters look at: "image references network"
    for m in metrics:
        facts = m.numbers.facts
        takes[m.name] = f"{facts['reads'] or ''} {'network' if facts['runs_network'] else ''}"
    evidence, examples, why = defaultdict(list), defaultdict(list), defaultdict(list)
    for one in result.extra("evidence").records:
        evidence[one["use"], one["metric"]].append(one)
    for one in result.extra("examples").records:
        examples[one["item"], one["part"], one["metric"]].append(one)
    for one in result.extra("silent").records:
        why[one["use"]].append(one)
    items = result.extra("items").records
    inside = {item["item"]: str(item["directory"] or "") for item in items}
    return {
        "metrics": metrics,
        "further": [m.name for m in metrics if not m.column.headline and m.name not in marked],
        "absent": [m for m in result.metrics if not m.ok],
        "takes": takes,
        "costs": {
            of.metric: 1000 * of.seconds / of.n_scored
            for of in run.info.metrics
            if of.seconds is not None and of.n_scored >= max(100, of.n_cached)
        },
        "uses": uses,
        "shown": shown,
        "silent": [use for use in uses if not use["tests"] and not use["why"]],
        "untested": [use for use in uses if use["why"]],
        "why": why,
        "cells": {(c["use"], c["metric"]): c for c in cells},
        "anchors": {(c["use"], c["metric"]): f"c{k}" for k, c in enumerate(cells)},
        "text": cell_text,
        "words": WORDS,
        "highlight": marked,
        "evidence": evidence,
        "examples": examples,
        "items": items,
        "reports": {
            item: f"{quote(folder)}/{files.REPORT}" if folder.startswith("items/") else ""
            for item, folder in inside.items()
        },
        "with_interval": number_with_interval,
        "number": number,
        "least": result.settings["minimal_skill"],
        "caveat": result.caveat,
    }
