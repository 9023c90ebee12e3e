"""The parts of a graded run for a paper: tables for print, and the forest plot."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from metaeval.reports.graded.ranking import ranked, results, rho
from metaeval.reports.graded.run import GradedRun
from metaeval.reports.graded.statements.controls import controls_of
from metaeval.reports.graded.statements.groups import group_tables
from metaeval.reports.graded.statements.measures import WORDS, value_of
from metaeval.reports.graded.summary import headline
from metaeval.reports.graded.table import metrics_table
from metaeval.reports.paper.saved import SavedMatrix, saved_comparisons
from metaeval.reports.shared.formatting import capital, known
from metaeval.reports.shared.print_tables import (
    PrintTable,
    plain_table,
    print_tables,
    signed,
)
from metaeval.results.graded import Measure
from metaeval.runs import files

FOREST = "forest"
MEASURE: Measure = "rank_order_rho"
FULL = ("spearman", "tau", "auc", "inversions")  # columns that the page shows on demand


class GradedTables(NamedTuple):
    """The tables of the page for print."""

    metrics: list[PrintTable]
    matrices: list[SavedMatrix]
    groups: list[PrintTable]

    @property
    def all(self) -> list[PrintTable]:
        return [*self.metrics, *(m.table for m in self.matrices if m.table), *self.groups]


def tables(run: GradedRun) -> GradedTables:
    """All tables of a run for print; no matrices where no differences were tested."""
    where = f"{run.title} on {run.result.dataset}"
    caption = f"{where}: agreement with the known order of the versions, {headline(run)}."
    equal = _equal(run)
    metrics = signed(print_tables(metrics_table(run), "metrics", caption, equal, FULL), run.result)
    groups = [
        plain_table(
            f"groups-{k}",
            f"{where}: rank-order ρ within an image with its interval, by {group.by}.",
            ["Metric", *group.labels],
            [[name, *(cell.printed for cell in cells)] for name, cells in group.rows],
        )
        for k, group in enumerate(group_tables(run), 1)
    ]
    return GradedTables(metrics, _matrices(run, where), groups)


def _equal(run: GradedRun) -> dict[str, frozenset[str]]:
    """The metrics that are not separated from the best by the pooled ρ, of all items."""
    comparisons, rows = run.result.differences.get(MEASURE), ranked(run)
    if comparisons is None or not rows:
        return {}
    return {"all": comparisons.not_separated_from(rows[0].name)}


def _matrices(run: GradedRun, where: str) -> list[SavedMatrix]:
    """The differences by each measure, metrics best first."""
    matrices = []
    for measure, comparisons in run.result.differences.items():
        best_first = sorted(
            ((v, m.name) for m in results(run) if (v := value_of(m, measure)) is not None),
            reverse=True,
        )
        order = [metric for _, metric in best_first]
        name, stem = WORDS[measure], f"differences-{measure.replace('_', '-')}"
        caption = f"{where}: differences times 100, {name}."
        made = saved_comparisons(capital(name), stem, caption, comparisons, order)
        if made.lines:
            matrices.append(made)
    return matrices


def forest_figure(run: GradedRun) -> Markup:
    """Draw every metric's ρ with its interval, controls below; files, and the page's drawing."""
    from metaeval.reports.paper.figures import inline, write_figure
    from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest

    published = {
        m.name: paper.value
        for m in run.metrics
        if (paper := run.paper(m)) is not None and paper.same_model
    }
    rows = [
        ForestRow(
            m.name,
            "control" if m.column.control else "result",
            [PlottedEstimate(rho(m), m.numbers.rank_order_rho.interval, published.get(m.name))],
        )
        for m in [*results(run), *controls_of(run.metrics)]
        if known(rho(m))
    ]
    drawing = forest(rows, "rank-order ρ, all captions pooled; bars: intervals by resampled images")
    title = f"{run.title}: rank-order ρ of every metric"
    write_figure(drawing, run.directory / files.FIGURES, FOREST, title)
    return inline(drawing, title)
