"""Computed values against printed ones: one row per cell, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from metaeval.papers.expected import PaperItem
from metaeval.results.base import Model, Number
from metaeval.results.metric import MetricResult
from metaeval.results.run import RunResult

Verdict = Literal["equal", "within", "differs", "other model", "not run"]
_ROUNDING = 1e-9  # of a printed decimal number as a binary one


class ReproducedValue(Model):
    """One cell of a table.

    Attributes
    ----------
    paper, item, column, cell
        Where the value was printed; `cell` is empty where a column has one value.
    published, ours
        Both on the scale of the paper; `ours` is `None` where nothing was computed.
    difference
        ours − published, in units of the declared uncertainty (of the rounding where none is).
    verdict
        "equal": the same printed digits. "within": inside the declared uncertainty. "differs":
        outside. "other model": the metric ran with another model than the paper's. "not run".
    reason
        Why the value differs or was not computed, and what would help.
    """

    paper: str
    item: str
    column: str
    cell: str
    published: float
    ours: Number = None
    difference: Number = None
    verdict: Verdict
    reason: str = ""


def compare_run(paper: str, item: PaperItem, result: RunResult[Any]) -> list[ReproducedValue]:
    """The rows of an item, from the result of its run."""
    by_name = {metric.name: metric for metric in result.metrics}
    rows = []
    for column, cell, printed in item.printed():
        metric = by_name.get(column)
        if metric is None or not metric.ok:
            rows.append(_without(paper, item, column, cell, printed, metric, result))
            continue
        ours = _value(metric, item.value.replace("{cell}", cell))
        rows.append(_row(paper, item, column, cell, printed, ours))
    return rows


def compare_example(
    paper: str, item: PaperItem, scores: Mapping[str, list[float]], skipped: Mapping[str, str]
) -> list[ReproducedValue]:
    """The rows of an example; `scores` is column → the score of each candidate."""
    rows = []
    for column, cell, printed in item.printed():
        if column not in scores:
            reason = skipped.get(column, "the metric is not part of the example")
            rows.append(_not_run(paper, item, column, cell, printed, reason))
            continue
        ours = scores[column][int(cell or 0)]
        rows.append(_row(paper, item, column, cell, printed, ours))
    return rows


def not_run(paper: str, item: PaperItem, reason: str) -> list[ReproducedValue]:
    """The rows of an item of which nothing could be computed."""
    return [
        _not_run(paper, item, column, cell, printed, reason)
        for column, cell, printed in item.printed()
    ]


def _row(
    paper: str, item: PaperItem, column: str, cell: str, printed: float, value: float | None
) -> ReproducedValue:
    if value is None:
        return _not_run(paper, item, column, cell, printed, "the value is undefined")
    ours = item.scale * value
    gap, allowed = ours - printed, item.rounding + _ROUNDING
    if abs(gap) <= allowed:
        verdict: Verdict = "equal"
    elif item.uncertainty is not None and abs(gap) <= item.uncertainty.value + allowed:
        verdict = "within"
    else:
        verdict = "differs"
    unit = item.uncertainty.value if item.uncertainty is not None else item.rounding
    reason = item.causes.get(column, "cause unknown") if verdict == "differs" else ""
    return ReproducedValue(
        paper=paper,
        item=item.item,
        column=column,
        cell=cell,
        published=printed,
        ours=ours,
        difference=gap / unit if unit else None,
        verdict=verdict,
        reason=reason,
    )


def _without(
    paper: str,
    item: PaperItem,
    column: str,
    cell: str,
    printed: float,
    metric: MetricResult[Any] | None,
    result: RunResult[Any],
) -> ReproducedValue:
    """The row of a column that did not run; a variant with another model is shown in its place."""
    variants = [m for m in result.metrics if m.column.variant_of == column]
    metric = metric or next((m for m in variants if not m.ok), None)  # its reason is this one's
    for other in variants:
        if other.ok and other.column.part_of is None:
            ours = _value(other, item.value.replace("{cell}", cell))
            row = _row(paper, item, column, cell, printed, ours)
            return row.model_copy(update={"verdict": "other model", "reason": other.name})
    if metric is None:
        return _not_run(paper, item, column, cell, printed, "the run has no such column")
    reason = f"{metric.reason}; {metric.remedy}" if metric.remedy else str(metric.reason)
    return _not_run(paper, item, column, cell, printed, reason)


def _not_run(
    paper: str, item: PaperItem, column: str, cell: str, printed: float, reason: str
) -> ReproducedValue:
    return ReproducedValue(
        paper=paper,
        item=item.item,
        column=column,
        cell=cell,
        published=printed,
        verdict="not run",
        reason=reason,
    )


def _value(metric: MetricResult[Any], path: str) -> float | None:
    """The number at a path of a metric's statistics; an estimate gives its value."""
    place: Any = metric.numbers.model_dump()
    for key in path.split("."):
        if isinstance(place, list | tuple):
            place = place[int(key)]
        elif isinstance(place, dict):
            place = place[key]
        else:
            raise KeyError(path)
    if isinstance(place, dict):
        place = place["value"]
    return None if place is None else float(place)
