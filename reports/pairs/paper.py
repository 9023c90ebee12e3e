"""What of a run on true and false captions goes into a paper: its tables for print, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from reports.pairs.drawing import accuracy_figure, print_figure
from reports.pairs.examples import HEADS, examples
from reports.pairs.table import MEAN, accuracy_table, control_rows, refinement_table
from reports.paper.differences import difference_table, equal_to_best
from reports.paper.forest import Estimate, ForestRow, forest
from reports.paper.links import SaveLinks, save_links
from reports.shared.formatting import file_stem
from reports.shared.matrix import DifferenceRow, matrix
from reports.shared.print_tables import PrintTable, plain_table, print_tables
from reports.shared.run import FinishedRun
from reports.shared.table import MetricsTable

CONTROL_HEADS = ("Kind", "Best control", "Best metric", "Metrics above it", "What the kind shows")


class Matrix(NamedTuple):
    """Who beats whom in one comparison: its name, the matrix, and all of it in numbers."""

    name: str
    lines: list[DifferenceRow]
    table: PrintTable | None
    links: list[SaveLinks]


class SavedTable(NamedTuple):
    """A table of texts of one comparison, and the links that save it."""

    name: str
    table: PrintTable
    links: list[SaveLinks]


class Tables(NamedTuple):
    """The tables of the page: as the page sorts them, and for print."""

    table: MetricsTable
    metrics: list[PrintTable]
    matrices: list[Matrix]
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


class Drawings(NamedTuple):
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


def tables(run: FinishedRun) -> Tables:
    """All tables of a run. Raises InputError for a file that is missing or broken."""
    statistics, table = run.statistics, accuracy_table(run)
    title, alpha = statistics["title"], statistics["settings"]["alpha"]
    matrices, equal = [], {}
    for k, (name, rows) in enumerate(table.bodies):
        order = [row.metric for row in rows if row.kind == "result"]
        differences = statistics["differences"][name]
        caption = f"Differences in points of mean accuracy on {title}, {name}."
        numbers = difference_table(differences, order, _stem("differences", k, name), caption)
        links = save_links([numbers]) if numbers else []
        matrices.append(Matrix(name, matrix(differences, order, alpha), numbers, links))
        if order:
            equal[name] = equal_to_best(differences, order[0], alpha)
    controls, refinements = [], []
    for k, name in enumerate(statistics["comparisons"]):
        caption = f"What each kind of {title} shows, {name}."
        controls.append(
            _saved(caption, "controls", k, name, CONTROL_HEADS, control_rows(run, name))
        )
        heads, lines = refinement_table(run, name)
        caption = f"Accuracy in percent before and after refinement on {title}, {name}."
        refinements.append(_saved(caption, "refinement", k, name, ["Metric", *heads], lines))
    listed = examples(run)
    rows_of = [[metric, *row] for metric, rows in listed for row in rows]
    worst = plain_table("examples", f"Where metrics err most on {title}.", HEADS, rows_of)
    return Tables(
        table,
        print_tables(table, "metrics", f"How often the truth is preferred on {title}.", equal),
        matrices,
        controls,
        refinements,
        (listed, SavedTable("", worst, save_links([worst]))),
    )


def _saved(
    caption: str,
    stem: str,
    place: int,
    name: str,
    heads: Sequence[str],
    rows: Sequence[tuple[str, list[str]]],
) -> SavedTable:
    table = plain_table(_stem(stem, place, name), caption, heads, [[n, *c] for n, c in rows])
    return SavedTable(name, table, save_links([table]))


def _stem(stem: str, place: int, name: str) -> str:
    """The first has the plain name, as has the table of metrics."""
    return stem if place == 0 else f"{stem}-{file_stem(name)}"


def drawings(run: FinishedRun, table: MetricsTable) -> list[Drawings]:
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
            Drawings(
                name,
                _stem("accuracy", k, name),
                accuracy_figure(run.metrics, kinds, name),
                print_figure(run.metrics, kinds, name),
                _stem("forest", k, name),
                forest(lines, axis, chance=0.5),
            )
        )
    return drawn
