"""The page of experiment=trust: the matrix of uses and metrics, and the evidence of each cell.

Each metric has a card for print, as wide as a column of a two-column paper (7.7 cm):
`figures/METRIC-trust.svg` and `.pdf`, `tables/METRIC-trust.tex`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from metaeval.reports.blocks import texts
from metaeval.reports.blocks.tables import extra_table
from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.measured import PageOptions
from metaeval.reports.paper.figures import BLUE, INK, PAPER, RED, RULE, SOFT, LazyFigure
from metaeval.reports.shared.formatting import file_stem, number, number_with_interval
from metaeval.reports.shared.print_tables import PrintTable, plain_table
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.trust import cell_text
from metaeval.runs import files
from metaeval.runs.files import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELLS = "cells.csv"  # every piece of evidence, in tables/
HIDDEN = ("id", "why")  # columns of the answers
WORDS = {"shown": "shown", "below": "below", "not shown": "", "cannot tell": "", "control": ""}

WIDTH = 3.03  # inches: a column of the ACL style
_LEFT, _RIGHT, _LINE, _HEAD, _FOOT = 1.38, 0.52, 0.27, 0.6, 0.26  # inches
_TEXT = 6.5  # points
_LOWEST = -0.5  # skills below are drawn here
_LEGEND = "filled: above all controls; red: below one; dashed: minimal skill"
_COLOURS = {"above": BLUE, "below": RED, "neither": SOFT}
Record = Mapping[str, Any]
Row = tuple[Record, Record, Sequence[Record]]  # use, cell, counted evidence


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The blocks of the page, in order."""
    result = run.result
    context = _context(result)
    evidence = result.extra("evidence")
    matrix = rendered("trust_matrix.html.j2", file=CELLS, **context)
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
            data={CELLS: csv_text([evidence.columns, *evidence.rows])},
        ),
        extra_table(None, Extra.of("uses", "Answers", answers, folded=True)),
        *([extra_table(None, extras["others"])] if "others" in extras else []),
        Block("evidence", "Evidence", rendered("trust_evidence.html.j2", **context)),
        *(extra_table(None, extras[name]) for name in ("silent", "robustness") if name in extras),
        Block("battery", "Battery", rendered("trust_battery.html.j2", **context)),
        *(cards(run) if options.figures else []),
        texts.notes(run),
        texts.citation_block(run),
        texts.reproduce(run, result.settings, [f"{files.TABLES}/{CELLS}"]),
    ]


def _context(result: MeasuredResult) -> dict[str, Any]:
    """What the templates read: cells, evidence and examples by their keys."""
    uses, cells = result.extra("uses").records, result.extra("cells").records
    highlight = result.settings["highlight"]
    marked = highlight if isinstance(highlight, tuple) else ()
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
        why[one["use"]].append(f"{one['test']}: {one['reason']}")
    items = result.extra("items").records
    inside = {item["item"]: str(item["directory"] or "") for item in items}
    return {
        "metrics": metrics,
        "further": [m.name for m in metrics if not m.column.headline and m.name not in marked],
        "absent": [m for m in result.metrics if not m.ok],
        "takes": takes,
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
        "links": {
            item: f"{quote(folder)}/{files.REPORT}" if folder.startswith("items/") else ""
            for item, folder in inside.items()
        },
        "with_interval": number_with_interval,
        "number": number,
        "least": result.settings["minimal_skill"],
        "caveat": result.caveat,
    }


def cards(run: LoadedRun) -> list[Block]:
    """A block with the card of every metric that has evidence that counts."""
    names = [m.name for m in run.result.metrics if _rows(run.result, m.name)]
    stems = {name: _stem(name) for name in names}
    if not names:
        return []
    return [
        Block(
            "cards",
            "Cards for print",
            rendered("trust_cards.html.j2", cards=stems),
            tables=tuple(card_table(run.result, name) for name in names),
            figures={
                stem: LazyFigure(partial(card, run.result, name), f"card {content}")
                for name, stem in stems.items()
                for content in [repr((name, _rows(run.result, name), run.result.settings))]
            },
        )
    ]


def card(result: MeasuredResult, metric: str) -> Figure:
    """A line for each use, a mark for each test on the scale from the control to the ceiling."""
    from matplotlib.figure import Figure  # slow to import

    rows = _rows(result, metric)
    least = result.settings["minimal_skill"]
    height = _HEAD + _LINE * len(rows) + _FOOT
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes(
        (
            _LEFT / WIDTH,
            _FOOT / height,
            1 - (_LEFT + _RIGHT) / WIDTH,
            1 - (_HEAD + _FOOT) / height,
        )
    )
    _scale(axes, len(rows), least if isinstance(least, float) else 0.0)
    by_row = axes.get_yaxis_transform()
    for y, (use, cell, tests) in enumerate(rows):
        title = "\n".join(wrap(use["use"], 26))
        axes.text(
            -0.04,
            y,
            title,
            transform=by_row,
            ha="right",
            va="center",
            fontsize=_TEXT,
            color=INK,
            linespacing=0.95,
        )
        weight = "bold" if cell["word"] == "shown" else "normal"
        axes.text(
            1.05,
            y,
            number(cell["skill"], 2),
            transform=by_row,
            va="center",
            fontsize=_TEXT,
            color=INK,
            weight=weight,
        )
        _marks(axes, y, tests)
    figure.text(0.02, 1 - 0.14 / height, metric, fontsize=8.5, weight="bold", va="center")
    for below, text in ((0.31, _about(rows)), (0.45, _LEGEND)):
        figure.text(0.02, 1 - below / height, text, fontsize=_TEXT - 1, color=SOFT, va="center")
    return figure


def card_table(result: MeasuredResult, metric: str) -> PrintTable:
    """The same in numbers: a row per use."""
    rows = _rows(result, metric)
    caption = (
        f"{metric} by use: skill, from the best blind control (0) to the ceiling (1), with its "
        f"interval, what it shows, and its tests. {_about(rows)}."
    )
    lines = [
        [
            use["id"].replace("_", " "),
            number_with_interval(cell["skill"], (cell["skill_low"], cell["skill_high"])),
            cell["word"],
            str(len(tests)),
        ]
        for use, cell, tests in rows
    ]
    return plain_table(_stem(metric), caption, ("Use", "Skill", "Word", "Tests"), lines)


def _stem(metric: str) -> str:
    return f"{file_stem(metric)}-trust"


def _rows(result: MeasuredResult, metric: str) -> list[Row]:
    """The uses for which some evidence of the metric counts: use, cell, counted evidence."""
    counted: dict[str, list[Record]] = defaultdict(list)
    for one in result.extra("evidence").records:
        if one["metric"] == metric and one["outcome"] != "not counted":
            counted[one["use"]].append(one)
    cells = {c["use"]: c for c in result.extra("cells").records if c["metric"] == metric}
    return [
        (use, cells[use["id"]], counted[use["id"]])
        for use in result.extra("uses").records
        if use["id"] in counted
    ]


def _scale(axes: Axes, rows: int, least: float) -> None:
    axes.set_xlim(_LOWEST - 0.05, 1.05)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xticks([0, 0.5, 1], ["control", "0.5", "ceiling"], fontsize=_TEXT - 0.5)
    axes.tick_params(axis="x", length=2, pad=2, colors=SOFT)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=RULE, linewidth=0.8, zorder=0)
    axes.axvline(least, color=RULE, linewidth=0.6, linestyle=(0, (2, 2)), zorder=0)


def _marks(axes: Axes, y: int, tests: Sequence[Record]) -> None:
    """A mark a test, in rows of their own around the line of the use, and its interval."""
    for k, one in enumerate(tests):
        skill, low, high = one["skill"], one["skill_low"], one["skill_high"]
        at = y + (0 if len(tests) < 2 else 0.62 * (k / (len(tests) - 1) - 0.5))
        colour = _COLOURS[one["outcome"]]
        if low is not None and high is not None:
            ends = [min(1.0, max(_LOWEST, end)) for end in (low, high)]
            axes.plot(ends, [at, at], color=colour, linewidth=0.7, solid_capstyle="butt")
        axes.plot(
            [max(_LOWEST, skill)],
            [at],
            "<" if skill < _LOWEST else "o",
            markersize=2.3,
            color=colour,
            markeredgewidth=0.6,
            markerfacecolor=colour if one["outcome"] == "above" else PAPER,
        )


def _about(rows: Sequence[Row]) -> str:
    tests = [one for _, _, several in rows for one in several]
    experiments = len({one["item"] for one in tests})
    return (
        f"{len(tests)} test{'s' * (len(tests) != 1)}, "
        f"{experiments} experiment{'s' * (experiments != 1)}"
    )
