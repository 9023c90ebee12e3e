"""What kind of row a metric is: a result, a part of another metric, not a result, or absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.runs.files import is_part

Record = Mapping[str, Any]

# the width of the exact tie bounds from which on ties, not scores, decide a good part of ρ
TIES_DECIDE = 0.2


def standing(record: Record, records: Sequence[Record]) -> str:
    """ "result", "part" (SPICE-object of SPICE), "random" (untrained weights) or "absent"."""
    if record["status"] != "ok":
        return "absent"
    if "weights:random" in (record.get("signature") or ""):
        return "random"
    return "part" if parent(record, records) else "result"


def parent(record: Record, records: Sequence[Record]) -> str | None:
    """The column of the same family that this one is a sub-score of: TIGEr for TIGEr-RRS."""
    for other in records:
        if other["family"] == record["family"] and is_part(record["metric"], other["metric"]):
            return str(other["metric"])
    return None


def told(records: Sequence[Record]) -> tuple[Record, ...]:
    """The records without the parts of a metric that did not run: its own row says why, once."""
    return tuple(r for r in records if r["status"] == "ok" or parent(r, records) is None)


def ranked(records: Sequence[Record]) -> list[Record]:
    """The results, best rank-order ρ first."""
    rows = [r for r in records if standing(r, records) == "result" and rho(r) is not None]
    return sorted(rows, key=lambda r: -r["rank_order_rho"])


def rho(record: Record) -> float | None:
    value = record.get("rank_order_rho")
    return None if value is None else float(value)


def tie_width(record: Record) -> float:
    """How far apart the worst and the best tie-breaking put ρ."""
    bounds = record.get("rank_order_rho_bounds")
    if not bounds or any(b is None for b in bounds):
        return 0.0
    return float(bounds[1] - bounds[0])


def undecided(records: Sequence[Record]) -> list[list[str]]:
    """The largest groups of metrics whose intervals of ρ all overlap one another.

    These are the maximal cliques of an interval graph: each is the set of intervals that contain
    the lower end of one of them. Metrics without an interval are in no group.
    """
    spans = {r["metric"]: ci for r in records if (ci := _interval(r))}
    cliques = {
        tuple(m for m, (low, high) in spans.items() if low <= point <= high)
        for point, _ in spans.values()
    }
    groups = [c for c in cliques if len(c) > 1 and not any(set(c) < set(d) for d in cliques)]
    order = list(spans)
    return [list(g) for g in sorted(groups, key=lambda g: [order.index(m) for m in g])]


def _interval(record: Record) -> tuple[float, float] | None:
    ci = record.get("rank_order_rho_ci")
    return None if not ci or None in ci else (float(ci[0]), float(ci[1]))


def against_paper(record: Record, published: float) -> tuple[str, str]:
    """A short and a long word on how a ρ relates to the published value.

    ρ is the expectation under random tie-breaking; a paper that broke its ties by one draw, or by
    the order of its files, may have got anything between the exact bounds.
    """
    value, bounds, ci = (
        rho(record),
        record.get("rank_order_rho_bounds"),
        record.get("rank_order_rho_ci"),
    )
    if value is None:
        return "", ""
    if ci and None not in ci and ci[0] <= published <= ci[1]:
        return "in interval", "The published value lies within our confidence interval."
    if bounds and None not in bounds and bounds[0] <= published <= bounds[1]:
        if tie_width(record) >= TIES_DECIDE:
            return "ties", (
                f"Ties can explain it: by the way ties are broken alone, ρ can be anything from "
                f"{bounds[0]:.3f} to {bounds[1]:.3f}, and the published value is in between."
            )
        return "in tie bounds", (
            f"The published value lies within what tie-breaking alone can do "
            f"({bounds[0]:.3f} to {bounds[1]:.3f})."
        )
    return "outside", (
        "The published value lies outside our confidence interval and outside what ties can "
        "explain: text preparation, the metric's version or its settings differ."
    )
