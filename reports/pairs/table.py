"""The tables of a run on true and false captions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from metaeval.reports.shared.elements import Cell, ColumnHead
from metaeval.reports.shared.formatting import count, percent, with_interval
from metaeval.reports.shared.interval_bar import Span, axis, interval_bar, span_of
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.table import MetricsTable, in_order, result_row
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.pairs import AccuracyByKind, PairsResult, PairsStatistics

TIES = {
    "half": "Equal scores count half, for metrics and controls.",
    "wrong": "Equal scores count as wrong, for metrics and controls.",
}
VERDICTS = {
    "nothing": "nothing: a control does as well as every metric",
    "unsure": "not certain: no metric is significantly above the control",
    "undecidable": "cannot be decided with so few permutations or images",
    "something": "something: these metrics are significantly above it",
}


def shown_by(result: PairsResult, comparison: str) -> list[str]:
    """The kinds on which some metric is significantly above the best control."""
    return [k for k, c in result.controls[comparison].items() if c.shows == "something"]


def accuracy_table(result: PairsResult) -> MetricsTable:
    """A row per metric, a column per kind, a body per comparison; best mean over kinds first."""
    span = span_of(_ends(result))
    ties = TIES[result.settings.ties]
    heads = [
        ColumnHead("metric", "Metric", "Controls, in italics, are below the metrics."),
        ColumnHead("rho", "Mean", "The mean of the accuracies of all kinds.", axis(span)),
        ColumnHead(
            "shown",
            "Shown",
            "The mean over the kinds on which some metric is significantly above the best control.",
        ),
        *(
            ColumnHead(f"kind-{i}", f"{kind} ({count(n)})", f"{count(n)} pairs. {ties}")
            for i, (kind, n) in enumerate(result.kinds.items())
        ),
        ColumnHead(
            "ties",
            "Ties",
            "Share of pairs with equal scores, mean over the kinds. The tip of a cell has the "
            "accuracy on the other pairs.",
        ),
        ColumnHead(
            "pooled",
            "AUROC",
            "True and false captions of all images together: the probability that a true one "
            "scores higher than a false one of any image. The tip of a cell has its interval and "
            "the average precision of the false captions, 50% by chance.",
        ),
        ColumnHead("n", "n", "Pairs that the metric could score."),
    ]
    keys = [head.key for head in heads]
    bodies = []
    for comparison in result.comparisons:
        rows = [
            result_row(
                m, keys, partial(_cells, metric=m, result=result, comparison=comparison, span=span)
            )
            for m in result.visible
        ]
        values = {
            m.name: m.statistics.accuracy[comparison].mean.value
            for m in result.visible
            if m.statistics is not None
        }
        bodies.append((comparison, in_order(rows, values)))
    return MetricsTable(heads, bodies)


def _ends(result: PairsResult) -> Iterator[float | None]:
    for metric in result.visible:
        if metric.statistics is not None:
            for accuracy in metric.statistics.accuracy.values():
                yield from (accuracy.mean.value, accuracy.mean.low, accuracy.mean.high)


def _cells(
    statistics: PairsStatistics,
    metric: MetricResult[PairsStatistics],
    result: PairsResult,
    comparison: str,
    span: Span,
) -> list[Cell]:
    accuracy, controls = statistics.accuracy[comparison], result.controls[comparison]
    mean = accuracy.mean
    bar = interval_bar(mean.value, mean.interval, span)
    cells = [Cell("rho", bar, mean.value, printed=with_interval(mean.value, (mean.low, mean.high)))]
    if (shown := accuracy.mean_of_shown) is not None:
        cells.append(
            Cell("shown", percent(shown.value), shown.value, f"{count(shown.n or 0)} pairs")
        )
    for i, (kind, a) in enumerate(accuracy.kinds.items()):
        hover = (
            f"{count(a.n or 0)} pairs; interval {percent(a.low)} to {percent(a.high)}; ties "
            f"{percent(a.ties)}"
        )
        below = kind in controls and metric.name in controls[kind].not_above
        note = "not above" if below and kind_of(metric) == "result" else ""
        cells.append(Cell(f"kind-{i}", percent(a.value), a.value, hover, note, "outside"))
    if statistics.pooled is not None:
        auroc, precision = statistics.pooled.auroc, statistics.pooled.average_precision
        hover = f"{_ends_of(auroc)}; AP {percent(precision.value)}, {_ends_of(precision)}"
        cells.append(Cell("pooled", percent(auroc.value), auroc.value, hover))
    return [
        *cells,
        Cell("ties", percent(mean.ties), mean.ties, f"the others: {percent(mean.untied)}"),
        Cell("n", count(mean.n or 0), mean.n),
    ]


def _ends_of(estimate: Estimate) -> str:
    return f"interval {percent(estimate.low)} to {percent(estimate.high)}"


def control_rows(result: PairsResult, comparison: str) -> list[list[str]]:
    """Kind, best control with its value, best metric with its value, how many are above."""
    ranked = sum(kind_of(m) == "result" for m in result.visible)
    return [
        [
            f"{kind} ({count(result.kinds[kind])})",
            f"{c.control} {percent(c.control_value)}",
            f"{c.best} {percent(c.best_value)}",
            f"{len(c.above)} of {ranked}",
            VERDICTS[c.shows],
        ]
        for kind, c in result.controls[comparison].items()
    ]


def refinement_table(result: PairsResult, comparison: str) -> tuple[list[str], list[list[str]]]:
    """Heads with the numbers of pairs, and of each metric and control the accuracies before and
    after; nothing without a refinement."""
    refinement = result.refinement
    if refinement is None:
        return [], []
    heads = [
        f"{kind} {count(n)}\u00a0→\u00a0{count(refinement.kinds[kind])}"
        for kind, n in result.kinds.items()
    ]
    lines: list[tuple[bool, float, list[str]]] = []
    for metric in result.visible:
        numbers = metric.statistics
        if kind_of(metric) not in ("result", "control") or numbers is None or not numbers.refined:
            continue
        before, after = numbers.accuracy[comparison], numbers.refined[comparison]
        name = f"({metric.name})" if metric.column.control else metric.name
        cells = [name, *_before_and_after(before, after)]
        lines.append((metric.column.control, -(after.mean.value or 0.0), cells))
    return ["Mean", *heads], [cells for *_, cells in sorted(lines, key=lambda line: line[:2])]


def _before_and_after(before: AccuracyByKind, after: AccuracyByKind) -> Iterator[str]:
    yield f"{_points(before.mean.value)} → {_points(after.mean.value)}"
    for kind in before.kinds:
        yield f"{_points(before.kinds[kind].value)} → {_points(after.kinds[kind].value)}"


def _points(share: float | None) -> str:
    """A share in percent without the sign, for cells that hold two."""
    return percent(share).rstrip("%")
