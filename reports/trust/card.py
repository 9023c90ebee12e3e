"""One metric on a card for print: `figures/METRIC-trust.svg` and `.pdf`, `tables/METRIC-trust.tex`.

As wide as a column of a two-column paper (7.7 cm).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from metaeval.reports.paper.figures import BLUE, INK, PAPER, RED, RULE, SOFT, write_figure
from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.shared.formatting import count, file_stem, number
from metaeval.reports.shared.print_tables import PrintTable, plain_table, write_tables
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.trust import Evidence, Outcome, TrustCell, TrustResult, Use
from metaeval.runs import files

WIDTH = 3.03  # inches: a column of the ACL style
_LEFT, _RIGHT, _LINE, _HEAD, _FOOT = 1.38, 0.52, 0.27, 0.6, 0.26  # inches
_TEXT = 6.5  # points
_LOWEST = -0.5  # effects below are drawn here
_LEGEND = "filled: passes; red: fails; grey: undecided; dashed: least effect"
_SAID: dict[Outcome, str] = {"passes": BLUE, "fails": RED, "undecided": SOFT}


class CardFiles(NamedTuple):
    """The files of a metric's card, relative to the run."""

    metric: str
    paths: tuple[str, ...]


def card_files(result: TrustResult) -> list[CardFiles]:
    """Of every metric that has evidence that counts."""
    return [
        CardFiles(name, (f"{files.FIGURES}/{_stem(name)}.svg", f"{files.FIGURES}/{_stem(name)}.pdf",
                         f"tables/{_stem(name)}.tex", f"tables/{_stem(name)}.csv"))
        for name in _names(result)
    ]  # fmt: skip


def write_cards(run: LoadedRun[TrustResult]) -> None:
    """Write the card of every metric that has evidence that counts."""
    folder = run.directory / files.FIGURES
    folder.mkdir(exist_ok=True)
    tables = []
    for name in _names(run.result):
        write_figure(card(run.result, name), folder, _stem(name), f"{name}: which use?")
        tables.append(card_table(run.result, name))
    write_tables(run.directory, tables)


def card(result: TrustResult, metric: str) -> Figure:
    """The drawing: a line for each use, a mark for each test on the scale from control to ceiling.

    Raises KeyError for a metric that the result does not have.
    """
    rows = list(_rows(result, metric))
    height = _HEAD + _LINE * len(rows) + _FOOT
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        axes = figure.add_axes(
            (
                _LEFT / WIDTH,
                _FOOT / height,
                1 - (_LEFT + _RIGHT) / WIDTH,
                1 - (_HEAD + _FOOT) / height,
            )
        )
        _scale(axes, len(rows), result.rules.minimal_effect)
        for y, (use, cell) in enumerate(rows):
            axes.text(
                -0.04,
                y,
                _broken(use.title),
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="center",
                fontsize=_TEXT,
                color=INK,
                linespacing=0.95,
            )
            axes.text(1.05, y, cell.verdict, transform=axes.get_yaxis_transform(), va="center",
                      fontsize=_TEXT, color=INK,
                      weight="bold" if cell.verdict == "yes" else "normal")  # fmt: skip
            _marks(axes, y, cell)
        figure.text(0.02, 1 - 0.14 / height, metric, fontsize=8.5, weight="bold", va="center")
        for below, text in ((0.31, _about(rows)), (0.45, _LEGEND)):
            figure.text(0.02, 1 - below / height, text, fontsize=_TEXT - 1, color=SOFT, va="center")
    return figure


def card_table(result: TrustResult, metric: str) -> PrintTable:
    """The same in numbers: a row per use."""
    rows = [
        [
            use.id.replace("_", " "),
            cell.verdict,
            _passed(cell),
            _least(cell),
        ]
        for use, cell in _rows(result, metric)
    ]
    caption = (
        f"{metric} by use: verdict, tests passed, and the least effect of a test on the scale from "
        f"the best control (0) to the ceiling (1). {_about(list(_rows(result, metric)))}."
    )
    return plain_table(_stem(metric), caption, ("Use", "Verdict", "Tests", "Least"), rows)


def _names(result: TrustResult) -> list[str]:
    return [m.name for m in result.judged if any(c.counted for c in m.numbers.cells.values())]


def _stem(metric: str) -> str:
    return f"{file_stem(metric)}-trust"


def _rows(result: TrustResult, metric: str) -> Iterator[tuple[Use, TrustCell]]:
    """The uses for which some evidence of the metric counts."""
    for use in result.uses:
        if (cell := result.cell(use.id, metric)).counted:
            yield use, cell


def _scale(axes: Axes, rows: int, least: float) -> None:
    axes.set_xlim(_LOWEST - 0.05, 1.05)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xticks([0, 0.5, 1], ["control", "0.5", "ceiling"], fontsize=_TEXT - 0.5)
    axes.tick_params(axis="x", length=2, pad=2, colors=SOFT)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=RULE, linewidth=0.8, zorder=0)
    axes.axvline(least, color=RULE, linewidth=0.6, linestyle=(0, (2, 2)), zorder=0)


def _marks(axes: Axes, y: int, cell: TrustCell) -> None:
    """A mark a test, in rows of their own around the line of the use, and its interval."""
    tests = cell.counted
    for k, one in enumerate(tests):
        if one.effect.value is None:
            continue
        at = y + (0 if len(tests) < 2 else 0.62 * (k / (len(tests) - 1) - 0.5))
        colour = _SAID[one.outcome]
        if (ends := one.effect.interval) is not None:
            low, high = (min(1.0, max(_LOWEST, end)) for end in ends)
            axes.plot([low, high], [at, at], color=colour, linewidth=0.7, solid_capstyle="butt")
        beyond = one.effect.value < _LOWEST
        axes.plot([max(_LOWEST, one.effect.value)], [at], "<" if beyond else "o", markersize=2.3,
                  color=colour, markeredgewidth=0.6,
                  markerfacecolor=colour if one.outcome == "passes" else PAPER)  # fmt: skip


def _about(rows: list[tuple[Use, TrustCell]]) -> str:
    evidence: list[Evidence] = [e for _, cell in rows for e in cell.counted]
    experiments = len({e.item for e in evidence})
    passed = sum(e.outcome == "passes" for e in evidence)
    return (
        f"{count(passed)} of {count(len(evidence))} tests passed, "
        f"{experiments} experiment{'s' * (experiments != 1)}"
    )


def _passed(cell: TrustCell) -> str:
    return f"{sum(e.outcome == 'passes' for e in cell.counted)} of {len(cell.counted)}"


def _least(cell: TrustCell) -> str:
    values = [e.effect.value for e in cell.counted if e.effect.value is not None]
    return number(min(values), 2) if values else ""


def _broken(title: str, most: int = 26) -> str:
    """A title on as few lines as fit."""
    lines = [""]
    for word in title.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
