"""Computed values against printed ones: one row per cell, with a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metaeval.papers.expected import PaperItem
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.results.reproduction import ReproducedValue, Verdict
from metaeval.results.run import RunResult

_ROUNDING = 1e-9  # of a printed decimal number as a binary one
_ENTRY = re.compile(r"(?P<name>\w+)\[(?P<field>\w+)=(?P<text>[^\]]*)\]")
# column → cell → value; the cell is "" where a column has one value
Values = Mapping[str, Mapping[str, float | None]]


class _Cell(NamedTuple):
    """The place of a value: column, cell, and what was printed there."""

    column: str
    cell: str
    printed: float | None


def compare_run(paper: str, item: PaperItem, result: RunResult[Any]) -> list[ReproducedValue]:
    """The rows of an item, from the result of its run."""
    entries: Sequence[MetricResult[Any]] = getattr(result, item.entries, ())
    ran = {metric.name: metric for metric in entries if metric.ok}
    skipped = reasons(result)
    rows = []
    for cell in map(_Cell._make, item.printed()):
        name = stand_in(cell.column, ran)
        if name is None:
            rows.append(_not_run(paper, item, cell, _why_no_column(item, cell, skipped)))
            continue
        try:
            ours = value_at(_numbers_of(result, ran[name]), item.value, cell.cell)
        except LookupError as error:
            reason = item.absent.get(cell.cell, f"the run has no {error}")
            rows.append(_not_run(paper, item, cell, reason))
            continue
        row = _row(paper, item, cell, ours)
        rows.append(row if name == cell.column else _of_model(row, name))
    return rows


def compare_values(
    paper: str, item: PaperItem, values: Values, skipped: Mapping[str, str] | None = None
) -> list[ReproducedValue]:
    """The rows of an item whose values are known; `skipped` is column → why it has none."""
    rows = []
    for cell in map(_Cell._make, item.printed()):
        name = stand_in(cell.column, values)
        if name is None:
            rows.append(_not_run(paper, item, cell, _why_no_column(item, cell, skipped or {})))
        elif cell.cell not in values[name]:
            rows.append(_not_run(paper, item, cell, f"the run has no '{cell.cell}'"))
        else:
            row = _row(paper, item, cell, values[name][cell.cell])
            rows.append(row if name == cell.column else _of_model(row, name))
    return rows


def reasons(result: RunResult[Any]) -> dict[str, str]:
    """Column → why it did not run, and what helps."""
    return {
        metric.name: "; ".join(filter(None, (metric.reason, metric.remedy)))
        for metric in result.metrics
        if not metric.ok
    }


def stand_in(column: str, names: Iterable[str]) -> str | None:
    """The name that stands for a printed column: its own, or one with more words in brackets.

    Of several that of the fewest words, the first of these; `None` where there is none.

    >>> names = ["FAIEr (gold objects)", "FAIEr (gold objects, no references)", "SPICE (rules)"]
    >>> stand_in("FAIEr", names), stand_in("FAIEr (no references)", names), stand_in("BLEU", names)
    ('FAIEr (gold objects)', 'FAIEr (gold objects, no references)', None)
    """
    base, words = _parsed(column)
    fitting = [name for name in names if _parsed(name).base == base]
    fitting = [name for name in fitting if _parsed(name).words >= words]
    return min(fitting, key=lambda name: len(_parsed(name).words), default=None)


class _Parsed(NamedTuple):
    base: str
    words: frozenset[str]


def _parsed(name: str) -> _Parsed:
    base, _, rest = name.partition(" (")
    return _Parsed(base, frozenset(filter(None, rest.removesuffix(")").split(", "))))


def _why_no_column(item: PaperItem, cell: _Cell, skipped: Mapping[str, str]) -> str:
    name = stand_in(cell.column, skipped)
    if name is not None:
        return skipped[name]
    return item.absent.get(cell.column, "the run has no such column")


def not_run(paper: str, item: PaperItem, reason: str) -> list[ReproducedValue]:
    """The rows of an item of which nothing could be computed."""
    return [_not_run(paper, item, cell, reason) for cell in map(_Cell._make, item.printed())]


def _row(paper: str, item: PaperItem, cell: _Cell, value: float | None) -> ReproducedValue:
    if value is None:
        return _not_run(paper, item, cell, "the value is undefined")
    ours = item.scale * value
    verdict, reason, difference = _judged(item, cell, ours)
    return ReproducedValue(
        paper=paper,
        item=item.item,
        column=cell.column,
        cell=cell.cell,
        published=cell.printed,
        ours=ours,
        difference=difference,
        verdict=verdict,
        reason=reason,
    )


def _judged(item: PaperItem, cell: _Cell, ours: float) -> tuple[Verdict, str, float | None]:
    """The verdict on a value, its reason, and the difference in units of the uncertainty."""
    if cell.printed is None:
        return "not published", "the published value is not available", None
    gap, allowed = ours - cell.printed, item.rounding + _ROUNDING
    uncertainty = item.uncertainty_of(cell.column)
    unit = uncertainty.value if uncertainty is not None else item.rounding
    difference = gap / unit if unit else None
    if model := item.model_of(cell.column):
        return "other model", "; ".join(filter(None, (model, item.data))), difference
    if item.data:
        return "other data", item.data, difference
    if abs(gap) <= allowed:
        return "equal", "", difference
    if uncertainty is not None and abs(gap) <= uncertainty.value + allowed:
        return "within", uncertainty.source, difference
    return "differs", item.causes.get(cell.column, "cause unknown"), difference


def _of_model(row: ReproducedValue, name: str) -> ReproducedValue:
    """The row of a variant: with its name, and never "equal"."""
    if row.verdict == "not run":
        return row
    if row.verdict == "not published":
        return row.model_copy(update={"reason": f"{row.reason}; here {name}"})
    known = row.reason if row.verdict in ("other model", "other data") else ""
    reason = "; ".join(filter(None, (name, known)))
    return row.model_copy(update={"verdict": "other model", "reason": reason})


def _not_run(paper: str, item: PaperItem, cell: _Cell, reason: str) -> ReproducedValue:
    return ReproducedValue(
        paper=paper,
        item=item.item,
        column=cell.column,
        cell=cell.cell,
        published=cell.printed,
        verdict="not run",
        reason=reason,
    )


def _numbers_of(result: RunResult[Any], metric: MetricResult[Any]) -> dict[str, Any]:
    """The numbers of a metric; where systems are ranked, also its scores of them, as `systems`."""
    numbers: dict[str, Any] = metric.numbers.model_dump()
    if isinstance(result, MeasuredResult) and metric.name in result.systems:
        numbers["systems"] = result.systems[metric.name].model_dump()["scores"]
    return numbers


def value_at(numbers: Mapping[str, Any], path: str, cell: str) -> float | None:
    """The number at a path of a metric's statistics; an estimate gives its value.

    Raises LookupError with the part of the path that is not there.
    """
    place: Any = numbers
    for template in path.split("."):
        key = template.replace("{cell}", cell)
        chosen = _ENTRY.fullmatch(key)
        if chosen is not None:
            entries = place.get(chosen["name"]) or ()
            field, text = chosen["field"], chosen["text"]
            place = next((e for e in entries if str(e[field]) == text), None)
        elif isinstance(place, list | tuple):
            place = place[int(key)] if int(key) < len(place) else None
        else:
            place = place.get(key) if isinstance(place, dict) else None
        if place is None:
            raise LookupError(f"'{key}'")
    if isinstance(place, dict):
        place = place["value"]
    return None if place is None else float(place)
