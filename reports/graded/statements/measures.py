"""What the three measures say side by side: who leads by each, and what is offset."""

from __future__ import annotations

from collections.abc import Sequence

from reports.graded.ranking import ranked, rho
from reports.shared.elements import Finding
from reports.shared.formatting import interval, known, listed, number, percent
from reports.shared.row_kind import Record

MEASURES = {
    "rank_order_rho": "pooled over all captions",
    "rank_order_rho_within": "within an image",
    "pairwise_accuracy": "by pairs within an image",
}
GAP = 0.1  # how much more of the order a metric must see within images for a word on offset


def leader(rows: Sequence[Record], measure: str) -> Record | None:
    """The metric with the highest value of a measure, of equal ones the first."""
    known_rows = [r for r in rows if known(r.get(measure))]
    return max(known_rows, key=lambda r: float(r[measure]), default=None)


def leaders(rows: Sequence[Record], versions: str, level: str) -> str:
    """Who orders the versions best by each of the three measures, with intervals."""
    first: dict[str, list[str]] = {}
    for measure in MEASURES:
        if (best := leader(rows, measure)) is not None:
            first.setdefault(best["metric"], []).append(measure)
    by_name = {r["metric"]: r for r in rows}
    if len(first) == 1:
        (name,) = first
        r = by_name[name]
        return (
            f"{name} orders the {versions} best by all three measures: rank-order ρ "
            f"{number(rho(r))} {MEASURES['rank_order_rho']} ({level} interval "
            f"{interval(r.get('rank_order_rho_ci'))}), {number(r['rank_order_rho_within'])} within "
            f"an image, and {percent(r['pairwise_accuracy'])} of the pairs of an image in order."
        )
    parts = []
    for name, measures in first.items():
        values = [f"{MEASURES[m]} ({_value(by_name[name], m)})" for m in measures]
        parts.append(f"{name} {listed(values)}")
    return f"Which metric orders the {versions} best depends on the measure: {'; '.join(parts)}."


def _value(record: Record, measure: str) -> str:
    share = measure == "pairwise_accuracy"
    return percent(record[measure]) if share else f"ρ {number(record[measure])}"


def offset(rows: Sequence[Record]) -> Finding | None:
    """The metrics whose pooled ρ is low because images differ, not because they are blind."""
    masked = [r for r in rows if is_masked(r)]
    if not masked:
        return None
    masked.sort(key=lambda r: r["rank_order_rho"] - r["rank_order_rho_within"])
    first, *others = masked
    parts = first["variance"]
    text = (
        f"{first['metric']}'s pooled ρ of {number(rho(first))} is offset between images, not "
        f"blindness: within an image its ρ is {number(first['rank_order_rho_within'])} and "
        f"{percent(first['pairwise_accuracy'])} of the pairs are in order. Of the variance of its "
        f"scores {percent(parts['image'], 0)} lies between images, {percent(parts['level'], 0)} "
        f"between versions, and the pooled ρ pays for the first."
    )
    if others:
        also = [
            f"{r['metric']} ({number(rho(r))} pooled, {number(r['rank_order_rho_within'])} within)"
            for r in others
        ]
        text += f" So it is, less, with {listed(also)}."
    return Finding("Offset.", text)


def is_masked(record: Record) -> bool:
    """Whether images hide what a metric sees: ρ within is higher beyond both intervals and `GAP`,
    and more than half of the variance lies between images."""
    pooled, within = record.get("rank_order_rho_ci"), record.get("rank_order_rho_within_ci")
    parts = record.get("variance")
    if not pooled or not within or not parts:
        return False
    numbers = (*pooled, *within, parts["image"])
    if not all(known(x) for x in numbers):
        return False
    gap = record["rank_order_rho_within"] - record["rank_order_rho"]
    return bool(gap >= GAP and within[0] > pooled[1] and parts["image"] > 0.5)


def by_within(records: Sequence[Record]) -> list[Record]:
    """The results, best ρ within an image first."""
    rows = [r for r in ranked(records) if known(r.get("rank_order_rho_within"))]
    return sorted(rows, key=lambda r: -r["rank_order_rho_within"])
