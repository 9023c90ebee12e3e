"""The tables of a run on true and false captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from reports.shared.elements import Cell, ColumnHead
from reports.shared.formatting import count, percent, with_interval
from reports.shared.interval_bar import Span, axis, interval_bar, span_of
from reports.shared.row_kind import Record, row_kind
from reports.shared.run import FinishedRun
from reports.shared.table import MetricsTable, in_order, metric_row

MEAN = "mean"


def accuracy_table(run: FinishedRun) -> MetricsTable:
    """A row a metric, a column a kind, a body a comparison; best first by the mean over kinds."""
    kinds: Mapping[str, int] = run.statistics["kinds"]
    span = span_of(
        v
        for r in run.metrics
        for of_comparison in (r.get("accuracy") or {}).values()
        for v in (of_comparison[MEAN]["value"], *of_comparison[MEAN]["ci"])
    )
    heads = [
        ColumnHead("metric", "Metric", "Controls, in italics, stand below the metrics."),
        ColumnHead("rho", "Mean", "The mean of the accuracies of the kinds.", axis(span)),
        *(
            ColumnHead(f"kind-{i}", kind, f"{count(n)} pairs. Ties are not right.")
            for i, (kind, n) in enumerate(kinds.items())
        ),
        ColumnHead("ties", "Ties", "Share of pairs with equal scores, mean over the kinds."),
        ColumnHead("untied", "Untied", "Accuracy on the pairs that are not tied."),
        ColumnHead("n", "n", "Pairs that the metric could score."),
    ]
    keys = [head.key for head in heads]
    bodies = []
    for comparison in run.statistics["comparisons"]:
        cells = partial(
            _cells, comparison=comparison, kinds=list(kinds), span=span,
            controls=run.statistics["controls"][comparison],
        )  # fmt: skip
        values = {
            r["metric"]: r["accuracy"][comparison][MEAN]["value"]
            for r in run.metrics
            if r.get("accuracy")
        }
        bodies.append(
            (comparison, in_order([metric_row(r, keys, cells) for r in run.metrics], values))
        )
    return MetricsTable(heads, bodies)


def _cells(
    r: Record,
    comparison: str,
    kinds: Sequence[str],
    span: Span,
    controls: Mapping[str, Any] | None,
) -> list[Cell]:
    accuracy = r["accuracy"][comparison]
    mean = accuracy[MEAN]
    bar = interval_bar(mean["value"], mean["ci"], span)
    printed = with_interval(mean["value"], mean["ci"])
    cells = [Cell("rho", bar, mean["value"], printed=printed)]
    for i, kind in enumerate(kinds):
        a = accuracy[kind]
        hover = (
            f"{count(a['n'])} pairs; interval {' to '.join(map(percent, a['ci']))}; ties "
            f"{percent(a['ties'])}"
        )
        above = controls is None or r["metric"] in controls[kind]["above"]
        note = "" if above or row_kind(r) != "result" else "not above"
        cells.append(Cell(f"kind-{i}", percent(a["value"]), a["value"], hover, note, "outside"))
    return [
        *cells,
        Cell("ties", percent(mean["ties"]), mean["ties"]),
        Cell("untied", percent(mean["untied"]), mean["untied"]),
        Cell("n", count(mean["n"]), mean["n"]),
    ]


def control_rows(run: FinishedRun, comparison: str) -> list[tuple[str, list[str]]]:
    """Kind → best control and what it gets, best metric and what it gets, how many are above."""
    controls = run.statistics["controls"][comparison] or {}
    ranked = sum(row_kind(r) == "result" for r in run.metrics)
    return [
        (
            kind,
            [
                f"{c['control']} {percent(c['value'])}",
                f"{c['best']} {percent(c['best_value'])}",
                f"{len(c['above'])} of {ranked}",
                VERDICTS[c["shows"]],
            ],
        )
        for kind, c in controls.items()
    ]


VERDICTS = {
    "nothing": "nothing: a control does as well as every metric",
    "unsure": "not sure: no metric is surely above the control",
    "something": "something: these metrics see what no control sees",
}


def refinement_table(
    run: FinishedRun, comparison: str
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Heads with the numbers of pairs, and of each metric and control the accuracies before and
    after; nothing without a refinement."""
    refinement = run.statistics["refinement"]
    if refinement is None:
        return [], []
    kinds: Mapping[str, int] = run.statistics["kinds"]
    left_of = refinement["kinds"]
    heads = [f"{kind} {count(n)}\u00a0→\u00a0{count(left_of[kind])}" for kind, n in kinds.items()]
    rows = []
    shown = [r for r in run.metrics if row_kind(r) in ("result", "control")]
    after = refinement["accuracy"]
    order = sorted(
        shown,
        key=lambda r: (
            row_kind(r) == "control",
            -(after[r["metric"]][comparison][MEAN]["value"] or 0.0),
        ),
    )
    for r in order:
        before, left = r["accuracy"][comparison], after[r["metric"]][comparison]
        cells = [
            f"{_points(before[k]['value'])} → {_points(left[k]['value'])}" for k in (MEAN, *kinds)
        ]
        rows.append((f"({r['metric']})" if row_kind(r) == "control" else r["metric"], cells))
    return ["Mean", *heads], rows


def _points(share: float | None) -> str:
    """A share in percent without the sign, for cells that hold two."""
    return percent(share).rstrip("%")
