"""How a table is written: a row a metric, and columns that read its numbers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.numbers.documents import Result
from metaeval.results.base import MetricResult
from metaeval.results.graded import rows_by_metric
from metaeval.results.measured import MeasuredResult

Cell = Callable[[MeasuredResult, MetricResult], str]
Places = Callable[[float | None], str]
Write = Callable[[Sequence[Result]], str]


class Column(NamedTuple):
    """A column of a table; `run` is the command whose result it reads, by default the row's."""

    title: str
    cell: Cell
    run: int | None = None


def three(value: float | None) -> str:
    """Three places, without the zero before the point: .128."""
    if value is None or value != value:
        return "–"
    text = f"{abs(value):.3f}"
    sign = "−" if value < 0 and text != "0.000" else ""
    return sign + (text[1:] if text.startswith("0") else text)


def times_100(value: float | None, digits: int = 1) -> str:
    """A share or correlation, times 100; a dash where it is undefined."""
    return "–" if value is None or value != value else f"{100 * value:.{digits}f}"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(*names: str) -> list[str]:
    """The head of a table: the first column to the left, numbers to the right."""
    return [row(*names), f"|---|{'---:|' * (len(names) - 1)}"]


def p_value(value: float | None) -> str:
    """As `three`, and never zero."""
    return "&lt;.001" if value is not None and value < 0.001 else three(value)


def value(key: str, places: Places = three) -> Cell:
    return lambda _, metric: places(metric.numbers.value(key))


def fact(key: str) -> Cell:
    """A count."""
    return lambda _, metric: f"{metric.numbers.facts[key]:,}"


def interval(key: str, places: Places = times_100) -> Cell:
    """A value with its interval."""

    def cell(_: MeasuredResult, metric: MetricResult) -> str:
        estimate = metric.numbers[key]
        return f"{places(estimate.value)} [{places(estimate.low)}, {places(estimate.high)}]"

    return cell


def printed_value(run: MeasuredResult, metric: str, key: str) -> float | None:
    """What a paper prints for a metric; `None` without one, or where it cannot be compared."""
    for source in run.published:
        if source.why_not is None and key in source.values.get(metric, {}):
            return source.values[metric][key]
    return None


def published(key: str, places: Places = times_100) -> Cell:
    """What a paper prints; empty without one."""

    def cell(run: MeasuredResult, metric: MetricResult) -> str:
        known = printed_value(run, metric.name, key)
        return "" if known is None else places(known)

    return cell


def extra(name: str, column: str, places: Places = three) -> Cell:
    """A number of the metric's row of an extra; a dash without one."""
    return lambda run, metric: places(rows_by_metric(run, name).get(metric.name, {}).get(column))


def always(run: MeasuredResult, metric: MetricResult) -> bool:
    return True


Keep = Callable[[MeasuredResult, MetricResult], bool]


def rows_of(
    runs: Sequence[MeasuredResult], by: str, keep: Keep = always, parts: bool = False
) -> list[tuple[MeasuredResult, MetricResult]]:
    """The metrics that ran in any of the runs, with the first of these: the best by a measure
    first, then controls. Without `parts` none of the columns that are parts of others."""
    entries: dict[str, tuple[MeasuredResult, MetricResult]] = {}
    for run in runs:
        for metric in run.metrics:
            if metric.ok and (parts or metric.column.part_of is None) and keep(run, metric):
                entries.setdefault(metric.name, (run, metric))

    def place(entry: tuple[MeasuredResult, MetricResult]) -> tuple[bool, float]:
        return entry[1].column.control, -(entry[1].numbers.value(by) or 0.0)

    return sorted(entries.values(), key=place)


def metric_table(
    order: str | Callable[[MeasuredResult], str],
    columns: Sequence[Column] | Callable[[MeasuredResult], Sequence[Column]],
    keep: Keep = always,
    parts: bool = False,
) -> Write:
    """A row a metric of `rows_of`. Controls are in italics, as they are not metrics.

    What depends on the data (`order` and `columns` as functions) is read from the last run.
    """

    def write(results: Sequence[Result]) -> str:
        runs = [result.read() for result in results]
        shown = columns(runs[-1]) if callable(columns) else columns
        by = order(runs[-1]) if callable(order) else order
        lines = head("", *(column.title for column in shown))
        for own, metric in rows_of(runs, by, keep, parts):
            cells = []
            for column in shown:
                run = own if column.run is None else runs[column.run]
                same = next((m for m in run.metrics if m.ok and m.name == metric.name), None)
                cells.append("–" if same is None else column.cell(run, same))
            lines.append(row(title_of(metric), *cells))
        return "\n".join(lines)

    return write


def title_of(metric: MetricResult) -> str:
    return f"*{metric.name}*" if metric.column.control else metric.name
