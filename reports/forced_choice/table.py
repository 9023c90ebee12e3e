"""The table of forced choice: a row per metric, a column per category of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from metaeval.reports.judgments.table import METRIC, NOT_ABOVE, is_below
from metaeval.reports.shared.elements import Cell, ColumnHead
from metaeval.reports.shared.formatting import count, percent, with_interval
from metaeval.reports.shared.interval_bar import Span, axis, interval_bar, span_of
from metaeval.reports.shared.table import MetricsTable, in_order, result_row
from metaeval.reports.shared.training import training_footnotes
from metaeval.results.forced_choice import MEAN, ForcedChoiceResult, ForcedChoiceStatistics
from metaeval.results.metric import MetricResult

CATEGORY: Mapping[str, str] = {
    "HC": "Two human captions of the image, both correct.",
    "HI": "Two human captions, one of them of another image.",
    "HM": "A human caption against a machine's.",
    "MM": "Two machines' captions.",
}


def choice_table(result: ForcedChoiceResult) -> MetricsTable:
    """A row per metric, a column per category, a body a number of references; best mean first."""
    means = [choice.mean for m in result.visible if m.ok for choice in m.numbers.choice]
    span = span_of([0.5, *(v for mean in means for v in (mean.value, mean.low, mean.high))])
    categories = [group for group in result.groups if group != MEAN]
    heads = [
        METRIC,
        ColumnHead(
            "rho", "Mean", f"Mean accuracy over the {result.average}; 0.5 is chance.", axis(span)
        ),
        *(
            ColumnHead(category, category, CATEGORY[category].replace("image", result.unit))
            for category in categories
        ),
    ]
    published = result.published
    if published.values:
        tip = f"{published.source}, {published.n_references} references: " + ", ".join(categories)
        heads.append(ColumnHead("paper", "Paper", tip))
    keys = [head.key for head in heads]
    bodies = []
    for place, n in enumerate(result.n_references):
        rows = [
            result_row(m, keys, partial(_cells, m, result=result, place=place, span=span))
            for m in result.visible
        ]
        values = {m.name: m.numbers.choice[place].mean.value for m in result.visible if m.ok}
        bodies.append((f"{n} reference{'' if n == 1 else 's'}", in_order(rows, values)))
    table = MetricsTable(heads, bodies)
    return table.with_footnotes(training_footnotes(result.visible, result.experiment))


def _cells(
    metric: MetricResult[ForcedChoiceStatistics],
    numbers: ForcedChoiceStatistics,
    *,
    result: ForcedChoiceResult,
    place: int,
    span: Span,
) -> list[Cell]:
    choice, n = numbers.choice[place], result.n_references[place]
    controls = result.controls[n] or {}
    notes = {
        group: NOT_ABOVE if is_below(metric, controls.get(group)) else "" for group in result.groups
    }
    mean = choice.mean
    ends = (mean.low, mean.high)
    bar, printed = interval_bar(mean.value, ends, span), with_interval(mean.value, ends)
    cells = [Cell("rho", bar, mean.value, note=notes[MEAN], printed=printed)]
    for category, share in choice.categories.items():
        shown = percent(share.value)
        hover = (
            f"{count(share.n or 0)} pairs; interval {percent(share.low)} to {percent(share.high)}"
        )
        cells.append(Cell(category, shown, share.value, hover, notes[category], "outside"))
    papers = result.published.values if result.published.n_references == n else {}
    if values := papers.get(metric.name):
        cells.append(Cell("paper", ", ".join(percent(v) for v in values.values())))
    return cells
