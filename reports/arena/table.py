"""The tables of battles: a row per metric, and a row per system."""

from __future__ import annotations

from functools import partial

from metaeval.reports.judgments.table import METRIC, NOT_ABOVE, is_below
from metaeval.reports.shared.elements import Cell, ColumnHead
from metaeval.reports.shared.formatting import (
    DASH,
    count,
    interval,
    number,
    percent,
    with_interval,
)
from metaeval.reports.shared.interval_bar import Span, axis, interval_bar, span_of
from metaeval.reports.shared.table import MetricsTable, in_order, result_row
from metaeval.reports.shared.training import training_footnotes
from metaeval.results.arena import ALL, ArenaResult, ArenaStatistics
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult

TIES = {
    "half": "A tie of the metric, or a battle without a winner, counts one half.",
    "wrong": "A tie of the metric, or a battle without a winner, counts as wrong.",
}
SYSTEM_HEADS = (
    "System", "Rank", "Strength", "At equal length", "Won", "Tied", "Lost", "Words",
)  # fmt: skip


def arena_table(result: ArenaResult) -> MetricsTable:
    """A row per metric; best first by the agreement over all battles."""
    estimates = [m.numbers.agreement[ALL] for m in result.visible if m.ok]
    span = span_of([0.5, *(v for e in estimates for v in (e.value, e.low, e.high))])
    ties = TIES[result.settings.ties]
    heads = [
        METRIC,
        ColumnHead("rho", "Agreement", f"Share of battles whose winner it prefers. {ties}",
                   axis(span)),
        ColumnHead("length", "Equal length",
                   "Agreement where the captions differ by at most "
                   f"{result.settings.length_tolerance:g} words."),
        ColumnHead("decided", "Decided", "Agreement on the battles that are not ties."),
        *(
            ColumnHead(f"group-{k}", group, f"Agreement on “{group}”.")
            for k, group in enumerate(result.groups)
            if group != ALL
        ),
    ]  # fmt: skip
    if any(m.numbers.systems is not None for m in result.visible if m.ok):
        tip = "Spearman's ρ of the systems' strengths by this metric with those by the winners."
        heads.append(ColumnHead("systems", "Systems ρ", tip))
    heads += [
        ColumnHead("noticed", "Δ at 75 %", "The score difference that wins 75 % of the battles."),
        ColumnHead("ties", "Ties", "Share of battles with exactly equal scores."),
        ColumnHead("n", "n", "Battles that the metric could score."),
    ]
    keys = [head.key for head in heads]
    rows = [result_row(m, keys, partial(_cells, m, result=result, span=span))
            for m in result.visible]  # fmt: skip
    values = {m.name: m.numbers.agreement[ALL].value for m in result.visible if m.ok}
    table = MetricsTable(heads, [("all battles", in_order(rows, values))])
    return table.with_footnotes(training_footnotes(result.visible, result.experiment))


def _cells(
    metric: MetricResult[ArenaStatistics],
    numbers: ArenaStatistics,
    *,
    result: ArenaResult,
    span: Span,
) -> list[Cell]:
    notes = {
        group: NOT_ABOVE if is_below(metric, result.controls.get(group)) else ""
        for group in result.groups
    }
    whole = numbers.agreement[ALL]
    ends = (whole.low, whole.high)
    cells = [
        Cell("rho", interval_bar(whole.value, ends, span), whole.value, note=notes[ALL],
             printed=with_interval(whole.value, ends)),
        _share("length", numbers.equal_length),
        _share("decided", numbers.decided),
        Cell("ties", percent(numbers.ties), numbers.ties),
        Cell("n", count(whole.n or 0), whole.n),
    ]  # fmt: skip
    for k, group in enumerate(result.groups):
        if group != ALL:
            cells.append(_share(f"group-{k}", numbers.agreement[group], notes[group]))
    if (systems := numbers.systems) is not None:
        rho = systems.spearman
        hover = f"interval {interval((rho.low, rho.high))}; {count(systems.battles)} battles"
        cells.append(Cell("systems", number(rho.value), rho.value, hover))
    if (noticed := numbers.noticed) is not None:
        shown = "never" if noticed.value is None else number(noticed.value)
        hover = f"interval {ends_with_never(noticed)}"
        cells.append(Cell("noticed", shown, noticed.value, hover))
    return cells


def ends_with_never(estimate: Estimate) -> str:
    """The interval of a noticed difference, whose ends may be "never".

    >>> ends_with_never(Estimate(value=0.1, low=0.08, high=None))
    '0.080 to never'
    """
    return " to ".join("never" if v is None else number(v) for v in (estimate.low, estimate.high))


def _share(key: str, estimate: Estimate, note: str = "") -> Cell:
    if estimate.value is None:
        return Cell(key, DASH)
    ends = f"interval {percent(estimate.low)} to {percent(estimate.high)}"
    hover = f"{count(estimate.n or 0)} battles; {ends}"
    return Cell(key, percent(estimate.value), estimate.value, hover, note, "outside")


def system_rows(result: ArenaResult) -> list[list[str]]:
    """Rows of `SYSTEM_HEADS`, strongest first; none without a ranking."""
    return [
        [
            system.name,
            str(system.rank),
            _strength(system.strength),
            _strength(system.at_equal_length),
            count(system.won),
            count(system.tied),
            count(system.lost),
            number(system.words, 1),
        ]
        for system in (result.ranking.systems if result.ranking is not None else ())
    ]


def _strength(estimate: Estimate) -> str:
    return f"{number(estimate.value, 2)} ({interval((estimate.low, estimate.high), 2)})"
