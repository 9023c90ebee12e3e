"""What of a graded run goes into a paper: its tables for print, and the forest plot."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from metaeval.runs import files
from reports.graded.ranking import ranked, rho
from reports.graded.run import GradedRun
from reports.graded.statements.controls import controls_of
from reports.graded.statements.groups import group_tables
from reports.graded.statements.measures import MEASURES
from reports.graded.summary import headline
from reports.graded.table import metrics_table
from reports.paper.differences import equal_to_best
from reports.paper.saved import SavedMatrix, saved_matrix
from reports.shared.formatting import capital, known
from reports.shared.print_tables import PrintTable, plain_table, print_tables

FOREST = "forest"
MEASURE = "rank_order_rho"
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
    where = f"{run.title} on {run.statistics['dataset']}"
    caption = f"{where}: agreement with the known order of the versions, {headline(run)}."
    equal = _equal(run)
    metrics = print_tables(metrics_table(run), "metrics", caption, equal, FULL)
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


def _equal(run: GradedRun) -> dict[str, set[str]]:
    """The metrics that are not told apart from the best by the pooled ρ, of all items."""
    tested, rows = run.statistics.get("differences"), ranked(run.metrics)
    if not tested or not rows:
        return {}
    pairs = tested["measures"].get(MEASURE, {"pairs": []})
    return {"all": set(equal_to_best(pairs, rows[0]["metric"], tested["alpha"]))}


def _matrices(run: GradedRun, where: str) -> list[SavedMatrix]:
    """The differences by each measure, metrics best first."""
    tested = run.statistics.get("differences")
    if not tested:
        return []
    rows = ranked(run.metrics)
    matrices = []
    for measure, pairs in tested["measures"].items():
        best_first = sorted(
            ((r[measure], r["metric"]) for r in rows if known(r[measure])), reverse=True
        )
        order = [metric for _, metric in best_first]
        name, stem = MEASURES[measure], f"differences-{measure.replace('_', '-')}"
        caption = f"{where}: differences times 100, {name}."
        made = saved_matrix(capital(name), stem, caption, pairs, order, tested["alpha"])
        if made.lines:
            matrices.append(made)
    return matrices


def forest_figure(run: GradedRun) -> Markup:
    """Draw every metric's ρ with its interval, controls below; files, and the page's drawing."""
    from reports.paper.figures import inline, write_figure
    from reports.paper.forest import Estimate, ForestRow, forest

    published = {
        r["metric"]: paper.value
        for r in run.metrics
        if (paper := run.paper(r)) is not None and paper.same_model
    }
    rows = [
        ForestRow(
            r["metric"],
            "control" if r.get("control") else "result",
            [Estimate(rho(r), r.get(f"{MEASURE}_ci"), published.get(r["metric"]))],
        )
        for r in [*ranked(run.metrics), *controls_of(run.metrics)]
        if known(rho(r))
    ]
    drawing = forest(rows, "rank-order ρ, all captions pooled; bars: intervals by resampled images")
    title = f"{run.title}: rank-order ρ of every metric"
    write_figure(drawing, run.directory / files.FIGURES, FOREST, title)
    return inline(drawing, title)
