"""The rows of the tables of a run against human judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from reports.graded.table import Cell, Row
from reports.judgments.bar import Span, axis, bar, span_of
from reports.shared.formatting import DASH, count, interval, known, number, percent

Record = Mapping[str, Any]

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


class Head(NamedTuple):
    """A column's header; the first statistic has the axis of the bars."""

    key: str
    name: str
    short: str
    axis: Markup | str = ""


class Table(NamedTuple):
    """One sortable table: its headers and, for each choice of the switch, its rows."""

    heads: list[Head]
    bodies: list[tuple[str, list[Row]]]


def kind_of(record: Record) -> str:
    """ "result", "part" (SPICE-object of SPICE), "random" (untrained weights) or "absent"."""
    if record["status"] != "ok":
        return "absent"
    if "weights:random" in (record["signature"] or ""):
        return "random"
    return "part" if record["part_of"] else "result"


def told(records: Sequence[Record]) -> list[Record]:
    """The records without the parts of a metric that did not run: its own row says why, once."""
    return [r for r in records if r["status"] == "ok" or not r["part_of"]]


def ratings_table(statistics: Mapping[str, Any]) -> Table:
    """A row a metric, a body a dimension; best first by the protocol's statistic."""
    quoted = statistics["protocol"]["statistic"]
    published = statistics["published"]["values"]
    records = told(statistics["metrics"])
    span = span_of(
        v
        for r in records
        for d in (r.get("human") or {}).values()
        for v in (d[quoted], *d[f"{quoted}_ci"])
    )
    heads = [
        Head("metric", "Metric", "Indented rows are parts of the metric above them."),
        Head("rho", STATISTICS[quoted][0], STATISTICS[quoted][1], axis(span)),
        *(Head(key, *STATISTICS[key]) for key in STATISTICS if key != quoted),
        Head("accuracy", *ACCURACY),
        Head("gain", "Uncalibrated", "The same accuracy at ε = 0, where only equal scores tie."),
        Head("ties", "Ties", "Share of all pairs of captions with exactly equal scores."),
    ]
    if published:
        heads.append(Head("paper", "Paper", f"The value of {statistics['published']['source']}."))
        heads.append(Head("delta", "Difference", "Ours minus the paper's."))
    bodies = [
        (name, _ordered(records, name, quoted, _of(statistics, name), span, heads))
        for name in statistics["dimensions"]
    ]
    return Table(heads, bodies)


def _of(statistics: Mapping[str, Any], dimension: str) -> Mapping[str, float]:
    """The published values of a dimension."""
    published = statistics["published"]
    values: Mapping[str, float] = published["values"]
    return values if published["dimension"] == dimension else {}


def _ordered(
    records: Sequence[Record], dimension: str, quoted: str, published: Mapping[str, float],
    span: Span, heads: Sequence[Head],
) -> list[Row]:  # fmt: skip
    def value(r: Record) -> float | None:
        return ((r.get("human") or {}).get(dimension) or {}).get(quoted)

    made = [
        _row(
            r,
            lambda r=r: _cells(r, r["human"][dimension], quoted, published, span),
            heads,
        )
        for r in records
    ]
    return in_order(made, {r["metric"]: value(r) for r in records})


def in_order(rows: Sequence[Row], values: Mapping[str, float | None]) -> list[Row]:
    """Results best first with their parts under them, then random weights, then what is absent."""

    def key(row: Row) -> float:
        value = values.get(row.metric)
        return 2.0 if value is None else -value

    ordered: list[Row] = []
    for row in sorted((r for r in rows if r.kind == "result"), key=key):
        ordered.append(row)
        ordered += [r for r in rows if r.kind == "part" and r.parent == row.metric]
    return ordered + [r for kind in ("random", "absent") for r in rows if r.kind == kind]


def _row(r: Record, cells: Any, heads: Sequence[Head]) -> Row:
    kind, name = kind_of(r), r["metric"]
    head = Cell("metric", name, name.lower())
    if kind == "absent":
        reason = f"{r['status']}: {r['reason'] or ''}"
        return Row(name, kind, r["part_of"], "", (head,), reason, r.get("remedy") or "")
    made = {c.key: c for c in (head, *cells())}
    row = tuple(made.get(h.key, Cell(h.key, DASH)) for h in heads)
    return Row(name, kind, r["part_of"], r.get("signature") or "", row)


def _cells(
    r: Record, found: Mapping[str, Any], quoted: str, published: Mapping[str, float], span: Span
) -> list[Cell]:
    paper, value = published.get(r["metric"]), found[quoted]
    ci = found[f"{quoted}_ci"]
    cells = [Cell("rho", bar(value, ci, paper, span), value, f"interval {interval(ci, 4)}")]
    for key in STATISTICS:
        hover = f"interval {interval(found[f'{key}_ci'], 4)}"
        cells.append(Cell(key, number(found[key]), found[key], hover))
    accuracy = found["accuracy"]
    low, high = accuracy["ci"]
    hover = (
        f"{count(accuracy['n_pairs'])} pairs of captions of {count(accuracy['n_images'])} images"
    )
    if known(low) and known(high):
        hover += f"; interval {percent(low)} to {percent(high)}"
    epsilon = accuracy["epsilon"]
    note = f"ε = {epsilon:.3g}" if known(epsilon) else ""
    cells += [
        Cell("accuracy", percent(accuracy["value"]), accuracy["value"], hover, note),
        Cell("gain", percent(accuracy["uncalibrated"]), accuracy["uncalibrated"]),
        Cell("ties", percent(r["ties"]), r["ties"]),
    ]
    if r.get("n_nan"):
        cells[0] = cells[0]._replace(note=f"{count(r['n_nan'])} captions without a score")
    if paper is not None and value is not None:
        # papers print one decimal of the percentage
        same = abs(value - paper) <= 0.0005 + 1e-12
        cells.append(Cell("paper", number(paper), paper))
        cells.append(
            Cell("delta", number(value - paper, 4, sign=True), value - paper,
                 note="equal as printed" if same else "")
        )  # fmt: skip
    return cells


def system_table(statistics: Mapping[str, Any], dimension: str) -> list[tuple[str, list[str]]]:
    """Agreement over systems: metric, then Pearson, τ-b and pairwise accuracy with intervals."""
    rows = []
    for r in told(statistics["metrics"]):
        system = ((r.get("human") or {}).get(dimension) or {}).get("system")
        if system is None or kind_of(r) != "result":
            continue
        cells = [
            f"{number(system[key])} ({interval(system[f'{key}_ci'], 2)})"
            for key in ("pearson", "kendall_tau_b", "accuracy")
        ]
        rows.append((r["metric"], cells))
    return rows


def choice_table(statistics: Mapping[str, Any]) -> Table:
    """Forced choice: a row a metric, a column a category, a body a number of references."""
    records, groups = told(statistics["metrics"]), statistics["groups"]
    values = [
        v
        for r in records
        for choice in r.get("choice") or ()
        for v in (choice["accuracy"]["mean"]["value"], *choice["accuracy"]["mean"]["ci"])
    ]
    span = span_of([0.5, *values])
    heads = [
        Head("metric", "Metric", "Indented rows are parts of the metric above them."),
        Head("rho", "Mean", "Mean accuracy over the categories; 0.5 is chance.", axis(span)),
        *(Head(g, g, _CATEGORY[g]) for g in groups if g != "mean"),
    ]
    bodies = []
    for place, n in enumerate(statistics["n_references"]):

        def cells(r: Record, place: int = place) -> list[Cell]:
            found = r["choice"][place]["accuracy"]
            mean = found["mean"]
            first = Cell("rho", bar(mean["value"], mean["ci"], None, span), mean["value"])
            return [
                first,
                *(
                    Cell(g, percent(found[g]["value"]), found[g]["value"],
                         f"{count(found[g]['n'])} pairs; interval "
                         f"{' to '.join(percent(v) for v in found[g]['ci'])}")
                    for g in groups if g != "mean"
                ),
            ]  # fmt: skip

        made = [_row(r, lambda r=r: cells(r), heads) for r in records]
        means = {
            r["metric"]: r["choice"][place]["accuracy"]["mean"]["value"]
            for r in records
            if r.get("choice")
        }
        bodies.append((f"{n} reference{'' if n == 1 else 's'}", in_order(made, means)))
    return Table(heads, bodies)


_CATEGORY = {
    "HC": "Two human captions of the image, both correct.",
    "HI": "Two human captions, one of them of another image.",
    "HM": "A human caption against a machine's.",
    "MM": "Two machines' captions.",
}
