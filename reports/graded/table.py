"""The rows of the table: what each cell shows, and what it sorts by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from metaeval.reports.graded.glossary import COLUMNS
from metaeval.reports.graded.ranking import against_paper, block, rho
from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.graded.statements.controls import is_above
from metaeval.reports.shared.elements import Cell, ColumnHead, Row
from metaeval.reports.shared.formatting import (
    DASH,
    interval,
    number,
    p_value,
    percent,
    with_interval,
)
from metaeval.reports.shared.interval_bar import Span, axis, interval_bar, span_of
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.table import MetricsTable, in_order, result_row
from metaeval.reports.shared.training import training_footnotes
from metaeval.results.base import Estimate
from metaeval.results.graded import GradedStatistics, Measure, SelectedStatistics, VarianceShares
from metaeval.runs.records import PaperValue

OTHER_MODEL = (
    "The paper's value is of the same metric with another model. The two do not compare, so no "
    "difference is given."
)

SELECTIONS = ("applied", "degrees")  # the values of the switch, besides "all"


def metrics_table(run: GradedRun) -> MetricsTable:
    """All items and, where any corruption changed nothing, the items without those.

    The columns on a paper are there only where there is one to compare with.
    """
    span = span_of(_ends(run))
    compared = any(run.paper(m) for m in run.metrics)
    keys = [key for key in COLUMNS if compared or key not in ("paper", "delta")]
    heads = [
        ColumnHead(key, COLUMNS[key].name, COLUMNS[key].short, axis(span) if key == "rho" else "")
        for key in keys
    ]

    def every(m: Metric) -> list[Cell]:
        paper = run.paper(m)
        bar = _bar(run, m, m.numbers.rank_order_rho, paper, span)
        return [bar, *_statistics(run, m), *_paper(m, paper, run.why_not_comparable)]

    bodies = [("all", _rows(run, keys, every, {m.name: rho(m) for m in run.metrics}))]
    for name in SELECTIONS:
        parts = {m.name: part for m in run.metrics if (part := _selected(m, name)) is not None}
        if parts:
            values = {metric: part.rank_order_rho.value for metric, part in parts.items()}
            bodies.append((name, _rows(run, keys, partial(_part_cells, parts, span), values)))
    table = MetricsTable(heads, bodies)
    return table.with_footnotes(training_footnotes(run.metrics, run.result.experiment))


def _selected(metric: Metric, selection: str) -> SelectedStatistics | None:
    """The statistics of a part of the items; `None` where the metric has none."""
    if metric.statistics is None:
        return None
    if selection == "applied":
        return metric.statistics.every_level_applied
    return metric.statistics.without_floor


def _ends(run: GradedRun) -> Iterator[float | None]:
    """The values that the axis must include: intervals and published values.

    Tie ranges are cut at its ends: they may span almost everything.
    """
    for m in run.metrics:
        if kind_of(m) not in ("result", "part", "control"):
            continue
        parts = [part for name in SELECTIONS if (part := _selected(m, name)) is not None]
        for estimate in (m.numbers.rank_order_rho, *(part.rank_order_rho for part in parts)):
            yield from estimate.interval or (estimate.value,)
        if (paper := run.paper(m)) is not None:
            yield paper.value


def _rows(
    run: GradedRun,
    keys: Sequence[str],
    cells: Callable[[Metric], Iterable[Cell]],
    values: Mapping[str, float | None],
) -> list[Row]:
    """The rows in their first order: by ρ, parts under their metric, the rest below."""
    experiment = run.result.experiment
    rows = [
        result_row(m, keys, partial(_of_metric, m, cells))._replace(kind=block(m, experiment))
        for m in run.metrics
    ]
    return in_order(rows, values)


def _of_metric(
    metric: Metric, cells: Callable[[Metric], Iterable[Cell]], _: GradedStatistics
) -> Iterable[Cell]:
    """The cells of a metric: they depend on the whole run, not only on its statistics."""
    return cells(metric)


def _part_cells(parts: Mapping[str, SelectedStatistics], span: Span, metric: Metric) -> list[Cell]:
    """The cells of a selection, which no paper reports on."""
    part = parts.get(metric.name)
    if part is None:
        return []
    pooled = part.rank_order_rho
    bar = interval_bar(pooled.value, pooled.interval, span, title=f"ρ {number(pooled.value, 4)}")
    return [
        Cell("rho", bar, pooled.value, printed=with_interval(pooled.value, pooled.interval)),
        _number("within", part.rank_order_rho_within),
        _share("accuracy", part.pairwise_accuracy),
        _share("monotone", part.monotone_rate),
    ]


def _bar(run: GradedRun, m: Metric, pooled: Estimate, paper: PaperValue | None, span: Span) -> Cell:
    bounds = m.numbers.rank_order_rho_bounds
    title = [
        f"ρ {number(pooled.value, 4)}",
        f"interval {interval(pooled.interval, 4)}",
        f"tie-breaking alone: {interval(bounds, 4)}",
    ]
    if paper is not None:
        whose = "" if paper.same_model else " for another model"
        title.append(f"published{whose}: {number(paper.value, 4)}")
    bar = interval_bar(
        pooled.value, pooled.interval, span, published=paper, bounds=bounds, title="; ".join(title)
    )
    note, hover = _below_control(run, m, "rank_order_rho")
    printed = with_interval(pooled.value, pooled.interval)
    return Cell("rho", bar, pooled.value, hover, note, "outside" if note else "", printed)


def _below_control(run: GradedRun, m: Metric, measure: Measure) -> tuple[str, str]:
    """A note and a hover text where the metric is not significantly above the best control."""
    pair = run.result.control_comparison(m.name, measure)
    if pair is None or is_above(pair, run.result.alpha()):
        return "", ""
    p = pair.test.p_adjusted if pair.test else None
    measured = (
        f"difference {number(pair.difference.value)} ({interval(pair.difference.interval)}), "
        f"p {p_value(p)} after Holm"
    )
    if pair.test is not None and not pair.test.decidable:
        why = f"cannot be decided against {pair.b} with so few images: {measured}"
        return "above control: undecided", why
    return "not above control", f"not significantly above {pair.b}: {measured}"


def _statistics(run: GradedRun, m: Metric) -> list[Cell]:
    numbers = m.numbers
    aucs = [step.auc.value for step in numbers.adjacent_auc]
    each = "; ".join(
        f"{step.lower} → {step.upper}: {number(step.auc.value)} ({interval(step.auc.interval)})"
        for step in numbers.adjacent_auc
    )
    within = _number("within", numbers.rank_order_rho_within)
    accuracy = _share("accuracy", numbers.pairwise_accuracy)
    return [
        _marked(within, _below_control(run, m, "rank_order_rho_within")),
        Cell(
            "offset",
            percent(numbers.variance.image, 0),
            numbers.variance.image,
            _parts(numbers.variance),
        ),
        _number("spearman", numbers.spearman_rho),
        _number("tau", numbers.kendall_tau_b),
        Cell(
            "ties",
            percent(numbers.tie_fraction),
            numbers.tie_fraction,
            note=f"{percent(numbers.pairwise_ties)} in image",
        ),
        _marked(accuracy, _below_control(run, m, "pairwise_accuracy")),
        Cell(
            "auc",
            "  ".join(number(a, 2) for a in aucs) or DASH,
            min((a for a in aucs if a is not None), default=None),
            each,
        ),
        _share("monotone", numbers.monotone_rate),
        _share("inversions", numbers.inversion_rate),
    ]


def _marked(cell: Cell, below: tuple[str, str]) -> Cell:
    note, hover = below
    if not note:
        return cell
    title = "; ".join(text for text in (cell.title, hover) if text)
    return cell._replace(note=note, note_class="outside", title=title)


def _parts(parts: VarianceShares) -> str:
    """The shares of the variance, for the hover text."""
    if parts.image is None:
        return ""
    return (
        f"variance: {percent(parts.image)} image, {percent(parts.level)} level, "
        f"{percent(parts.rest)} rest"
    )


def _number(key: str, estimate: Estimate) -> Cell:
    ci = interval(estimate.interval)
    hover = "" if ci == DASH else f"interval {ci}"
    return Cell(key, number(estimate.value), estimate.value, hover)


def _share(key: str, estimate: Estimate) -> Cell:
    ends = estimate.interval
    hover = f"interval {percent(ends[0])} to {percent(ends[1])}" if ends else ""
    return Cell(key, percent(estimate.value), estimate.value, hover)


def _paper(m: Metric, paper: PaperValue | None, why_not: str) -> list[Cell]:
    """The published value, and how far ours is from it where the two compare."""
    value = rho(m)
    if paper is None:
        return []
    if not paper.same_model:
        return [
            Cell("paper", number(paper.value), paper.value, OTHER_MODEL, "another model"),
            Cell("delta", DASH, None, OTHER_MODEL),
        ]
    if value is None:
        return []
    short, long = ("not comparable", why_not) if why_not else against_paper(m, paper.value)
    off = value - paper.value
    marked = "outside" if short.endswith(("above", "below")) else ""
    return [
        Cell("paper", number(paper.value), paper.value),
        Cell("delta", number(off, sign=True), off, long, short, marked),
    ]
