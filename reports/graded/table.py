"""The rows of the table: what each cell shows, and what it sorts by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.runs.records import PaperValue
from reports.graded.glossary import COLUMNS
from reports.graded.ranking import against_paper, rho
from reports.graded.run import GradedRun
from reports.shared.elements import Cell, ColumnHead, Row
from reports.shared.formatting import DASH, interval, known, number, percent
from reports.shared.interval_bar import Span, axis, interval_bar, span_of
from reports.shared.row_kind import Record, row_kind
from reports.shared.table import MetricsTable, in_order, metric_row

OTHER_MODEL = (
    "The paper's value is of the same metric with another model. The two do not compare, so no "
    "difference is given."
)


def metrics_table(run: GradedRun) -> MetricsTable:
    """All items and, where any corruption changed nothing, the items without those.

    The columns on a paper are there only where there is one to compare with.
    """
    span = span_of(_ends(run))
    compared = any(run.paper(r) for r in run.metrics)
    keys = [key for key in COLUMNS if compared or key not in ("paper", "delta")]
    heads = [
        ColumnHead(key, COLUMNS[key].name, COLUMNS[key].short, axis(span) if key == "rho" else "")
        for key in keys
    ]
    papers = {r["metric"]: paper for r in run.metrics if (paper := run.paper(r))}
    bodies = [("all", _rows(run, run.metrics, papers, keys, span))]
    if any(r.get("applied_only") for r in run.metrics):
        # a metric that has no statistics of these items keeps its full ones: nothing was left out;
        # no paper reports on such a selection
        applied = [{**r, **(r.get("applied_only") or {})} for r in run.metrics]
        bodies.append(("applied", _rows(run, applied, {}, keys, span)))
    return MetricsTable(heads, bodies)


def _ends(run: GradedRun) -> Iterator[float | None]:
    """All that the axis must hold: intervals and published values. Tie ranges are cut at its ends.

    They may span almost everything.
    """
    for record in run.metrics:
        if row_kind(record) not in ("result", "part", "control"):
            continue
        for statistics in (record, record.get("applied_only") or {}):
            yield from statistics.get("rank_order_rho_ci") or (rho(statistics),)
        if (paper := run.paper(record)) is not None:
            yield paper.value


def _rows(
    run: GradedRun,
    records: Sequence[Record],
    papers: Mapping[str, PaperValue],
    keys: Sequence[str],
    span: Span,
) -> list[Row]:
    """The rows in their first order: by ρ, parts under their metric, the rest below."""
    why_not = _not_comparable(run)

    def cells(r: Record) -> list[Cell]:
        paper = papers.get(r["metric"])
        return [_bar(r, paper, span), *_statistics(r), *_paper(r, paper, why_not)]

    rows = [metric_row(r, keys, cells) for r in records]
    return in_order(rows, {r["metric"]: rho(r) for r in records})


def _not_comparable(run: GradedRun) -> str:
    """Why the published values do not compare with this run; empty if they do."""
    if run.published.get("comparable", True):
        return ""
    return run.published.get("why_not") or "other data"


def _bar(r: Record, paper: PaperValue | None, span: Span) -> Cell:
    ci, bounds = r.get("rank_order_rho_ci"), r.get("rank_order_rho_bounds")
    title = [
        f"ρ {number(rho(r), 4)}",
        f"interval {interval(ci, 4)}",
        f"tie-breaking alone: {interval(bounds, 4)}",
    ]
    if paper is not None:
        whose = "" if paper.same_model else " for another model"
        title.append(f"published{whose}: {number(paper.value, 4)}")
    bar = interval_bar(rho(r), ci, span, published=paper, bounds=bounds, title="; ".join(title))
    return Cell("rho", bar, rho(r))


def _statistics(r: Record) -> list[Cell]:
    steps: Sequence[Mapping[str, Any]] = r.get("adjacent_auc") or ()
    aucs = [step["auc"] for step in steps]
    each = "; ".join(
        f"{step['lower']} → {step['upper']}: {number(step['auc'])} ({interval(step.get('ci'))})"
        for step in steps
    )
    ties = r.get("pairwise_ties")
    parts = r.get("variance") or {}
    return [
        _number(r, "within", "rank_order_rho_within")._replace(
            note=f"{percent(parts['image'], 0)} offset" if known(parts.get("image")) else ""
        ),
        _number(r, "spearman", "spearman_rho"),
        _number(r, "tau", "kendall_tau_b"),
        _share(r, "ties", "tie_fraction")._replace(
            note="" if ties is None else f"{percent(ties)} in image"
        ),
        _share(r, "accuracy", "pairwise_accuracy"),
        Cell(
            "auc",
            "  ".join(number(a, 2) for a in aucs) or DASH,
            min((a for a in aucs if known(a)), default=None),
            each,
        ),
        _share(r, "monotone", "monotone_rate"),
        _share(r, "inversions", "inversion_rate"),
    ]


def _number(r: Record, key: str, field: str) -> Cell:
    ci = interval(r.get(f"{field}_ci"))
    return Cell(key, number(r.get(field)), r.get(field), "" if ci == DASH else f"interval {ci}")


def _share(r: Record, key: str, field: str) -> Cell:
    ci = r.get(f"{field}_ci")
    hover = f"interval {percent(ci[0])} to {percent(ci[1])}" if ci and None not in ci else ""
    return Cell(key, percent(r.get(field)), r.get(field), hover)


def _paper(r: Record, paper: PaperValue | None, why_not: str) -> list[Cell]:
    """The published value, and how far ours is from it where the two compare."""
    value = rho(r)
    if paper is None:
        return []
    if not paper.same_model:
        return [
            Cell("paper", number(paper.value), paper.value, OTHER_MODEL, "another model"),
            Cell("delta", DASH, None, OTHER_MODEL),
        ]
    if value is None:
        return []
    short, long = ("not comparable", why_not) if why_not else against_paper(r, paper.value)
    off = value - paper.value
    marked = "outside" if short == "outside" else ""
    return [
        Cell("paper", number(paper.value), paper.value),
        Cell("delta", number(off, sign=True), off, long, short, marked),
    ]
