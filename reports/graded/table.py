"""The rows of the table: what each cell shows, and what it sorts by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.runs.records import PaperValue
from reports.graded.glossary import COLUMNS
from reports.graded.ranking import against_paper, rho
from reports.graded.run import GradedRun
from reports.shared.elements import Cell, ColumnHead, Row
from reports.shared.formatting import DASH, interval, known, number, percent, with_interval
from reports.shared.interval_bar import Span, axis, interval_bar, span_of
from reports.shared.row_kind import Record, row_kind
from reports.shared.table import MetricsTable, in_order, metric_row
from reports.shared.training import footnotes

OTHER_MODEL = (
    "The paper's value is of the same metric with another model. The two do not compare, so no "
    "difference is given."
)

# the switch's value → the field of a record that holds the statistics of the selection
SELECTIONS = {"applied": "every_level_applied", "degrees": "without_floor"}
_MEASURED = {
    f"{name}{end}"
    for name in (
        "rank_order_rho", "rank_order_rho_within", "pairwise_accuracy", "monotone_rate",
        "inversion_rate", "spearman_rho", "kendall_tau_b",
    )
    for end in ("", "_ci")
} | {
    "rank_order_rho_bounds", "tie_fraction", "pairwise_ties", "adjacent_auc", "variance",
    "against_control",
}  # fmt: skip


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
    for name, field in SELECTIONS.items():
        if any(r.get(field) for r in run.metrics):
            # no paper reports on such a selection
            part = [_selected(r, field) for r in run.metrics]
            bodies.append((name, _rows(run, part, {}, keys, span)))
    table = MetricsTable(heads, bodies)
    return table.with_footnotes(footnotes(run.metrics, run.statistics["experiment"]))


def _selected(record: Record, field: str) -> Record:
    """The record with the statistics of a selection in the place of all, and no others."""
    kept = {key: None if key in _MEASURED else value for key, value in record.items()}
    return {**kept, **(record.get(field) or {})}


def _ends(run: GradedRun) -> Iterator[float | None]:
    """All that the axis must hold: intervals and published values. Tie ranges are cut at its ends.

    They may span almost everything.
    """
    for record in run.metrics:
        if row_kind(record) not in ("result", "part", "control"):
            continue
        for statistics in (record, *(record.get(f) or {} for f in SELECTIONS.values())):
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
    note, hover = _beaten(r, "rank_order_rho")
    printed = with_interval(rho(r), ci)
    return Cell("rho", bar, rho(r), hover, note, "outside" if note else "", printed)


def _beaten(r: Record, measure: str) -> tuple[str, str]:
    """A note and a hover text where the metric does not beat the best control on the measure."""
    against = (r.get("against_control") or {}).get(measure)
    if not against or against["beats"]:
        return "", ""
    return "below control", (
        f"does not beat {against['control']}: difference {number(against['difference'])} "
        f"({interval(against['ci'])}), p = {number(against['p_holm'])} after Holm"
    )


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
        _marked(r, _number(r, "within", "rank_order_rho_within"), "rank_order_rho_within"),
        Cell("offset", percent(parts.get("image"), 0), parts.get("image"), _parts(parts)),
        _number(r, "spearman", "spearman_rho"),
        _number(r, "tau", "kendall_tau_b"),
        _share(r, "ties", "tie_fraction")._replace(
            note="" if ties is None else f"{percent(ties)} in image"
        ),
        _marked(r, _share(r, "accuracy", "pairwise_accuracy"), "pairwise_accuracy"),
        Cell(
            "auc",
            "  ".join(number(a, 2) for a in aucs) or DASH,
            min((a for a in aucs if known(a)), default=None),
            each,
        ),
        _share(r, "monotone", "monotone_rate"),
        _share(r, "inversions", "inversion_rate"),
    ]


def _marked(r: Record, cell: Cell, measure: str) -> Cell:
    note, hover = _beaten(r, measure)
    if not note:
        return cell
    title = "; ".join(text for text in (cell.title, hover) if text)
    return cell._replace(note=note, note_class="outside", title=title)


def _parts(parts: Mapping[str, Any]) -> str:
    """The shares of the variance, for the hover text."""
    if not known(parts.get("image")):
        return ""
    shares = [f"{percent(parts[part])} {part}" for part in ("image", "level", "rest")]
    return f"variance: {', '.join(shares)}"


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
    marked = "outside" if short.endswith(("above", "below")) else ""
    return [
        Cell("paper", number(paper.value), paper.value),
        Cell("delta", number(off, sign=True), off, long, short, marked),
    ]
