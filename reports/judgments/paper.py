"""The tables for print and the forest plots of a run against people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.figure import Figure

from metaeval.reports.judgments.examples import Examples, examples
from metaeval.reports.judgments.groups import group_tables
from metaeval.reports.judgments.table import (
    FURTHER_HEADS,
    STATISTICS,
    further_table,
    ratings_table,
    system_table,
    view_tables,
)
from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest
from metaeval.reports.paper.links import save_links
from metaeval.reports.paper.saved import (
    SavedMatrix,
    SavedTable,
    file_name,
    saved_comparisons,
    saved_table,
)
from metaeval.reports.shared.formatting import count
from metaeval.reports.shared.print_tables import PrintTable, print_tables, signed
from metaeval.reports.shared.run import LoadedRun
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.comparison import Comparisons
from metaeval.results.judgments import JudgmentsResult

FULL = ("gain", "ties", "delta")  # columns that only CSV has
SYSTEM_HEADS = ("Pearson r", "τ-b", "Pairwise accuracy")


class JudgmentTables(NamedTuple):
    """The tables of the page: as the page sorts them, and for print."""

    table: MetricsTable
    metrics: list[PrintTable]
    matrices: list[SavedMatrix]
    views: list[SavedTable]
    systems: list[SavedTable]
    further: list[SavedTable]
    groups: list[SavedTable]
    examples: list[tuple[Examples, SavedTable]]

    @property
    def all(self) -> list[PrintTable]:
        """Every table that is written to a file."""
        return [
            *self.metrics,
            *(m.table for m in self.matrices if m.table is not None),
            *(part.table for part in (*self.views, *self.systems, *self.further, *self.groups)),
            *(saved.table for _, saved in self.examples),
        ]


def tables(run: LoadedRun[JudgmentsResult]) -> JudgmentTables:
    """All tables of a run. Raises InputError for a file that is missing or damaged."""
    result = run.result
    table = ratings_table(result)
    facts = result.facts
    where = f"{count(facts.judged)} captions of {count(facts.images)} images of {result.title}"
    metrics, matrices = tables_and_matrices(table, where, result.differences)
    return JudgmentTables(
        table,
        signed(metrics, result),
        matrices,
        _views(result),
        _systems(result),
        _further(result),
        group_tables(result),
        saved_examples(examples(run)),
    )


def tables_and_matrices(
    table: MetricsTable, title: str, differences: Mapping[str, Comparisons]
) -> tuple[list[PrintTable], list[SavedMatrix]]:
    """The metrics' table for print, one for each body, and who beats whom in each.

    `differences` has the comparisons of each body, by the body's name.
    """
    matrices, equal = [], {}
    for k, (name, rows) in enumerate(table.bodies):
        order = [row.metric for row in rows if row.kind == "result"]
        caption = f"Differences times 100 on {title}, {name}."
        stem = file_name("differences", k, name)
        matrices.append(saved_comparisons(name, stem, caption, differences[name], order))
        if order:
            equal[name] = differences[name].not_separated_from(order[0])
    caption = f"Agreement with human judgements on {title}."
    return print_tables(table, "metrics", caption, equal, FULL), matrices


def saved_examples(groups: list[Examples]) -> list[tuple[Examples, SavedTable]]:
    """The examples of each group with their table for print."""
    listed = []
    for k, part in enumerate(groups):
        table = part.table(file_name("examples", k, part.dimension))
        listed.append((part, SavedTable(part.dimension, table, save_links([table]))))
    return listed


def _views(result: JudgmentsResult) -> list[SavedTable]:
    return [
        saved_table(
            name,
            file_name("parts", k, name),
            f"Parts of the captions, {name}.",
            ("Metric", *heads),
            [[metric, *cells] for metric, cells in rows],
        )
        for k, (name, heads, rows) in enumerate(view_tables(result))
    ]


def _systems(result: JudgmentsResult) -> list[SavedTable]:
    if len(result.systems) < 2:
        return []
    return [
        saved_table(
            name,
            file_name("systems", k, name),
            f"Systems, {name}.",
            ("Metric", *SYSTEM_HEADS),
            [[metric, *cells] for metric, cells in system_table(result, name)],
        )
        for k, name in enumerate(result.dimensions)
    ]


def _further(result: JudgmentsResult) -> list[SavedTable]:
    return [
        saved_table(
            name, file_name("further", k, name), f"Further statistics, {name}.", FURTHER_HEADS, rows
        )
        for k, name in enumerate(result.dimensions)
        if (rows := further_table(result, name))
    ]


def forests(result: JudgmentsResult, table: MetricsTable) -> list[tuple[str, str, Figure]]:
    """Name, file stem and drawing of the quoted statistic, one for each dimension."""
    quoted = result.protocol.statistic
    drawings = []
    for k, (name, rows) in enumerate(table.bodies):
        papers = result.published.values.get(name, {})
        lines = []
        for row in rows:
            if row.kind in ("result", "control"):
                estimate = result.metric(row.metric).numbers.human[name].estimate(quoted)
                ends = (estimate.low, estimate.high)
                plotted = PlottedEstimate(estimate.value, ends, papers.get(row.metric))
                lines.append(ForestRow(row.metric, row.kind, [plotted]))
        axis = f"{STATISTICS[quoted][0]}, {name}; bars: intervals by resampled images"
        drawings.append((name, file_name("forest", k, name), forest(lines, axis)))
    return drawings
