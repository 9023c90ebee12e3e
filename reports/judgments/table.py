"""The rows of the tables of a run against human judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from metaeval.runs.records import PaperValue
from reports.shared.elements import Cell, ColumnHead
from reports.shared.formatting import count, interval, known, number, percent, with_interval
from reports.shared.interval_bar import Span, axis, interval_bar, span_of
from reports.shared.row_kind import Record, row_kind
from reports.shared.run import FinishedRun
from reports.shared.table import MetricsTable, in_order, metric_row
from reports.shared.training import footnotes

STATISTICS = {
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


NOT_ABOVE = "not above"  # the best control, for sure

_METRIC = ColumnHead("metric", "Metric", "Indented rows are parts of the metric above them.")


def ratings_table(run: FinishedRun) -> MetricsTable:
    """A row a metric, a body a dimension; best first by the protocol's statistic."""
    quoted, published = run.statistics["protocol"]["statistic"], run.statistics["published"]
    span = span_of(
        v
        for r in run.metrics
        for d in (r.get("human") or {}).values()
        for v in (d[quoted], *d[f"{quoted}_ci"])
    )
    heads = [
        _METRIC,
        ColumnHead("rho", *STATISTICS[quoted], axis(span)),
        *(ColumnHead(key, *STATISTICS[key]) for key in STATISTICS if key != quoted),
        ColumnHead("accuracy", *ACCURACY),
        ColumnHead(
            "gain", "Uncalibrated", "The same accuracy at ε = 0, where only equal scores tie."
        ),
        ColumnHead("ties", "Ties", "Share of all pairs of captions with exactly equal scores."),
    ]
    heads.append(ColumnHead("n", "n", "Rows that the metric could score."))
    if any(d.get("common") for r in run.metrics for d in (r.get("human") or {}).values()):
        tip = "The same on the rows that every metric could score: what they are ranked by."
        heads.append(ColumnHead("common", "Common rows", tip))
    if published["values"]:
        heads.append(ColumnHead("paper", "Paper", f"The value of {published['source']}."))
        heads.append(ColumnHead("delta", "Difference", "Ours minus the paper's."))
    keys = [head.key for head in heads]
    bodies = []
    for name in run.statistics["dimensions"]:
        papers = published["values"].get(name, {})
        cells = partial(
            _rating_cells, dimension=name, quoted=quoted, papers=papers, span=span,
            digits=published["digits"], control=run.statistics["controls"][name],
        )  # fmt: skip
        values = {
            r["metric"]: _ranked_by((r.get("human") or {}).get(name) or {}, quoted)
            for r in run.metrics
        }
        rows = [metric_row(r, keys, cells) for r in run.metrics]
        bodies.append((name, in_order(rows, values)))
    table = MetricsTable(heads, bodies)
    return table.with_footnotes(footnotes(run.metrics, run.statistics["experiment"]))


def _ranked_by(agreement: Mapping[str, Any], quoted: str) -> float | None:
    common = agreement.get("common")
    value: float | None = common["value"] if common else agreement.get(quoted)
    return value


def _rating_cells(
    r: Record,
    dimension: str,
    quoted: str,
    papers: Mapping[str, float],
    span: Span,
    digits: int,
    control: Mapping[str, Any] | None,
) -> list[Cell]:
    agreement = r["human"][dimension]
    paper, value, ci = papers.get(r["metric"]), agreement[quoted], agreement[f"{quoted}_ci"]
    notes = [f"{count(n)} captions without a score"] if (n := r.get("n_nan")) else []
    if is_below(r, control):
        notes.append(NOT_ABOVE)
    bar = interval_bar(
        value, ci, span, published=None if paper is None else PaperValue(paper, True)
    )
    return [
        Cell(
            "rho",
            bar,
            value,
            f"interval {interval(ci, 4)}",
            "; ".join(notes),
            printed=with_interval(value, ci),
        ),
        *(
            Cell(
                key,
                number(agreement[key]),
                agreement[key],
                f"interval {interval(agreement[f'{key}_ci'], 4)}",
            )
            for key in STATISTICS
        ),
        *_accuracy_cells(agreement["accuracy"]),
        Cell("ties", percent(r["ties"]), r["ties"]),
        Cell("n", count(agreement["n"]), agreement["n"]),
        *_common_cells(agreement.get("common")),
        *([] if paper is None or value is None else _paper_cells(value, paper, digits)),
    ]


def is_below(r: Record, control: Mapping[str, Any] | None) -> bool:
    """Whether a metric that takes part is not surely above the best control."""
    return control is not None and row_kind(r) == "result" and r["metric"] not in control["above"]


def _common_cells(common: Mapping[str, Any] | None) -> list[Cell]:
    if common is None:
        return []
    note = f"{count(common['n'])} rows"
    return [Cell("common", number(common["value"]), common["value"], note=note)]


def _accuracy_cells(accuracy: Mapping[str, Any]) -> list[Cell]:
    low, high = accuracy["ci"]
    hover = (
        f"{count(accuracy['n_pairs'])} pairs of captions of {count(accuracy['n_images'])} images"
    )
    if known(low) and known(high):
        hover += f"; interval {percent(low)} to {percent(high)}"
    epsilon = accuracy["epsilon"]
    note = f"ε = {epsilon:.3g}" if known(epsilon) else ""
    return [
        Cell(
            "accuracy",
            shown := percent(accuracy["value"]),
            accuracy["value"],
            hover,
            note,
            printed=shown,
        ),
        Cell("gain", percent(accuracy["uncalibrated"]), accuracy["uncalibrated"]),
    ]


def equal_as_printed(value: float, paper: float, digits: int) -> bool:
    """Whether a value is the printed one, of so many decimals of the percentage."""
    return abs(value - paper) <= 0.5 * 10.0 ** (-2 - digits) + 1e-12


def _paper_cells(value: float, paper: float, digits: int) -> list[Cell]:
    note = "equal as printed" if equal_as_printed(value, paper, digits) else ""
    return [
        Cell("paper", number(paper), paper),
        Cell("delta", number(value - paper, 4, sign=True), value - paper, note=note),
    ]


def view_tables(run: FinishedRun) -> list[tuple[str, list[str], list[tuple[str, list[str]]]]]:
    """Agreement on parts of the captions: dimension, heads, and a row a metric."""
    views: Mapping[str, int] = run.statistics.get("views") or {}
    if not views:
        return []
    quoted = run.statistics["protocol"]["statistic"]
    published = run.statistics["published"]["views"]
    heads = [f"{name} ({count(n)} captions)" for name, n in views.items()]
    tables = []
    for dimension in run.statistics["dimensions"]:
        rows = []
        for r in run.metrics:
            if row_kind(r) != "result":
                continue
            cells = []
            for view in views:
                agreement = r["human"][dimension]["views"][view]
                ci = agreement[f"{quoted}_ci"]
                cell = f"{number(agreement[quoted])} ({interval(ci, 2)})"
                paper = published.get(view, {}).get(dimension, {}).get(r["metric"])
                cells.append(cell if paper is None else f"{cell}, published {number(paper, 2)}")
            rows.append((r["metric"], cells))
        tables.append((dimension, heads, rows))
    return tables


def system_table(run: FinishedRun, dimension: str) -> list[tuple[str, list[str]]]:
    """Agreement over systems: metric, then Pearson, τ-b and pairwise accuracy with intervals."""
    rows = []
    for r in run.metrics:
        system = ((r.get("human") or {}).get(dimension) or {}).get("system")
        if system is None or row_kind(r) != "result":
            continue
        cells = [
            f"{number(system[key])} ({interval(system[f'{key}_ci'], 2)})"
            for key in ("pearson", "kendall_tau_b", "accuracy")
        ]
        rows.append((r["metric"], cells))
    return rows


def choice_table(run: FinishedRun) -> MetricsTable:
    """Forced choice: a row a metric, a column a category, a body a number of references."""
    means = [choice["accuracy"]["mean"] for r in run.metrics for choice in r.get("choice") or ()]
    span = span_of([0.5, *(v for mean in means for v in (mean["value"], *mean["ci"]))])
    categories = [group for group in run.statistics["groups"] if group != "mean"]
    heads = [
        _METRIC,
        ColumnHead("rho", "Mean", "Mean accuracy over the categories; 0.5 is chance.", axis(span)),
        *(ColumnHead(category, category, _CATEGORY[category]) for category in categories),
    ]
    published = run.statistics["published"]
    if published["values"]:
        tip = f"{published['source']}, {published['n_references']} references: " + ", ".join(
            categories
        )
        heads.append(ColumnHead("paper", "Paper", tip))
    keys = [head.key for head in heads]
    bodies = []
    for place, n in enumerate(run.statistics["n_references"]):
        papers = published["values"] if published["n_references"] == n else {}
        cells = partial(
            _choice_cells, place=place, categories=categories, span=span, papers=papers,
            controls=run.statistics["controls"][str(n)] or {},
        )  # fmt: skip
        values = {
            r["metric"]: r["choice"][place]["accuracy"]["mean"]["value"]
            for r in run.metrics
            if r.get("choice")
        }
        rows = [metric_row(r, keys, cells) for r in run.metrics]
        bodies.append((f"{n} reference{'' if n == 1 else 's'}", in_order(rows, values)))
    table = MetricsTable(heads, bodies)
    return table.with_footnotes(footnotes(run.metrics, run.statistics["experiment"]))


def _choice_cells(
    r: Record,
    place: int,
    categories: Sequence[str],
    span: Span,
    papers: Mapping[str, Mapping[str, float]],
    controls: Mapping[str, Mapping[str, Any]],
) -> list[Cell]:
    accuracy = r["choice"][place]["accuracy"]
    mean = accuracy["mean"]
    bar = interval_bar(mean["value"], mean["ci"], span)
    printed = with_interval(mean["value"], mean["ci"])
    notes = {group: NOT_ABOVE if is_below(r, controls.get(group)) else "" for group in accuracy}
    cells = [Cell("rho", bar, mean["value"], note=notes["mean"], printed=printed)]
    for category in categories:
        share = accuracy[category]
        hover = f"{count(share['n'])} pairs; interval {' to '.join(map(percent, share['ci']))}"
        shown = percent(share["value"])
        cells.append(Cell(category, shown, share["value"], hover, notes[category], "outside"))
    if values := papers.get(r["metric"]):
        cells.append(Cell("paper", ", ".join(percent(v) for v in values.values())))
    return cells


_CATEGORY = {
    "HC": "Two human captions of the image, both correct.",
    "HI": "Two human captions, one of them of another image.",
    "HM": "A human caption against a machine's.",
    "MM": "Two machines' captions.",
}
