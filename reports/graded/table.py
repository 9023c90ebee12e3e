"""The rows of the table: what each cell shows, and what it sorts by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from metaeval.runs.files import PaperValue, paper_value
from reports.graded.row_kind import Record, against_paper, parent, rho, standing
from reports.graded.run import Run
from reports.shared.formatting import DASH, interval, known, number, percent
from reports.shared.glossary import COLUMNS
from reports.shared.interval_bar import axis, domain, interval_bar

OTHER_MODEL = (
    "The paper's value is of the same metric with another model. The two do not compare, so no "
    "difference is given."
)


class Cell(NamedTuple):
    """One cell: its text, the value it sorts by (None sorts last), a hover text, a small note."""

    key: str
    text: str | Markup
    value: float | str | None = None
    title: str = ""
    note: str = ""


class Row(NamedTuple):
    """One metric. `kind` is its standing; an absent metric has only its first cell and a reason."""

    metric: str
    kind: str
    parent: str | None
    signature: str
    cells: tuple[Cell, ...]
    reason: str = ""
    remedy: str = ""


def columns(run: Run) -> list[str]:
    """The table's columns; those on a paper only where there is one to compare with."""
    compared = _published(run, applied=False)
    known = any(paper_value(compared, r["metric"]) for r in run.metrics)
    skipped = () if known else ("paper", "delta")
    return [key for key in COLUMNS if key not in skipped]


def axis_of(run: Run) -> Markup:
    """The labels of the axis that all bars of the table share."""
    return axis(_span(run))


def _span(run: Run) -> tuple[float, float]:
    shown = [r for r in run.metrics if standing(r, run.metrics) in ("result", "part")]
    applied = [r["applied_only"] | {"metric": r["metric"]} for r in shown if r.get("applied_only")]
    return domain([*shown, *applied], _published(run, applied=False))


def rows(run: Run, *, applied: bool) -> list[Row]:
    """The table's rows in their first order: by ρ, parts under their metric, the rest below.

    With `applied`, the statistics without the items whose corruption changed nothing (a metric
    that has none of its own keeps its full ones: nothing was left out).
    """
    records = [{**r, **(r.get("applied_only") or {})} if applied else dict(r) for r in run.metrics]
    published, keys = _published(run, applied=applied), columns(run)
    kinds = {r["metric"]: standing(r, records) for r in records}
    shown = [r for r in records if kinds[r["metric"]] in ("result", "part")]
    span = _span(run)
    why_not = _not_comparable(run)
    made = {
        r["metric"]: _row(r, kinds[r["metric"]], records, published, keys, span, why_not)
        for r in records
    }

    def by_rho(record: Record) -> float:
        value = rho(record)
        return -value if value is not None else 2.0

    ordered: list[str] = []
    for record in sorted((r for r in records if kinds[r["metric"]] == "result"), key=by_rho):
        ordered.append(record["metric"])
        ordered += [r["metric"] for r in shown if parent(r, records) == record["metric"]]
    ordered += [m for kind in ("random", "absent") for m, k in kinds.items() if k == kind]
    ordered += [m for m in made if m not in ordered]  # parts whose metric did not run
    return [made[m] for m in ordered]


def _published(run: Run, *, applied: bool) -> Mapping[str, float]:
    """The published values; none for a selection of items that no paper reports on."""
    published = run.info.get("published") or {}
    return {} if applied else published.get("rank_order_rho") or {}


def _not_comparable(run: Run) -> str:
    """Why the published values do not compare with this run; empty if they do."""
    published = run.info.get("published") or {}
    return "" if published.get("comparable", True) else published.get("why_not") or "other data"


def _row(
    r: Record,
    kind: str,
    records: Sequence[Record],
    published: Mapping[str, float],
    keys: Sequence[str],
    span: tuple[float, float],
    why_not: str,
) -> Row:
    name = r["metric"]
    head = Cell("metric", name, name.lower())
    if kind == "absent":
        return Row(
            name,
            kind,
            parent(r, records),
            "",
            (head,),
            f"{r['status']}: {r['reason'] or ''}",
            r.get("remedy") or "",
        )
    cells = {c.key: c for c in (head, *_statistics(r, paper_value(published, name), span, why_not))}
    return Row(
        name,
        kind,
        parent(r, records),
        r.get("signature") or "",
        tuple(cells.get(key, Cell(key, DASH)) for key in keys),
    )


def _statistics(
    r: Record, paper: PaperValue | None, span: tuple[float, float], why_not: str
) -> list[Cell]:
    def plain(key: str, field: str) -> Cell:
        ci = r.get(f"{field}_ci")
        return Cell(key, number(r.get(field)), r.get(field), _hover(ci))

    def share(key: str, field: str) -> Cell:
        ci = r.get(f"{field}_ci")
        hover = f"interval {percent(ci[0])} to {percent(ci[1])}" if ci and None not in ci else ""
        return Cell(key, percent(r.get(field)), r.get(field), hover)

    steps: Sequence[Mapping[str, Any]] = r.get("adjacent_auc") or ()
    aucs = [a["auc"] for a in steps]
    hover = "; ".join(
        f"{a['lower']} → {a['upper']}: {number(a['auc'])} ({interval(a.get('ci'))})" for a in steps
    )
    cells = [
        Cell("rho", interval_bar(r, paper, span), rho(r), ""),
        plain("spearman", "spearman_rho"),
        plain("tau", "kendall_tau_b"),
        share("ties", "tie_fraction")._replace(note=_in_images(r)),
        share("accuracy", "pairwise_accuracy"),
        Cell(
            "auc",
            "  ".join(number(a, 2) for a in aucs) or DASH,
            min((a for a in aucs if known(a)), default=None),
            hover,
        ),
        share("monotone", "monotone_rate"),
        share("inversions", "inversion_rate"),
    ]
    value = rho(r)
    if paper is not None and not paper.same_model:
        cells.append(Cell("paper", number(paper.value), paper.value, OTHER_MODEL, "another model"))
        cells.append(Cell("delta", DASH, None, OTHER_MODEL))
    elif paper is not None and value is not None:
        short, long = ("not comparable", why_not) if why_not else against_paper(r, paper.value)
        difference = value - paper.value
        cells.append(Cell("paper", number(paper.value), paper.value))
        cells.append(Cell("delta", number(difference, sign=True), difference, long, short))
    return cells


def _in_images(r: Record) -> str:
    ties = r.get("pairwise_ties")
    return "" if ties is None else f"{percent(ties)} in image"


def _hover(ci: Sequence[float | None] | None) -> str:
    text = interval(ci)
    return "" if text == DASH else f"interval {text}"
