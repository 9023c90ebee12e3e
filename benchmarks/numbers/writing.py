"""How a table is written: as the report of its run has it, or from a table of pandas."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import pandas as pd

from benchmarks.numbers.documents import Result
from metaeval.reports.blocks.tables import print_extra, print_table
from metaeval.reports.shared.print_tables import PrintTable, to_markdown
from metaeval.results.measured import MeasuredResult

Write = Callable[[Sequence[Result]], str]


def three(value: float | None) -> str:
    """Three places, without the zero before the point: .128."""
    if value is None or value != value:
        return "–"
    text = f"{abs(value):.3f}"
    sign = "−" if value < 0 and text != "0.000" else ""
    return sign + (text[1:] if text.startswith("0") else text)


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(*names: str) -> list[str]:
    """The head of a table: the first column to the left, numbers to the right."""
    return [row(*names), f"|---|{'---:|' * (len(names) - 1)}"]


def markdown(table: pd.DataFrame) -> str:
    """A table of pandas: numbers with three digits, a dash for none."""
    lines = [row(*map(_cell, cells)) for cells in table.itertuples(index=False)]
    return "\n".join([*head(*map(str, table.columns)), *lines])


def _cell(value: object) -> str:
    if value is None or value != value:
        return "–"
    if not isinstance(value, int | float):
        return str(value)
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def run_tables(*keys: str, extras: Mapping[str, Sequence[str]] = {}) -> Write:
    """The tables that the report of each run has, with its intervals, bold and marks.

    A table of the measures whose keys match one of `keys` (patterns; by default the first measure
    of each group), then the extras of these names with these columns, all where none is named.
    """

    def write(results: Sequence[Result]) -> str:
        texts = []
        for k, run in enumerate((result.read() for result in results), 1):
            for table in _tables(run, keys, extras):
                several = f"Command {k}, {run.experiment}, " if len(results) > 1 else ""
                text = to_markdown(table._replace(caption=several + table.caption))
                texts.append(controls_in_italics(run, text))
            texts.append(_scored(run))
        return "\n".join(texts)

    return write


def controls_in_italics(run: MeasuredResult, text: str) -> str:
    """A table with the names of controls in italics, as they are not metrics."""
    for name in (m.name for m in run.metrics if m.column.control):
        text = text.replace(f"\n| {name} |", f"\n| *{name}* |")
    return text


def _tables(
    run: MeasuredResult, keys: Sequence[str], extras: Mapping[str, Sequence[str]]
) -> list[PrintTable]:
    measures = [m for m in run.declared if any(fnmatchcase(m.key, key) for key in keys)]
    if not keys and not extras:
        measures = [of_group[0] for of_group in run.groups().values()]
    titles = [m.title for m in measures]
    named = [
        replace(m, title=m.title if titles.count(m.title) == 1 else m.full_title, group="")
        for m in measures
    ]
    tables = [print_table(run, named, "measures")] if named else []
    for extra in run.extras:
        if (columns := extras.get(extra.name)) is not None:
            places = [k for k, c in enumerate(extra.main_columns) if c in (columns or [c])]
            tables.append(print_extra(run, extra).with_columns(places))
    return tables


def _scored(run: MeasuredResult) -> str:
    """How much each metric scored, where some scored less or more than most; empty otherwise."""
    counts = {m.name: m.numbers.facts.get("n") for m in run.metrics if m.ok}
    known = {name: n for name, n in counts.items() if isinstance(n, int)}
    often = Counter(known.values())
    usual = max(often, key=lambda n: (often[n], n), default=0)
    apart = [f"{name} {n:,}" for name, n in known.items() if n != usual]
    return f"Scored: {', '.join(apart)}, all others {usual:,}.\n" if apart else ""
