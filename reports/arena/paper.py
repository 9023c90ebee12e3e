"""The tables for print and the forest plot of a run of battles."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from metaeval.reports.arena.table import SYSTEM_HEADS, arena_table, system_rows
from metaeval.reports.forced_choice.examples import examples
from metaeval.reports.judgments.examples import Examples
from metaeval.reports.judgments.paper import saved_examples, tables_and_matrices
from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest
from metaeval.reports.paper.saved import SavedMatrix, SavedTable, saved_table
from metaeval.reports.shared.print_tables import PrintTable
from metaeval.reports.shared.run import LoadedRun
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.arena import ALL, ArenaResult


class ArenaTables(NamedTuple):
    """The tables of the page: as the page sorts them, and for print."""

    table: MetricsTable
    metrics: list[PrintTable]
    matrices: list[SavedMatrix]
    systems: SavedTable | None
    examples: list[tuple[Examples, SavedTable]]

    @property
    def all(self) -> list[PrintTable]:
        """Every table that is written to a file."""
        return [
            *self.metrics,
            *(m.table for m in self.matrices if m.table is not None),
            *([self.systems.table] if self.systems is not None else []),
            *(saved.table for _, saved in self.examples),
        ]


def tables(run: LoadedRun[ArenaResult]) -> ArenaTables:
    """All tables of a run. Raises InputError for a file that is missing or damaged."""
    result = run.result
    table = arena_table(result)
    name = table.bodies[0][0]
    metrics, matrices = tables_and_matrices(table, result.title, {name: result.differences})
    rows = system_rows(result)
    caption = f"Systems on {result.title}: log-odds of winning, with intervals."
    systems = saved_table("", "systems", caption, SYSTEM_HEADS, rows) if rows else None
    winner = None if result.settings.winner == "people" else result.settings.winner
    return ArenaTables(table, metrics, matrices, systems, saved_examples([examples(run, winner)]))


def forests(result: ArenaResult, table: MetricsTable) -> list[tuple[str, str, Figure]]:
    """Name, file stem and drawing of the agreement over all battles."""
    name, rows = table.bodies[0]
    lines = []
    for row in rows:
        if row.kind in ("result", "control"):
            whole = result.metric(row.metric).numbers.agreement[ALL]
            plotted = PlottedEstimate(whole.value, (whole.low, whole.high))
            lines.append(ForestRow(row.metric, row.kind, [plotted]))
    axis = f"agreement with the winners; bars: intervals by resampled {result.unit}s"
    return [(name, "forest", forest(lines, axis, chance=0.5))]
