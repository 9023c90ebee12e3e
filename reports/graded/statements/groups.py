"""Results by group of images: the tables of the page."""

from __future__ import annotations

from typing import Any, NamedTuple

from reports.graded.run import GradedRun
from reports.graded.statements.controls import controls_of
from reports.graded.statements.measures import by_within
from reports.shared.elements import Cell
from reports.shared.formatting import count, interval, number, with_interval


class GroupTable(NamedTuple):
    """One respect in which images differ: the groups' labels, and a row of cells per metric."""

    by: str
    labels: list[str]
    rows: list[tuple[str, list[Cell]]]


def group_tables(run: GradedRun) -> list[GroupTable]:
    """A table for each respect, metrics best within an image first, controls below."""
    groups = run.statistics.get("groups") or []
    names = [r["metric"] for r in [*by_within(run.metrics), *controls_of(run.metrics)]]
    tables = []
    for by in dict.fromkeys(g["by"] for g in groups):
        part = [g for g in groups if g["by"] == by]
        labels = [f"{g['label']} ({count(g['n_images'])} images)" for g in part]
        rows = [(name, [_cell(g["metrics"].get(name) or {}) for g in part]) for name in names]
        tables.append(GroupTable(by, labels, rows))
    return tables


def _cell(statistics: dict[str, Any]) -> Cell:
    value, pooled = statistics.get("rank_order_rho_within"), statistics.get("rank_order_rho")
    ci = interval(statistics.get("rank_order_rho_within_ci"))
    printed = with_interval(value, statistics.get("rank_order_rho_within_ci"))
    return Cell("", number(value), value, f"interval {ci}", number(pooled), printed=printed)
