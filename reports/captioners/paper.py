"""The tables for print and the forest plot of a run on captioners."""

from __future__ import annotations

from matplotlib.figure import Figure

from metaeval.reports.captioners import tables
from metaeval.reports.captioners.run import CaptionersRun
from metaeval.reports.paper.forest import ForestRow, PlottedEstimate, forest
from metaeval.reports.shared import palette
from metaeval.reports.shared.formatting import interval, number
from metaeval.reports.shared.print_tables import PrintTable, plain_table
from metaeval.results.base import Estimate
from metaeval.results.captioners import AgainstHuman, HumanStatistics
from metaeval.results.metric import MetricResult

TESTS = (
    "Score", "Better", "Worse", "Images", "Difference", "Interval", "Permutation p", "Holm",
    "Bootstrap p", "Holm",
)  # fmt: skip


def print_tables(run: CaptionersRun) -> dict[str, PrintTable]:
    """The tables of the page by name; "human" and the agreements only where there are any."""
    where = f"{run.title} on {run.result.dataset}"
    printed = {"systems": tables.systems_for_print(run)}
    rows = [[metric, *row] for metric, part in tables.tests(run) for row in part]
    caption = f"{where}: tests between neighbours in the ranking of each score."
    printed["tests"] = plain_table("tests", caption, TESTS, rows)
    if human := run.result.human_scores:
        printed["human"] = plain_table(
            "human",
            f"{where}: rank-order ρ against Human, with intervals.",
            ["Score", *run.systems],
            [[m.name, *(_duel(m.numbers.systems[s]) for s in run.systems)] for m in human],
        )
    means = tables.means_of_sentences(run)
    for m in tables.agreement(run):
        name = f"agreement-{m.key.replace('_', '-')}"
        kept = [k for k, metric in enumerate(m.names) if metric not in means]
        printed[name] = plain_table(
            name,
            f"{where}: agreement of metrics (Kendall's τ-b), {m.label.lower()}.",
            ["", *(m.names[k] for k in kept)],
            [
                [metric, *(number(cells[k].value) for k in kept)]
                for metric, cells in m.rows
                if metric not in means
            ],
        )
    return printed


def _duel(system: AgainstHuman) -> str:
    rho = system.rank_order_rho
    return f"{number(rho.value, 2)} ({interval(rho.interval, 2)})"


def _rhos(run: CaptionersRun, metric: MetricResult[HumanStatistics]) -> list[Estimate]:
    return [metric.numbers.systems[name].rank_order_rho for name in run.systems]


def forest_figure(run: CaptionersRun) -> Figure | None:
    """ρ against Human of every system by every score; None where nothing ran against Human."""
    if not run.result.human_scores:
        return None
    colours = palette.levels(len(run.systems))[::-1]  # the best has the last, as in the page
    rows = [
        ForestRow(
            m.name,
            "result",
            [PlottedEstimate(rho.value, rho.interval) for rho in _rhos(run, m)],
        )
        for m in run.result.human_scores
    ]
    axis = "rank-order ρ against Human: above 0, people are ranked higher"
    return forest(rows, axis, series=list(zip(run.systems, colours, strict=True)))
