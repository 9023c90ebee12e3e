"""What a finished run of any experiment prints: its table, its sentences, and what did not run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from metaeval.results.base import MetricResult
from metaeval.results.measured import MeasuredResult, in_order
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.results.sentences import (
    learned_from,
    score_title,
    sentences,
    system_text,
    text_of,
)


def text_table(lines: Sequence[Mapping[str, str]], corner: str) -> Iterator[str]:
    """Lines of cells under heads, the first (`metric`) to the left and under `corner`.

    An empty column is left out.

    >>> print(*text_table([{"metric": "A", "x": "1"}, {"metric": "BB", "x": "10"}], "m"), sep="\\n")
    m    x
    A    1
    BB  10
    """
    heads = [h for h in dict.fromkeys(k for line in lines for k in line) if h != "metric"]
    heads = [h for h in heads if any(line.get(h) for line in lines)]
    cells = [[corner, *heads], *([line["metric"], *(line.get(h, "") for h in heads)]
                                 for line in lines)]  # fmt: skip
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads) + 1)]
    for row in cells:
        first, *others = [
            f"{cell:{'<' if k == 0 else '>'}{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join([first, *others]).rstrip()


def spread(counts: Sequence[int]) -> str:
    """The least, the median and the greatest of some counts.

    >>> spread([5, 1, 2, 2])
    'least 1, median 2, most 5'
    """
    return f"least {min(counts):,}, median {median(counts):,g}, most {max(counts):,}"


def printout(result: MeasuredResult, file: Path) -> str:
    """A line a metric, best first, controls last; then the sentences; then what to open next."""
    table = systems_lines(result) if result.systems else table_lines(result)
    lines = [*table, *notes_of_table(result), *extra_lines(result), *sentences(result)]
    lines += not_run_lines(result)
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
        name = f"({metric.name})" if metric.column.control else metric.name
        remarks = f" [{metric.column.remarks}]" if metric.column.remarks else ""
        learned = LEARNED if metric.column.is_ranked and any(learned_from(metric)) else ""
        line = {"metric": f"{name}{learned}{remarks}"}
        for measure in shown:
            if measure.key in metric.numbers.values:
                line[measure.title] = text_of(measure, metric.numbers[measure.key].value)
        if printed is not None and printed.why_not is None:
            values = printed.values.get(metric.name, {})
            line["published"] = " ".join(
                text_of(m, values[m.key]) for m in shown if m.key in values
            )
        lines.append(line)
    people = {
        m.title: text_of(m, result.people[m.key].value) for m in shown if m.key in result.people
    }
    lines += [{"metric": "(people)", **people}] if people else []
    unit = " and ".join(units)
    yield from text_table(lines, f"{group}, {unit}" if group else unit)


def extra_lines(result: MeasuredResult) -> Iterator[str]:
    """The tables that a page shows without a click."""
    for extra in result.extras:
        if extra.kind == "table" and extra.rows and not extra.folded:
            first, *columns = extra.main_columns
            lines = [
                {"metric": str(r[first]), **{c: _printed_cell(r[c]) for c in columns}}
                for r in extra.records
            ]
            yield from text_table(lines, extra.title)


def _printed_cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


LEARNED = " *"  # behind the names of metrics that have learned from captions
TABLE_NOTES = ("* has learned from captions: {learned}", "(people): {people}")


def notes_of_table(result: MeasuredResult) -> Iterator[str]:
    """What the marks of the table mean."""
    shown = [metric for metric in result.metrics if metric.ok and metric.column.is_ranked]
    learned = dict.fromkeys(text for metric in shown for text in learned_from(metric))
    yield from fill_sentences(
        TABLE_NOTES, learned="; ".join(learned), people=result.people_note if result.people else ""
    )


LETTERS = (
    "systems of a line that share a letter are not separated ({method}, Holm, p < {alpha:.2g})",
    "; ↑ ↓ significantly better or worse than {baseline}",
)


def systems_lines(result: MeasuredResult) -> Iterator[str]:
    """A line for everything that systems are ranked by, a column a system; then what marks mean."""
    arrows = {"better": "↑", "worse": "↓", "": ""}
    tested = [systems for systems in result.systems.values() if systems.is_decidable]
    marks = {
        name: {s: f"{text}{arrows[systems.against(s)]}" for s, text in systems.letters().items()}
        for name, systems in result.systems.items()
    }
    width = max(len(mark) for of_name in marks.values() for mark in of_name.values())
    lines = []
    controls = {metric.name for metric in result.metrics if metric.column.control}
    for name, systems in result.systems.items():
        head = f"({name})" if name in controls else name
        line = {"metric": score_title(head, lower=systems.best == "lowest")}
        for system in next(iter(result.systems.values())).scores:
            line[system] = f"{system_text(systems, system)} {marks[name][system]:<{width}}"
        lines.append(line)
    yield from text_table(lines, "")
    if tested:
        tests = tested[-1].comparisons
        method = tests.pairs[0].tests[0].method
        baseline = tested[-1].baseline
        yield "".join(fill_sentences(LETTERS, method=method, alpha=tests.alpha, baseline=baseline))


def in_printed_order(result: MeasuredResult, first: Measure) -> list[MetricResult]:
    """Metrics best first, parts after their metric's rank, then controls."""
    ran = [metric for metric in result.metrics if metric.ok and metric.statistics is not None]
    metrics = [metric for metric in ran if not metric.column.control]
    controls = [metric for metric in ran if metric.column.control]
    return [*in_order(metrics, first), *in_order(controls, first)]


def not_run_lines(result: MeasuredResult) -> Iterator[str]:
    """What metrics counted, and which did not run; their reasons are on stderr and on the page."""
    yield from (f"{name}: {text}" for name, text in result.counted())
    missing = {m.family: m.status for m in result.metrics if not m.ok}
    if missing:
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())
