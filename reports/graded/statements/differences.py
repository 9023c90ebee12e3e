"""Which metrics are told apart: by paired differences over the same resampled images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from reports.graded.ranking import ranked
from reports.graded.run import GradedRun
from reports.graded.statements.measures import MEASURES
from reports.shared.elements import Finding
from reports.shared.formatting import amount, capital, count, known, listed, number, spelled

Pair = Mapping[str, Any]
MOST_GROUPS, MOST_NAMES = 2, 4  # what a sentence can hold


def told_apart(run: GradedRun) -> Finding | None:
    """How many pairs of metrics differ within an image and pooled, and which groups do not."""
    rows = ranked(run.metrics)
    tested = run.statistics.get("differences")
    if len(rows) < 2:
        return None
    if not tested or not any(known(p["bootstrap"]["p_holm"]) for p in pairs_of(tested)):
        return Finding("Differences.", "None were tested, so claim no order among close metrics.")
    alpha, parts = tested["alpha"], []
    for measure in ("rank_order_rho_within", "rank_order_rho"):
        pairs = pairs_of(tested, measure)
        apart = [p for p in pairs if is_apart(p, alpha)]
        order = sorted((r["metric"] for r in rows), key=lambda name: -_value(rows, name, measure))
        groups = untold_groups(order, pairs, alpha)
        text = f"{MEASURES[measure]}, {_of(len(apart), len(pairs))} differ"
        if groups:
            text += f"; not told apart: {_first_of(groups)}"
        parts.append(text)
    smallest = [p["detectable"] for p in pairs_of(tested) if known(p["detectable"])]
    return Finding(
        "Differences.",
        f"Tested in pairs over the same resampled images, corrected over all pairs (Holm, "
        f"{number(alpha, 2)}): {'. '.join([parts[0], capital(parts[1])])}. A difference in ρ "
        f"within an image of {number(median(smallest))} would have been found four times in five "
        f"for half of the pairs.",
    )


def _first_of(groups: Sequence[Sequence[str]]) -> str:
    """The first groups with their first names; how many are left out is said."""
    named = []
    for group in groups[:MOST_GROUPS]:
        rest = len(group) - MOST_NAMES
        more = [f"{spelled(rest)} more"] if rest > 0 else []
        named.append(listed([*group[:MOST_NAMES], *more]))
    if (left := len(groups) - MOST_GROUPS) > 0:
        named.append(f"and {amount(left, 'group')} more, which the matrix below holds")
    return "; ".join(named)


def _of(n: int, total: int) -> str:
    if total == 1:
        return "the one pair does" if n else "the one pair does not"
    return f"all {count(total)} pairs" if n == total else f"{count(n)} of {count(total)} pairs"


def _value(rows: Sequence[Mapping[str, Any]], name: str, measure: str) -> float:
    value = next(r for r in rows if r["metric"] == name).get(measure)
    return float(value) if value is not None and known(value) else -2.0


def pairs_of(tested: Mapping[str, Any], measure: str = "rank_order_rho_within") -> list[Pair]:
    """The pairs of a measure; none where it was not tested."""
    pairs: list[Pair] = tested["measures"].get(measure, {"pairs": []})["pairs"]
    return pairs


def is_apart(pair: Pair, alpha: float) -> bool:
    """Whether two metrics differ after Holm's correction."""
    p = pair["bootstrap"]["p_holm"]
    return bool(known(p) and p <= alpha)


def untold_groups(order: Sequence[str], pairs: Sequence[Pair], alpha: float) -> list[list[str]]:
    """The largest groups of metrics of which no two were told apart, best first.

    `order` is the ranking; a metric may be in several groups: a difference that is not found is no
    proof of equality, so the relation need not pass on from pair to pair.
    """
    untold: dict[str, set[str]] = {name: set() for name in order}
    for pair in pairs:
        if pair["a"] in untold and pair["b"] in untold and not is_apart(pair, alpha):
            untold[pair["a"]].add(pair["b"])
            untold[pair["b"]].add(pair["a"])
    groups: list[list[str]] = []

    def grow(group: list[str], candidates: set[str], past: set[str]) -> None:
        """Bron and Kerbosch (1973): every maximal clique, once."""
        if not candidates and not past:
            groups.append(sorted(group, key=order.index))
        for name in sorted(candidates, key=order.index):
            grow([*group, name], candidates & untold[name], past & untold[name])
            candidates = candidates - {name}
            past = past | {name}

    grow([], set(order), set())
    large = [group for group in groups if len(group) > 1]
    return sorted(large, key=lambda group: [order.index(name) for name in group])
