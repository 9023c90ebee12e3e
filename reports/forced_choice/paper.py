"""The tables for print and the forest plots of a run of forced choice."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from metaeval.reports.forced_choice.examples import examples
from metaeval.reports.forced_choice.table import choice_table
from metaeval.reports.judgments.examples import Examples
from metaeval.reports.judgments.paper import saved_examples, tables_and_matrices
from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest
from metaeval.reports.paper.saved import SavedMatrix, SavedTable, file_name
from metaeval.reports.shared.print_tables import PrintTable
from metaeval.reports.shared.run import LoadedRun
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.forced_choice import ForcedChoiceResult


class ForcedChoiceTables(NamedTuple):
    """The tables of the page: as the page sorts them, and for print."""

    table: MetricsTable
    metrics: list[PrintTable]
    matrices: list[SavedMatrix]
    examples: list[tuple[Examples, SavedTable]]

    @property
    def all(self) -> list[PrintTable]:
        """Every table that is written to a file."""
        return [
            *self.metrics,
            *(m.table for m in self.matrices if m.table is not None),
            *(saved.table for _, saved in self.examples),
        ]


def tables(run: LoadedRun[ForcedChoiceResult]) -> ForcedChoiceTables:
    """All tables of a run. Raises InputError for a file that is missing or damaged."""
    result = run.result
    table = choice_table(result)
    differences = {
        name: result.differences[n]
        for (name, _), n in zip(table.bodies, result.n_references, strict=True)
    }
    metrics, matrices = tables_and_matrices(table, result.title, differences)
    return ForcedChoiceTables(table, metrics, matrices, saved_examples([examples(run)]))


def forests(result: ForcedChoiceResult, table: MetricsTable) -> list[tuple[str, str, Figure]]:
    """Name, file stem and drawing of the mean accuracy, one for each number of references."""
    drawings = []
    for k, (name, rows) in enumerate(table.bodies):
        lines = []
        for row in rows:
            if row.kind in ("result", "control"):
                mean = result.metric(row.metric).numbers.choice[k].mean
                plotted = PlottedEstimate(mean.value, (mean.low, mean.high))
                lines.append(ForestRow(row.metric, row.kind, [plotted]))
        axis = f"mean accuracy, {name}; bars: intervals by resampled images"
        drawing = forest(lines, axis, chance=0.5)
        drawings.append((name, file_name("forest", k, name), drawing))
    return drawings
