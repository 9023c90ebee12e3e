"""What of a run on true and false captions goes into a paper: its tables for print, and figures."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from reports.pairs.drawing import accuracy_figure, print_figure
from reports.pairs.examples import HEADS, examples
from reports.pairs.table import MEAN, accuracy_table, control_rows, refinement_table
from reports.paper.differences import equal_to_best
from reports.paper.forest import Estimate, ForestRow, forest
from reports.paper.saved import SavedMatrix, SavedTable, file_name, saved_matrix, saved_table
from reports.shared.print_tables import PrintTable, print_tables
from reports.shared.run import FinishedRun
from reports.shared.table import MetricsTable

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


def tables(run: FinishedRun) -> PairTables:
    """All tables of a run. Raises InputError for a file that is missing or broken."""
    statistics, table = run.statistics, accuracy_table(run)
    title, alpha = statistics["title"], statistics["settings"]["alpha"]
    matrices, equal = [], {}
    for k, (name, rows) in enumerate(table.bodies):
        order = [row.metric for row in rows if row.kind == "result"]
        caption = f"Differences in points of mean accuracy on {title}, {name}."
        stem = file_name("differences", k, name)
        made = saved_matrix(name, stem, caption, statistics["differences"][name], order, alpha)
        matrices.append(made)
        if order:
            equal[name] = equal_to_best(statistics["differences"][name], order[0], alpha)
    controls, refinements = [], []
    for k, name in enumerate(statistics["comparisons"]):
        rows_of_kinds = [[kind, *cells] for kind, cells in control_rows(run, name)]
        caption = f"What each kind of {title} shows, {name}."
        stem = file_name("controls", k, name)
        controls.append(saved_table(name, stem, caption, CONTROL_HEADS, rows_of_kinds))
        heads, lines = refinement_table(run, name)
        before_after = [[metric, *cells] for metric, cells in lines]
        caption = f"Accuracy in percent before and after refinement on {title}, {name}."
        stem = file_name("refinement", k, name)
        refinements.append(saved_table(name, stem, caption, ["Metric", *heads], before_after))
    listed = examples(run)
    caption = f"Where metrics err most on {title}."
    rows_of = [[metric, *row] for metric, rows in listed for row in rows]
    return PairTables(
        table,
        print_tables(table, "metrics", f"How often the truth is preferred on {title}.", equal),
        matrices,
        controls,
        refinements,
        (listed, saved_table("", "examples", caption, HEADS, rows_of)),
    )


def drawings(run: FinishedRun, table: MetricsTable) -> list[PairDrawings]:
    """The figures of each comparison: accuracies by kind, and their means with intervals."""
    kinds, drawn = list(run.statistics["kinds"]), []
    for k, (name, rows) in enumerate(table.bodies):
        shown = {row.metric: row.kind for row in rows if row.kind in ("result", "control")}
        means = {
            r["metric"]: r["accuracy"][name][MEAN] for r in run.metrics if r["metric"] in shown
        }
        lines = [
            ForestRow(metric, kind, [Estimate(means[metric]["value"], means[metric]["ci"])])
            for metric, kind in shown.items()
        ]
        axis = f"mean accuracy, {name}; bars: intervals by resampled images"
        drawn.append(
            PairDrawings(
                name,
                file_name("accuracy", k, name),
                accuracy_figure(run.metrics, kinds, name),
                print_figure(run.metrics, kinds, name),
                file_name("forest", k, name),
                forest(lines, axis, chance=0.5),
            )
        )
    return drawn
