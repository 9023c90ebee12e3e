"""A table of metrics: its rows, those that did not run among them, and the order of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from metaeval.reports.shared.elements import Cell, ColumnHead, Row
from metaeval.reports.shared.formatting import DASH
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.training import Footnote, marked
from metaeval.results.base import Model
from metaeval.results.metric import MetricResult
from metaeval.runs.records import BATCH_DEPENDENT

Result = TypeVar("Result", bound=Model)


class MetricsTable(NamedTuple):
    """One sortable table: its headers, for each choice of the switch its rows, and footnotes."""

    heads: Sequence[ColumnHead]
    bodies: Sequence[tuple[str, Sequence[Row]]]
    footnotes: Sequence[Footnote] = ()

    def with_footnotes(self, notes: Sequence[Footnote]) -> MetricsTable:
        """The table with these footnotes below it, and their marks in its rows."""
        bodies = [(name, marked(rows, notes)) for name, rows in self.bodies]
        return self._replace(bodies=bodies, footnotes=notes)


def result_row(
    metric: MetricResult[Result], keys: Sequence[str], cells_of: Callable[[Result], Iterable[Cell]]
) -> Row:
    """The row of a metric in the order of the columns' `keys`, a dash where it has no cell.

    `cells_of` makes the cells of a metric's statistics, except that of the name.
    """
    name, kind = metric.name, kind_of(metric)
    note = BATCH_DEPENDENT if metric.column.batch_dependent else ""
    head = Cell("metric", name, name.lower(), note=note)
    if metric.statistics is None:
        reason = f"{metric.status}: {metric.reason or ''}"
        return Row(name, kind, metric.column.part_of, "", (head,), reason, metric.remedy or "")
    cells = {cell.key: cell for cell in (head, *cells_of(metric.statistics))}
    row = tuple(cells.get(key, Cell(key, DASH)) for key in keys)
    return Row(name, kind, metric.column.part_of, metric.signature or "", row)


def in_order(rows: Sequence[Row], values: Mapping[str, float | None]) -> list[Row]:
    """Results best first with their parts under them, then those that learned from the test
    ("trained"), controls, random weights and absent metrics.

    `values` is metric → what it is ranked by. Parts of metrics that are not results come last.
    """

    def badness(row: Row) -> float:
        value = values.get(row.metric)
        return 2.0 if value is None else -value

    ordered: list[Row] = []
    for kind in ("result", "trained"):
        for row in sorted((r for r in rows if r.kind == kind), key=badness):
            ordered.append(row)
            ordered += [r for r in rows if r.kind == "part" and r.parent == row.metric]
    ordered += sorted((r for r in rows if r.kind == "control"), key=badness)
    ordered += [r for kind in ("random", "absent") for r in rows if r.kind == kind]
    placed = {r.metric for r in ordered}
    return ordered + [r for r in rows if r.metric not in placed]
