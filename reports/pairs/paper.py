"""The tables for print and the figures of a run on true and false captions."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from metaeval.reports.pairs.drawing import accuracy_figure, print_figure
from metaeval.reports.pairs.examples import HEADS, examples
from metaeval.reports.pairs.table import accuracy_table, control_rows, refinement_table
from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest
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
from metaeval.results.pairs import PairsResult

CONTROL_HEADS = ("Kind", "Best control", "Best metric", "Metrics above it", "What the kind shows")


class PairTables(NamedTuple):
    """The tables of the page: as the page sorts them, and for print."""

    table: MetricsTable
    metrics: list[PrintTable]
    matrices: list[SavedMatrix]
    controls: list[SavedTable]
    refinements: list[SavedTable]
    examples: tuple[list[tuple[str, list[list[str]]]], SavedTable]

    @property
    def all(self) -> list[PrintTable]:
        """Every one that has a file."""
        saved = [*self.controls, *self.refinements, self.examples[1]]
        return [
            *self.metrics,
            *(m.table for m in self.matrices if m.table is not None),
            *(part.table for part in saved if part.table.groups[0]),
        ]


class PairDrawings(NamedTuple):
    """The figures of one comparison, and the stems of their files.

    `kinds` is the drawing of the page, whose points have hover texts, `kinds_print` the same for
    print.
    """

    name: str
    kinds_stem: str
    kinds: Markup
    kinds_print: Figure
    forest_stem: str
    forest: Figure


def tables(run: LoadedRun[PairsResult]) -> PairTables:
    """All tables of a run. Raises InputError for a file that is missing or broken."""
    result, table = run.result, accuracy_table(run.result)
    title = result.title
    matrices, equal = [], {}
    for k, (name, rows) in enumerate(table.bodies):
        order = [row.metric for row in rows if row.kind == "result"]
        caption = f"Differences in points of mean accuracy on {title}, {name}."
        stem = file_name("differences", k, name)
        family = result.differences[name]
        matrices.append(saved_comparisons(name, stem, caption, family, order))
        if order:
            equal[name] = family.not_separated_from(order[0])
    facts = result.facts
    of_pairs = (
        f"How often the truth is preferred in {count(facts.pairs)} pairs of "
        f"{count(facts.images)} images of {title}."
    )
    controls, refinements = [], []
    for k, name in enumerate(result.comparisons):
        caption = f"What each kind of {title} shows, {name}."
        stem = file_name("controls", k, name)
        rows_of_kinds = control_rows(result, name)
        controls.append(saved_table(name, stem, caption, CONTROL_HEADS, rows_of_kinds))
        heads, lines = refinement_table(result, name)
        caption = f"Accuracy in percent before and after refinement on {title}, {name}."
        stem = file_name("refinement", k, name)
        refinements.append(saved_table(name, stem, caption, ["Metric", *heads], lines))
    listed = examples(run)
    caption = f"Where metrics err most on {title}."
    rows_of = [[metric, *row] for metric, rows in listed for row in rows]
    return PairTables(
        table,
        signed(print_tables(table, "metrics", of_pairs, equal), result),
        matrices,
        controls,
        refinements,
        (listed, saved_table("", "examples", caption, HEADS, rows_of)),
    )


def drawings(result: PairsResult, table: MetricsTable) -> list[PairDrawings]:
    """The figures of each comparison: accuracies by kind, and their means with intervals."""
    kinds, drawn = list(result.kinds), []
    for k, (name, rows) in enumerate(table.bodies):
        shown = {row.metric: row.kind for row in rows if row.kind in ("result", "control")}
        means = {m: result.metric(m).numbers.accuracy[name].mean for m in shown}
        lines = [
            ForestRow(m, kind, [PlottedEstimate(means[m].value, (means[m].low, means[m].high))])
            for m, kind in shown.items()
        ]
        axis = f"mean accuracy, {name}; bars: intervals by resampled images"
        drawn.append(
            PairDrawings(
                name,
                file_name("accuracy", k, name),
                accuracy_figure(result.visible, kinds, name),
                print_figure(result.visible, kinds, name),
                file_name("forest", k, name),
                forest(lines, axis, chance=0.5),
            )
        )
    return drawn
