"""Blocks of tables: the measures, an extra, and who beats whom."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metaeval.reports.blocks.texts import NOTHING, Block, rendered
from metaeval.reports.paper.citations import save_links
from metaeval.reports.shared.formatting import (
    DASH,
    capital,
    count,
    file_stem,
    interval,
    number,
    p_value,
    plain,
    row_kind,
)
from metaeval.reports.shared.print_tables import (
    PART,
    PrintCell,
    PrintTable,
    chosen_columns,
    highlighted_rows_first,
    scale_numbers,
    with_scores_of,
)
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import Estimate, MetricResult
from metaeval.results.comparison import (
    Comparison,
    Comparisons,
)
from metaeval.results.measured import Extra, MeasuredResult, in_order, ranked
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.results.sentences import (
    bold_names,
    definition_of_bold,
    ranked_metrics,
    text_of,
    training_footnotes,
    with_interval,
)
from metaeval.stats.significance.comparison import is_significant

TESTS = {"permutation": "P", "bootstrap": "B", "williams": "W"}


class DifferenceCell(NamedTuple):
    """The difference row − column times 100, the tests that find it significant, how it is coloured
    ("better", "worse", "mixed", "even", "self"), and all p-values as a hover text."""

    text: str
    tests: str
    kind: str
    title: str


class DifferenceRow(NamedTuple):
    """A metric, how many others it beats by every test that was made, and a cell per metric."""

    metric: str
    beats: int
    cells: tuple[DifferenceCell, ...]


def comparison_matrix(comparisons: Comparisons, order: Sequence[str]) -> list[DifferenceRow]:
    """Rows and columns in the given order, best first; empty where nothing was compared."""
    compared = {name for pair in comparisons.pairs for name in (pair.a, pair.b)}
    names = [name for name in order if name in compared]
    rows = []
    for name in names:
        cells = [
            DifferenceCell("", "", "self", "")
            if name == other
            else _comparison_cell(comparisons.between(name, other), comparisons.alpha)
            for other in names
        ]
        rows.append(DifferenceRow(name, sum(c.kind == "better" for c in cells), tuple(cells)))
    return rows


OF_CELL = (
    "{pair.a} − {pair.b}: {value}",
    "interval {interval}",
    "{tests}",
    "n = {n}",
    "effect {effect} sd of an image",
    "detectable {detectable}",
    "images needed {images}",
)


def _comparison_cell(pair: Comparison | None, alpha: float) -> DifferenceCell:
    if pair is None or pair.difference.value is None:
        return DifferenceCell("–", "", "even", "not defined")
    value, ends = pair.difference.value, pair.difference.interval
    significant = [test for test in pair.tests if is_significant(test.p_adjusted, alpha)]
    if not significant:
        kind = "even"
    elif not pair.is_significant(alpha):
        kind = "mixed"
    else:
        kind = "better" if value > 0 else "worse"
    power, needed = pair.power, pair.images_needed
    effect = None if power is None else power.effect
    detectable = None if power is None else power.detectable
    title = fill_sentences(
        OF_CELL,
        pair=pair,
        value=number(100 * value, 2, sign=True),
        interval=None if ends is None else interval([100 * v for v in ends], 2),
        tests="; ".join(
            f"{t.method} p {p_value(t.p)}, after Holm {p_value(t.p_adjusted)}" for t in pair.tests
        ),
        n=None if pair.n is None else count(pair.n),
        effect=None if effect is None else number(effect, 2, sign=True),
        detectable=None if detectable is None else number(100 * detectable, 2),
        images=None if needed is None else count(round(needed)),
    )
    letters = "".join(TESTS.get(test.method, test.method[:1].upper()) for test in significant)
    return DifferenceCell(number(100 * value, 1, sign=True), letters, kind, "; ".join(title))


NOT_ABOVE, OF_PEOPLE = "†", "‡"
UNITS = {"share": "per cent", "percent": "times 100"}


def measures_tables(run: LoadedRun) -> list[Block]:
    """A table for each group of shown measures, then a folded one for each group of hidden ones.

    Hidden measures without a group are not shown.
    """
    blocks = []
    stems = _stems([*run.result.groups(), *run.result.groups(shown=False)])
    for k, (group, measures) in enumerate(run.result.groups().items()):
        name = "measures" if k == 0 else f"measures-{stems[group]}"
        key, title = ("table" if k == 0 else f"table-{k}"), f"Table{group and f', {group}'}"
        blocks.append(measures_table(run, measures, key=key, title=title, name=name))
    for group, measures in run.result.groups(shown=False).items():
        if group:
            stem, title = stems[group], group.partition(",")[0]
            block = measures_table(
                run, measures, key=f"table-{stem}", title=title, name=f"measures-{stem}"
            )
            blocks.append(block._replace(folded=True))
    return blocks


def measures_table(
    run: LoadedRun,
    measures: Sequence[Measure] | None = None,
    *,
    key: str = "table",
    title: str = "Table",
    name: str = "measures",
) -> Block:
    """A row a metric, best first, controls below a rule; a column a measure; then what did not run.

    Bold and † are comparisons of the column's own measure; the caption says which.
    """
    result = run.result
    shown = list(measures or [m for m in result.declared if m.shown])
    table = print_table(result, shown, name)
    notes = training_footnotes(result.metrics, result.experiment)
    absent = [m for m in result.visible if not m.ok] if key == "table" else []
    html = rendered(
        "measures_table.html.j2",
        id="metrics" if key == "table" else f"metrics-{key}",
        table=table,
        kinds=defaultdict(str, {m.name: row_kind(m) for m in result.metrics}),
        signatures=defaultdict(str, {m.name: m.signature or "" for m in result.metrics}),
        absent=absent,
        footnotes=notes,
        marks=defaultdict(
            str,
            {
                m.name: " ".join(f.mark for f in notes if m.name in f.metrics)
                for m in result.metrics
            },
        ),
        remarks={m.name: m.column.remarks for m in result.metrics if m.column.remarks},
        links=save_links([table]),
    )
    return Block(key, title, html, tables=(table,))


def print_table(result: MeasuredResult, measures: Sequence[Measure], name: str) -> PrintTable:
    """The measures of all metrics that ran, for print."""
    first = measures[0]
    printed = {
        measure.key: {
            metric: values[measure.key]
            for source in result.published
            if source.why_not is None
            for metric, values in source.values.items()
            if measure.key in values
        }
        for measure in measures
    }
    heads = ["Metric"]
    for measure in measures:
        heads.append(measure.title)
        if printed[measure.key]:
            heads.append(f"{measure.title}, published")
    bold = {measure.key: bold_names(result, measure) for measure in measures}
    groups = []
    for rows in _groups(result, first):
        cells = []
        for metric in rows:
            row = [PrintCell(f"{PART * (row_kind(metric) == 'part')}{metric.name}")]
            for measure in measures:
                row.append(_cell(result, metric, measure, metric.name in bold[measure.key]))
                if printed[measure.key]:
                    value = printed[measure.key].get(metric.name)
                    row.append(PrintCell(text_of(measure, value)))
            cells.append(row)
        if cells:
            groups.append(cells)
    if any(measure.key in result.people for measure in measures):
        groups.append([_people(result, measures, printed)])
    marks = {cell.mark for group in groups for row in group for cell in row}
    people = f"people: {result.people_note}"
    meanings = ((NOT_ABOVE, "not significantly above the best control"), (OF_PEOPLE, people))
    notes = [(mark, text) for mark, text in meanings if mark in marks]
    shown = highlighted_rows_first(groups)
    table = PrintTable(name, caption(result, measures), heads, shown, notes)
    table = with_scores_of(table, result)
    return chosen_columns(table) if first.shown else table


INTERVALS = "{:g}% intervals in brackets"


def caption(result: MeasuredResult, measures: Sequence[Measure]) -> str:
    """What the columns are, in which unit, and what bold means."""
    units = {
        unit: [m.title for m in measures if m.unit == unit]
        for unit in dict.fromkeys(m.unit for m in measures)
        if unit in UNITS
    }
    sentences = [
        UNITS[unit] if len(titles) == len(measures) else f"{', '.join(titles)} {UNITS[unit]}"
        for unit, titles in units.items()
    ]
    confidence = result.settings.get("confidence")
    if isinstance(confidence, float):
        sentences.append(INTERVALS.format(100 * confidence))
    marked = {m.title: result.comparisons[m.key] for m in measures if bold_names(result, m)}
    if rule := definition_of_bold(marked):
        sentences.append(rule)
    text = "; ".join(sentences)
    title = result.title or result.dataset
    if measures[0].group:
        title = f"{title}, {measures[0].group}"
    return f"{title}: {text}." if text else f"{title}."


def extra_table(result: MeasuredResult | None, extra: Extra, title: str = "") -> Block:
    """An extra as a table of its own; numbers with their intervals in one cell.

    With a result, the table for LaTeX has the signatures of its scores.
    """
    table = print_extra(result, extra)
    table = table._replace(groups=highlighted_rows_first(table.groups))
    html = rendered("extra_table.html.j2", table=table, links=save_links([table]))
    return Block(
        f"extra-{extra.name}", title or extra.title, html, folded=extra.folded, tables=(table,)
    )


def print_extra(result: MeasuredResult | None, extra: Extra) -> PrintTable:
    """The table for print of an extra of a result."""
    columns = extra.main_columns
    rows = []
    for record in extra.records:
        row = []
        for column in columns:
            text = plain(record[column])
            low, high = record.get(f"{column}_low"), record.get(f"{column}_high")
            if low is not None and high is not None and record[column] is not None:
                text = f"{text} [{plain(low)}, {plain(high)}]"
            row.append(PrintCell(text))
        rows.append(row)
    # those of a matrix are names, and stay as they are
    is_matrix = extra.kind == "matrix"
    heads = [c if k and is_matrix else _head(c) for k, c in enumerate(columns)]
    table = PrintTable(file_stem(extra.name), f"{extra.title}.", heads, [rows] if rows else [])
    return table if result is None else with_scores_of(table, result)


def matrix_block(result: MeasuredResult, extra: Extra, title: str = "") -> Block:
    """Rows and columns of numbers, coloured from the lowest to the highest of the matrix."""
    first, *columns = extra.main_columns
    table = print_extra(result, extra)
    cells = [[record[column] for column in columns] for record in extra.records]
    numbers = [value for row in cells for value in row if isinstance(value, int | float)]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)

    def shade(value: object) -> int:
        """0 to 100: how strongly a cell is coloured."""
        if not isinstance(value, int | float) or high == low:
            return 0
        return round(100 * (value - low) / (high - low))

    rows = []
    for record, texts in zip(extra.records, [row for g in table.groups for row in g], strict=True):
        shaded = [
            (plain(record[column]), shade(record[column]), cell.text)
            for column, cell in zip(columns, texts[1:], strict=True)
        ]
        rows.append((record[first], shaded))
    html = rendered(
        "matrix_block.html.j2",
        extra=extra,
        caption=table.caption if title else "",
        heads=table.heads,
        rows=rows,
        links=save_links([table]),
    )
    return Block(
        f"extra-{extra.name}", title or extra.title, html, folded=extra.folded, tables=(table,)
    )


P_VALUE = "p after Holm"
RULE = "times 100; p-values after Holm over {} pairs"


def difference_tables(run: LoadedRun, measure: Measure | None = None) -> Block:
    """The difference of every pair of metrics by a measure, with its tests; folded."""
    result = run.result
    measure = measure or result.declared[0]
    comparisons = result.comparisons.get(measure.key)
    if comparisons is None or not comparisons.pairs:
        return NOTHING
    order = [metric.name for metric in ranked(ranked_metrics(result), measure)]
    table = with_scores_of(_differences_table(comparisons.pairs, measure), result)
    html = rendered(
        "differences_block.html.j2",
        title=measure.full_title,
        lines=comparison_matrix(comparisons, order),
        table=table,
        links=save_links([table]),
        rule=RULE.format(len(comparisons.pairs)),
    )
    key = "differences" if measure == result.declared[0] else f"differences-{measure.key}"
    return Block(key, "Who beats whom", html, folded=True, tables=(table,))


def _differences_table(pairs: Sequence[Comparison], measure: Measure) -> PrintTable:
    """A row a pair, with a column of p-values for each kind of test."""
    methods = list(dict.fromkeys(test.method for pair in pairs for test in pair.tests))
    p_heads = [f"{P_VALUE}, {method}" for method in methods] if len(methods) > 1 else [P_VALUE]
    with_power = any(pair.power for pair in pairs)
    rows = []
    for pair in pairs:
        p = {test.method: p_value(test.p_adjusted) for test in pair.tests}
        cells = [pair.a, pair.b, with_interval(measure, pair.difference)]
        cells += [p.get(method, DASH) for method in methods or [""]]
        cells.append(DASH if pair.n is None else count(pair.n))
        if with_power:
            power, needed = pair.power, pair.images_needed
            cells += [number(power.effect), number(power.detectable)] if power else [DASH, DASH]
            cells.append(DASH if needed is None else count(math.ceil(needed)))
        rows.append([PrintCell(text) for text in cells])
    heads = ["A", "B", "A − B", *p_heads, "n"]
    heads += ["effect, sd", "detectable", "images needed"] if with_power else []
    name = f"differences-{file_stem(measure.key)}"
    return PrintTable(name, f"Differences of {measure.full_title}.", heads, [rows], n_names=2)


def _groups(result: MeasuredResult, first: Measure) -> list[list[MetricResult]]:
    """Metrics best first with their parts under them, those that have learned from captions like
    those of the run, controls, and untrained ones."""
    by_kind: dict[str, list[MetricResult]] = {}
    for metric in result.metrics:
        if metric.statistics is not None:
            kind = row_kind(metric)
            if kind == "result" and metric.why_not_ranked(result.experiment):
                kind = "learned"
            by_kind.setdefault(kind, []).append(metric)
    groups: list[list[MetricResult]] = []
    parts = by_kind.get("part", [])
    for kind in ("result", "learned"):
        group: list[MetricResult] = []
        for metric in in_order(by_kind.get(kind, []), first):
            group += [metric, *(p for p in parts if p.column.part_of == metric.name)]
        groups.append(group)
    groups[0] += [part for part in parts if part not in groups[0] and part not in groups[1]]
    groups += [in_order(by_kind.get(kind, []), first) for kind in ("control", "random")]
    return groups


def _cell(result: MeasuredResult, metric: MetricResult, measure: Measure, bold: bool) -> PrintCell:
    estimate = metric.numbers.values.get(measure.key)
    if estimate is None or estimate.value is None:
        return PrintCell(DASH)
    against = result.controls.get(measure.key)
    compared = against is not None and metric.name in {c.a for c in against.comparisons}
    mark = NOT_ABOVE if against and compared and metric.name not in against.above else ""
    return PrintCell(_scaled(measure, estimate), bold, mark, estimate.value)


def _scaled(measure: Measure, estimate: Estimate) -> str:
    """The text of a value; only scores have the style's scale."""
    text = with_interval(measure, estimate)
    return scale_numbers(text) if measure.unit == "score" else text


def _people(
    result: MeasuredResult, measures: Sequence[Measure], printed: Mapping[str, Mapping[str, float]]
) -> list[PrintCell]:
    """What people reach, in a row of its own."""
    row = [PrintCell("People")]
    for measure in measures:
        estimate = result.people.get(measure.key)
        mark = OF_PEOPLE if estimate is not None and result.people_note else ""
        text = DASH if estimate is None else _scaled(measure, estimate)
        row.append(PrintCell(text, mark=mark))
        row += [PrintCell(DASH)] * bool(printed[measure.key])
    return row


def _stems(groups: Iterable[str]) -> dict[str, str]:
    """Group → its part of file names: in lower case with hyphens, where no other group has it."""
    plain = {group: group.lower().replace(",", "").replace(" ", "-") for group in groups}
    times = Counter(plain.values())
    return {g: file_stem(stem if times[stem] == 1 else g) for g, stem in plain.items()}


def _head(column: str) -> str:
    return capital(column.replace("_", " "))
