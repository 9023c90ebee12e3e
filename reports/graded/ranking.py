"""The ranking of metrics by rank-order ρ: what stands apart, what ties decide, what papers say."""

from __future__ import annotations

from collections.abc import Sequence

from reports.shared.row_kind import Record, row_kind

# the width of the exact tie bounds from which on ties, not scores, decide a good part of ρ
TIES_DECIDE = 0.2


def ranked(records: Sequence[Record]) -> list[Record]:
    """The results, best rank-order ρ first."""
    rows = [r for r in records if row_kind(r) == "result" and rho(r) is not None]
    return sorted(rows, key=lambda r: -r["rank_order_rho"])


def rho(record: Record) -> float | None:
    value = record.get("rank_order_rho")
    return None if value is None else float(value)


def tie_width(record: Record) -> float:
    """How far apart the worst and the best tie-breaking put ρ."""
    bounds = _pair(record, "rank_order_rho_bounds")
    return 0.0 if bounds is None else bounds[1] - bounds[0]


def undecided(records: Sequence[Record]) -> list[list[str]]:
    """The largest groups of metrics whose intervals of ρ all overlap one another.

    These are the maximal cliques of an interval graph: each is the set of intervals that contain
    the lower end of one of them. Metrics without an interval are in no group.
    """
    spans = {r["metric"]: ci for r in records if (ci := _pair(r, "rank_order_rho_ci"))}
    cliques = {
        tuple(m for m, (low, high) in spans.items() if low <= point <= high)
        for point, _ in spans.values()
    }
    groups = [c for c in cliques if len(c) > 1 and not any(set(c) < set(d) for d in cliques)]
    order = list(spans)
    return [list(g) for g in sorted(groups, key=lambda g: [order.index(m) for m in g])]


def against_paper(record: Record, published: float) -> tuple[str, str]:
    """A short and a long word on how a ρ relates to the published value.

    ρ is the expectation under random tie-breaking; a paper that broke its ties by one draw, or by
    the order of its files, may have got anything between the exact bounds.
    """
    if rho(record) is None:
        return "", ""
    bounds, ci = _pair(record, "rank_order_rho_bounds"), _pair(record, "rank_order_rho_ci")
    if ci and ci[0] <= published <= ci[1]:
        return "in interval", "The published value lies within our confidence interval."
    if bounds and bounds[0] <= published <= bounds[1]:
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


def _pair(record: Record, field: str) -> tuple[float, float] | None:
    """The two numbers of a field, `None` where either is missing."""
    pair = record.get(field)
    return None if not pair or None in pair else (float(pair[0]), float(pair[1]))
