"""What of a run against people goes into a paper: its tables for print, and forest plots."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from reports.judgments.examples import Examples, examples
from reports.judgments.table import (
    STATISTICS,
    choice_table,
    ratings_table,
    system_table,
    view_tables,
)
from reports.paper.differences import equal_to_best
from reports.paper.forest import Estimate, ForestRow, forest
from reports.paper.links import save_links
from reports.paper.saved import SavedMatrix, SavedTable, file_name, saved_matrix, saved_table
from reports.shared.print_tables import PrintTable, print_tables
from reports.shared.run import FinishedRun
from reports.shared.table import MetricsTable

FULL = ("gain", "ties", "delta")  # columns that CSV alone has
SYSTEM_HEADS = ("Pearson r", "τ-b", "Pairwise accuracy")


class JudgmentTables(NamedTuple):
    """The tables of the page: as the page sorts them, and for print."""

    table: MetricsTable
    metrics: list[PrintTable]
    matrices: list[SavedMatrix]
    views: list[SavedTable]
    systems: list[SavedTable]
    examples: list[tuple[Examples, SavedTable]]

    @property
    def all(self) -> list[PrintTable]:
        """Every one that has a file."""
        return [
            *self.metrics,
            *(m.table for m in self.matrices if m.table is not None),
            *(part.table for part in (*self.views, *self.systems)),
            *(saved.table for _, saved in self.examples),
        ]


def is_choice(run: FinishedRun) -> bool:
    return bool(run.statistics["kind"] == "forced_choice")


def tables(run: FinishedRun) -> JudgmentTables:
    """All tables of a run. Raises InputError for a file that is missing or broken."""
    table = choice_table(run) if is_choice(run) else ratings_table(run)
    title = run.statistics["title"]
    matrices, equal = [], {}
    alpha = run.statistics["settings"]["alpha"]
    for k, ((name, rows), differences) in enumerate(
        zip(table.bodies, run.statistics["differences"].values(), strict=True)
    ):
        order = [row.metric for row in rows if row.kind == "result"]
        caption = f"Differences times 100 on {title}, {name}."
        stem = file_name("differences", k, name)
        matrices.append(saved_matrix(name, stem, caption, differences, order, alpha))
        if order:
            equal[name] = equal_to_best(differences, order[0], alpha)
    caption = f"Agreement with human judgements on {title}."
    return JudgmentTables(
        table,
        print_tables(table, "metrics", caption, equal, FULL),
        matrices,
        [] if is_choice(run) else _views(run),
        _systems(run),
        _examples(run),
    )


def _views(run: FinishedRun) -> list[SavedTable]:
    return [
        saved_table(
            name,
            file_name("parts", k, name),
            f"Parts of the captions, {name}.",
            ("Metric", *heads),
            [[metric, *cells] for metric, cells in rows],
        )
        for k, (name, heads, rows) in enumerate(view_tables(run))
    ]


def _systems(run: FinishedRun) -> list[SavedTable]:
    if len(run.statistics.get("systems") or []) < 2:
        return []
    return [
        saved_table(
            name,
            file_name("systems", k, name),
            f"Systems, {name}.",
            ("Metric", *SYSTEM_HEADS),
            [[metric, *cells] for metric, cells in system_table(run, name)],
        )
        for k, name in enumerate(run.statistics["dimensions"])
    ]


def _examples(run: FinishedRun) -> list[tuple[Examples, SavedTable]]:
    listed = []
    for k, part in enumerate(examples(run)):
        table = part.table(file_name("examples", k, part.dimension))
        listed.append((part, SavedTable(part.dimension, table, save_links([table]))))
    return listed


def forests(run: FinishedRun, table: MetricsTable) -> list[tuple[str, str, Figure]]:
    """Name, file stem and drawing of the quoted statistic, one a dimension or reference number."""
    drawings = []
    for k, (name, rows) in enumerate(table.bodies):
        shown = {row.metric: row.kind for row in rows if row.kind in ("result", "control")}
        found = {
            r["metric"]: _estimate(run, r, k, name) for r in run.metrics if r["metric"] in shown
        }
        lines = [ForestRow(m, kind, [found[m]]) for m, kind in shown.items()]
        what = "mean accuracy" if is_choice(run) else _statistic(run)
        drawing = forest(
            lines, f"{what}, {name}; bars: intervals by resampled images",
            chance=0.5 if is_choice(run) else 0.0,
        )  # fmt: skip
        drawings.append((name, file_name("forest", k, name), drawing))
    return drawings


def _statistic(run: FinishedRun) -> str:
    return STATISTICS[run.statistics["protocol"]["statistic"]][0]


def _estimate(run: FinishedRun, record: object, place: int, name: str) -> Estimate:
    assert isinstance(record, dict)
    if is_choice(run):
        mean = record["choice"][place]["accuracy"]["mean"]
        return Estimate(mean["value"], mean["ci"])
    quoted = run.statistics["protocol"]["statistic"]
    agreement = record["human"][name]
    papers = run.statistics["published"]["values"].get(name, {})
    return Estimate(agreement[quoted], agreement[f"{quoted}_ci"], papers.get(record["metric"]))
