"""What a finished run of any experiment prints: its table, its sentences, and what did not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metaeval.experiments.text_table import text_table
from metaeval.results.base import Estimate
from metaeval.results.measured import Measured, MeasuredResult, ranked
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult
from metaeval.results.sentences import sentences, text_of
from metaeval.runs.records import BATCH_DEPENDENT


def printout(result: MeasuredResult, file: Path) -> str:
    """A line a metric, best first, controls last; then the sentences; then what to open next."""
    lines = [*table_lines(result), *sentences(result), *not_run(result)]
    return "\n".join([*lines, f"{file.stem}: {file}"])


def table_lines(result: MeasuredResult) -> Iterator[str]:
    """The shown measures of every metric that ran, a table for each group."""
    for group, shown in result.groups().items():
        yield from _group_lines(result, group, shown)


def _group_lines(result: MeasuredResult, group: str, shown: list[Measure]) -> Iterator[str]:
    units = dict.fromkeys("per cent" if m.unit in ("share", "percent") else m.unit for m in shown)
    printed = result.published[0] if result.published else None
    lines = []
    for metric in in_printed_order(result, shown[0]):
        line = {"metric": display_name(metric)}
        for measure in shown:
            if measure.key in metric.numbers.values:
                line[measure.title] = text_of(measure, metric.numbers[measure.key])
        if printed is not None and printed.why_not is None:
            values = printed.values.get(metric.name, {})
            line["published"] = " ".join(
                text_of(m, m_value) for m, m_value in _printed(shown, values)
            )
        lines.append(line)
    people = {m.title: text_of(m, result.people[m.key]) for m in shown if m.key in result.people}
    lines += [{"metric": "(people)", **people}] if people else []
    unit = " and ".join(units)
    yield from text_table(lines, f"{group}, {unit}" if group else unit)


def in_printed_order(result: MeasuredResult, first: Measure) -> list[MetricResult[Measured]]:
    """Metrics best first, parts after their metric's rank, then controls."""
    ran = [metric for metric in result.metrics if metric.ok and metric.statistics is not None]
    metrics = [metric for metric in ran if not metric.column.control]
    controls = [metric for metric in ran if metric.column.control]
    ordered = []
    for group in (metrics, controls):
        known = ranked(group, first)
        ordered += [*known, *(m for m in group if m not in known)]
    return ordered


def display_name(metric: MetricResult[Any]) -> str:
    """A metric's name; a control's in brackets; marked where scores depend on their batch."""
    name = f"({metric.name})" if metric.column.control else metric.name
    return f"{name} [{BATCH_DEPENDENT}]" if metric.column.batch_dependent else name


def not_run(result: RunResult[Any]) -> Iterator[str]:
    """What metrics counted, and which did not run; their reasons are on stderr and on the page."""
    yield from (f"{name}: {text}" for name, text in result.counted())
    missing = {m.family: m.status for m in result.metrics if not m.ok}
    if missing:
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())


def _printed(
    shown: list[Measure], values: Mapping[str, float]
) -> Iterator[tuple[Measure, Estimate]]:
    for measure in shown:
        if measure.key in values:
            yield measure, Estimate(value=values[measure.key])
