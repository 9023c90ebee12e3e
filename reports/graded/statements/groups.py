"""Results by group of images: the tables of the page."""

from __future__ import annotations

from typing import NamedTuple

from metaeval.reports.graded.ranking import results
from metaeval.reports.graded.run import GradedRun
from metaeval.reports.graded.statements.controls import controls_of
from metaeval.reports.graded.statements.measures import by_within
from metaeval.reports.shared.elements import Cell
from metaeval.reports.shared.formatting import DASH, count, interval, number, with_interval
from metaeval.results.graded import SelectedStatistics


class GroupTable(NamedTuple):
    """One respect in which images differ: the groups' labels, and a row of cells per metric."""

    by: str
    labels: list[str]
    rows: list[tuple[str, list[Cell]]]


def group_tables(run: GradedRun) -> list[GroupTable]:
    """A table for each respect, metrics best within an image first, controls below."""
    groups = run.result.groups
    names = [m.name for m in [*by_within(results(run)), *controls_of(run.metrics)]]
    tables = []
    for by in dict.fromkeys(g.by for g in groups):
        part = [g for g in groups if g.by == by]
        labels = [f"{g.label} ({count(g.n_images)} images)" for g in part]
        rows = [(name, [_cell(g.metrics.get(name)) for g in part]) for name in names]
        tables.append(GroupTable(by, labels, rows))
    return tables


def _cell(statistics: SelectedStatistics | None) -> Cell:
    if statistics is None:
        return Cell("", DASH)
    within, pooled = statistics.rank_order_rho_within, statistics.rank_order_rho.value
    printed = with_interval(within.value, within.interval)
    hover = f"interval {interval(within.interval)}"
    return Cell("", number(within.value), within.value, hover, number(pooled), printed=printed)
