"""Mean score by people's rating: tables after TIGEr's Figs. 4 and 8."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.paper.saved import SavedTable, file_name, saved_table
from metaeval.reports.shared.formatting import DASH, interval, number
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.judgments import JudgmentsResult, ScoreGroup


def group_tables(result: JudgmentsResult) -> list[SavedTable]:
    """For each dimension the mean scores of the groups, and the steps between neighbours."""
    tables = []
    for k, dimension in enumerate(result.dimensions):
        of_metric = {
            m.name: m.numbers.human[dimension].groups
            for m in result.visible
            if m.ok and kind_of(m) in ("result", "control") and m.numbers.human[dimension].groups
        }
        if not of_metric:
            continue
        names = max(of_metric.values(), key=len)
        heads = [group.rating for group in names]
        tables.append(
            saved_table(
                f"Mean score by {dimension}",
                file_name("groups", k, dimension),
                f"Mean score by people's rating, {dimension}.",
                ("Metric", *heads),
                [[name, *_means(groups, heads)] for name, groups in of_metric.items()],
            )
        )
        tables.append(
            saved_table(
                f"Steps between neighbouring ratings, {dimension}",
                file_name("steps", k, dimension),
                f"Difference to the group below in standard deviations of the scores, {dimension}.",
                ("Metric", *heads[1:]),
                [[name, *_steps(groups, heads[1:])] for name, groups in of_metric.items()],
            )
        )
    return tables


def _means(groups: Sequence[ScoreGroup], names: Sequence[str]) -> list[str]:
    cells = {
        g.rating: f"{number(g.mean.value)} ({interval((g.mean.low, g.mean.high), 2)})"
        for g in groups
    }
    return [cells.get(name, DASH) for name in names]


def _steps(groups: Sequence[ScoreGroup], names: Sequence[str]) -> list[str]:
    cells = {g.rating: number(g.step, sign=True) for g in groups}
    return [cells.get(name, DASH) for name in names]
