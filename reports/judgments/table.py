"""The rows of the tables of a run against human judgements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from metaeval.reports.shared.elements import Cell, ColumnHead
from metaeval.reports.shared.formatting import (
    DASH,
    count,
    interval,
    known,
    number,
    percent,
    with_interval,
)
from metaeval.reports.shared.interval_bar import Span, axis, interval_bar, span_of
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.table import MetricsTable, in_order, result_row
from metaeval.reports.shared.training import training_footnotes
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl
from metaeval.results.judgments import (
    CalibratedAccuracy,
    CommonRows,
    Correlation,
    JudgmentsResult,
    JudgmentStatistics,
    PeopleAgreement,
    has_few_values,
)
from metaeval.results.metric import MetricResult
from metaeval.runs.records import PaperValue

Metric = MetricResult[JudgmentStatistics]

STATISTICS: Mapping[Correlation, tuple[str, str]] = {
    "pearson": ("Pearson r", "How well a straight line predicts the ratings."),
    "spearman": ("Spearman ρ", "Correlation of the ranks; equal values share their mean rank."),
    "kendall_tau_b": (
        "τ-b",
        "Kendall's τ-b: concordant minus discordant pairs; ties leave the denominator, each side "
        "on its own.",
    ),
    "kendall_tau_c": (
        "τ-c",
        "Kendall's τ-c: concordant minus discordant pairs, scaled for tables that are not square.",
    ),
}
ACCURACY = (
    "Accuracy",
    "Pairwise accuracy with tie calibration: of two captions of one image, does the metric order "
    "(or tie) them as people do? Scores within ε count as tied; ε is the one best for the metric.",
)


FEW_PAIRS = 30  # below this an accuracy is shown with its number of pairs
NOT_ABOVE = "not above"  # not significantly above the best control

METRIC = ColumnHead("metric", "Metric", "Indented rows are parts of the metric above them.")


def ratings_table(result: JudgmentsResult) -> MetricsTable:
    """A row per metric, a body a dimension; best first by the protocol's statistic."""
    quoted, published = result.protocol.statistic, result.published
    agreements = [a for m in result.visible if m.ok for a in m.numbers.human.values()]
    span = span_of(
        value
        for agreement in agreements
        for estimate in [agreement.estimate(quoted)]
        for value in (estimate.value, estimate.low, estimate.high)
    )
    heads = [
        METRIC,
        ColumnHead("rho", *STATISTICS[quoted], axis(span)),
        *(ColumnHead(key, *STATISTICS[key]) for key in STATISTICS if key != quoted),
        ColumnHead(
            "length",
            "r given length",
            "Partial Pearson r: r when the caption's number of words is held fixed.",
        ),
        *_ceiling_head(result),
        ColumnHead("accuracy", *ACCURACY),
        ColumnHead(
            "gain", "Uncalibrated", "The same accuracy at ε = 0, where only equal scores tie."
        ),
        ColumnHead("ties", "Ties", "Share of all pairs of captions with exactly equal scores."),
        ColumnHead("n", "n", "Rows that the metric could score."),
    ]
    if any(agreement.common for agreement in agreements):
        tip = "The same on the rows that every metric could score: the metrics are ranked by it."
        heads.append(ColumnHead("common", "Common rows", tip))
    if published.values:
        heads.append(ColumnHead("paper", "Paper", f"The value of {published.source}."))
        heads.append(ColumnHead("delta", "Difference", "Ours minus the paper's."))
    keys = [head.key for head in heads]
    bodies = []
    for name in result.dimensions:
        rows = [
            result_row(m, keys, partial(_rating_cells, m, result=result, dimension=name, span=span))
            for m in result.visible
        ]
        values = {m.name: m.numbers.human[name].ranked_by(quoted) for m in result.visible if m.ok}
        bodies.append((name, in_order(rows, values)))
    table = MetricsTable(heads, bodies)
    return table.with_footnotes(training_footnotes(result.visible, result.experiment))


def _rating_cells(
    metric: Metric,
    numbers: JudgmentStatistics,
    *,
    result: JudgmentsResult,
    dimension: str,
    span: Span,
) -> list[Cell]:
    quoted, agreement = result.protocol.statistic, numbers.human[dimension]
    paper = result.published.values.get(dimension, {}).get(metric.name)
    estimate = agreement.estimate(quoted)
    value, ends = estimate.value, (estimate.low, estimate.high)
    n_nan = numbers.n_nan
    notes = [f"{count(n_nan)} caption{'s' * (n_nan != 1)} without a score"] if n_nan else []
    if is_below(metric, result.controls[dimension]):
        notes.append(NOT_ABOVE)
    if quoted == "kendall_tau_c" and has_few_values(numbers):
        notes.append(f"{numbers.n_distinct} values: see τ-b")
    bar = interval_bar(
        value, ends, span, published=None if paper is None else PaperValue(paper, True)
    )
    return [
        Cell(
            "rho",
            bar,
            value,
            f"interval {interval(ends, 4)}",
            "; ".join(notes),
            printed=with_interval(value, ends),
        ),
        *(_correlation_cell(key, agreement.estimate(key)) for key in STATISTICS),
        *_length_cells(agreement.length_controlled),
        *_ceiling_cells(value, result.people.get(dimension)),
        *_accuracy_cells(agreement.accuracy),
        Cell("ties", percent(numbers.ties), numbers.ties),
        Cell("n", count(agreement.n), agreement.n),
        *_common_cells(agreement.common),
        *([] if paper is None or value is None else _paper_cells(value, paper, result)),
    ]


def _correlation_cell(key: str, estimate: Estimate) -> Cell:
    ends = (estimate.low, estimate.high)
    return Cell(key, number(estimate.value), estimate.value, f"interval {interval(ends, 4)}")


def _length_cells(estimate: Estimate | None) -> list[Cell]:
    return [] if estimate is None else [_correlation_cell("length", estimate)]


def _ceiling_head(result: JudgmentsResult) -> list[ColumnHead]:
    if not any(people and people.value for people in result.people.values()):
        return []
    return [
        ColumnHead(
            "ceiling",
            "Of ceiling",
            "The metric's agreement as a share of the ceiling: the agreement of one rating, taken "
            "at random, with the other ratings of the caption.",
        )
    ]


def _ceiling_cells(value: float | None, people: PeopleAgreement | None) -> list[Cell]:
    """The share of the raters' agreement that a metric reaches."""
    if value is None or people is None or not people.value:
        return []
    share = value / people.value
    return [Cell("ceiling", percent(share, 0), share, f"ceiling {number(people.value)}")]


def is_below(metric: MetricResult[Any], control: AgainstControl | None) -> bool:
    """Whether a ranked metric is not significantly above the best control."""
    return control is not None and kind_of(metric) == "result" and metric.name in control.not_above


def _common_cells(common: CommonRows | None) -> list[Cell]:
    if common is None:
        return []
    return [Cell("common", number(common.value), common.value, note=f"{count(common.n)} rows")]


def _accuracy_cells(accuracy: CalibratedAccuracy) -> list[Cell]:
    low, high = accuracy.accuracy.low, accuracy.accuracy.high
    n = count(accuracy.n_pairs)
    if accuracy.n_pairs < accuracy.total_pairs:
        n += f" of {count(accuracy.total_pairs)} (drawn)"
    hover = f"{n} pairs of captions of {count(accuracy.n_images)} images"
    if known(low) and known(high):
        hover += f"; interval {percent(low)} to {percent(high)}"
    notes = [] if accuracy.epsilon is None else [f"ε = {accuracy.epsilon:.3g}"]
    if 0 < accuracy.n_pairs < FEW_PAIRS:
        notes.append(f"{count(accuracy.n_pairs)} pair{'' if accuracy.n_pairs == 1 else 's'}")
    note = "; ".join(notes)
    value = accuracy.accuracy.value
    shown = percent(value)
    return [
        Cell("accuracy", shown, value, hover, note, printed=shown),
        Cell("gain", percent(accuracy.uncalibrated), accuracy.uncalibrated),
    ]


def equal_as_printed(value: float, paper: float, digits: int) -> bool:
    """Whether a value is the printed one, of so many decimals of the percentage."""
    return abs(value - paper) <= 0.5 * 10.0 ** (-2 - digits) + 1e-12


def _paper_cells(value: float, paper: float, result: JudgmentsResult) -> list[Cell]:
    same = equal_as_printed(value, paper, result.published.digits)
    return [
        Cell("paper", number(paper), paper),
        Cell(
            "delta",
            number(value - paper, 4, sign=True),
            value - paper,
            note="equal as printed" if same else "",
        ),
    ]


def view_tables(
    result: JudgmentsResult,
) -> list[tuple[str, list[str], list[tuple[str, list[str]]]]]:
    """Agreement on parts of the captions: dimension, heads, and a row per metric."""
    if not result.views:
        return []
    quoted, published = result.protocol.statistic, result.published.views
    heads = [f"{name} ({count(n)} captions)" for name, n in result.views.items()]
    tables = []
    for dimension in result.dimensions:
        rows = []
        for metric in result.visible:
            if kind_of(metric) not in ("result", "control"):
                continue
            cells = []
            for view in result.views:
                estimate = metric.numbers.human[dimension].views[view].estimate(quoted)
                cell = _with_ends(estimate)
                paper = published.get(view, {}).get(dimension, {}).get(metric.name)
                cells.append(cell if paper is None else f"{cell}, published {number(paper, 2)}")
            rows.append((metric.name, cells))
        tables.append((dimension, heads, rows))
    return tables


def _with_ends(estimate: Estimate) -> str:
    return f"{number(estimate.value)} ({interval((estimate.low, estimate.high), 2)})"


def system_table(result: JudgmentsResult, dimension: str) -> list[tuple[str, list[str]]]:
    """Agreement over systems: metric, then Pearson, τ-b and pairwise accuracy with intervals."""
    rows = []
    for metric in result.visible:
        if kind_of(metric) != "result":
            continue
        system = metric.numbers.human[dimension].system
        if system is not None:
            cells = [system.pearson, system.kendall_tau_b, system.accuracy]
            rows.append((metric.name, [_with_ends(estimate) for estimate in cells]))
    return rows


FURTHER_HEADS = (
    "Metric", "PDP", "Cross-fitted accuracy", "r without noise", "100 labels are worth",
    "Δ at 75 %", "SPA", "AP", "AUROC", "Alt-test ω",
)  # fmt: skip


def further_table(result: JudgmentsResult, dimension: str) -> list[list[str]]:
    """Rows of `FURTHER_HEADS`, in the order of the run; empty where no column has any."""
    rows = []
    for metric in result.visible:
        further = metric.numbers.human[dimension].further if metric.ok else None
        if further is None or kind_of(metric) not in ("result", "control"):
            continue
        binary = metric.numbers.human[dimension].binary
        accuracy, worth, noticed = (
            further.cross_fitted_accuracy, further.labels_worth, further.noticed,
        )  # fmt: skip
        rows.append(
            [
                metric.name,
                _with_ends(further.difference_pearson),
                f"{percent(accuracy.value)} ({percent(accuracy.low)} to {percent(accuracy.high)})",
                DASH if further.disattenuated is None else _with_ends(further.disattenuated),
                f"{number(worth.value, 0)} ({interval((worth.low, worth.high), 0)})",
                DASH if noticed is None else _noticed(noticed),
                number(further.soft_pairwise_accuracy),
                *(
                    (DASH, DASH)
                    if binary is None
                    else (_with_ends(binary.average_precision), _with_ends(binary.auroc))
                ),
                DASH
                if further.replaces_rater is None
                else number(further.replaces_rater.winning_rate, 2),
            ]
        )
    return rows


def _noticed(estimate: Estimate) -> str:
    """A noticed difference with its ends, each of which may be "never"."""
    value, low, high = (
        "never" if v is None else number(v) for v in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"
