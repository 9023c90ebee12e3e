"""What of a run of captioners goes into a paper: its tables for print, and the forest plot."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.captioners import tables
from reports.captioners.run import CaptionersRun
from reports.paper.forest import Estimate, ForestRow, forest
from reports.shared import palette
from reports.shared.formatting import interval, number
from reports.shared.print_tables import PrintTable, plain_table

TESTS = (
    "Score", "Better", "Worse", "Images", "Difference", "Interval", "Permutation p", "Holm",
    "Bootstrap p", "Holm",
)  # fmt: skip


def print_tables(run: CaptionersRun) -> dict[str, PrintTable]:
    """The tables of the page by name; "human" and the agreements only where there are any."""
    where = f"{run.title} on {run.statistics['dataset']}"
    found = {"systems": tables.systems_for_print(run)}
    rows = [[metric, *row] for metric, part in tables.tests(run) for row in part]
    caption = f"{where}: tests between neighbours in the ranking of each score."
    found["tests"] = plain_table("tests", caption, TESTS, rows)
    if human := run.human_records:
        found["human"] = plain_table(
            "human",
            f"{where}: rank-order ρ against Human, with intervals.",
            ["Score", *run.systems],
            [[r["metric"], *(_duel(r["systems"][s]) for s in run.systems)] for r in human],
        )
    for m in tables.agreement(run):
        name = f"agreement-{m['key'].replace('_', '-')}"
        found[name] = plain_table(
            name,
            f"{where}: agreement of metrics (Kendall's τ-b), {m['label'].lower()}.",
            ["", *m["names"]],
            [[metric, *(number(c.value) for c in cells)] for metric, cells in m["rows"]],
        )
    return found


def _duel(system: object) -> str:
    assert isinstance(system, dict)
    ci = interval(system["rank_order_rho_ci"], 2)
    return f"{number(system['rank_order_rho'], 2)} ({ci})"


def forest_figure(run: CaptionersRun) -> Figure | None:
    """ρ against Human of every system by every score; None where nothing ran against Human."""
    if not run.human_records:
        return None
    colours = palette.levels(len(run.systems))[::-1]  # the best has the last, as in the page
    rows = [
        ForestRow(
            r["metric"],
            "result",
            [
                Estimate(r["systems"][s]["rank_order_rho"], r["systems"][s]["rank_order_rho_ci"])
                for s in run.systems
            ],
        )
        for r in run.human_records
    ]
    axis = "rank-order ρ against Human: above 0, people are ranked higher"
    return forest(rows, axis, series=list(zip(run.systems, colours, strict=True)))
