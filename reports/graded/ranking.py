"""The ranking of metrics by rank-order ρ: what stands apart, what ties decide, what papers say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reports.shared.row_kind import Record, row_kind

# the width of the exact tie bounds from which on ties, not scores, decide a good part of ρ
TIES_DECIDE = 0.2
# what was found out by `benchmarks/numbers/published_gaps.py` (docs/statistics.md)
CAUSES = {
    "METEOR": "nltk's METEOR, averaged over the references, comes nearer: metrics=[meteor_nltk] "
    "metric.meteor_nltk.references=mean"
}
NEAR_SD = 2.0  # standard deviations within which a published value is no surprise


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


def paper_distance(record: Record, published: float) -> float | None:
    """How many standard deviations of corruption seeds and tie breaking a published value lies
    above the mean over seeds; `None` without seeds, or without any spread.

    The published value is one draw of seed and ties, the mean one of n seeds: the variance is
    seed² (1 + 1/n) + ties². The spread over images has no part in it: the images are the same.
    """
    spread = record.get("seeds")
    if not spread:
        return None
    seed, ties = spread["components"]["seed"], spread["components"]["ties"]
    if seed is None:
        return None
    sd = math.sqrt(seed**2 * (1 + 1 / spread["n"]) + (ties or 0.0) ** 2)
    if sd < 1e-9:
        return None
    return float((published - spread["rank_order_rho"]["mean"]) / sd)


def cause(record: Record) -> str:
    """Where a published value that lies far off comes from, as far as that could be found out."""
    return CAUSES.get(record["metric"], "the cause is unknown")


def against_paper(record: Record, published: float) -> tuple[str, str]:
    """A short and a long word on how a ρ relates to the published value.

    A paper that used the same images differs by its corruption's seed and by one way of breaking
    ties, so these are what it is compared by: with several seeds in their standard deviations,
    with one by the spread of random tie-breaking alone.
    """
    value = rho(record)
    if value is None:
        return "", ""
    distance = paper_distance(record, published)
    if distance is not None:
        where = "above" if distance > 0 else "below"
        long = (
            f"The published value lies {abs(distance):.1f} standard deviations of corruption seeds "
            f"and random tie-breaking {where} our mean over {record['seeds']['n']} seeds."
        )
        if abs(distance) <= NEAR_SD:
            return "within seeds", long
        return f"{abs(distance):.0f} sd {where}", f"{long[:-1]}: {cause(record)}."
    tie_sd = record.get("rank_order_rho_tie_std")
    if tie_sd and abs(value - published) <= NEAR_SD * tie_sd:
        return "ties", (
            f"Within the spread of random tie-breaking (sd {tie_sd:.4f}): ties can explain it."
        )
    return "beyond ties", (
        "Beyond what random tie-breaking does. How much the corruption's seed does was not "
        "measured for it: corruption.seeds=5, with the metric in corruption.reseeded, does. The "
        "interval over images is no measure, as the paper used the same images."
    )


def _pair(record: Record, field: str) -> tuple[float, float] | None:
    """The two numbers of a field, `None` where either is missing."""
    pair = record.get(field)
    return None if not pair or None in pair else (float(pair[0]), float(pair[1]))
