"""Which metrics are separated: paired differences over the same resampled images."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from metaeval.reports.graded.ranking import results
from metaeval.reports.graded.run import GradedRun
from metaeval.reports.graded.statements.measures import MOST_NAMES, WORDS, value_of
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.results.comparison import Comparisons
from metaeval.results.graded import Measure
from metaeval.stats.significance.comparison import cliques

MOST_GROUPS = 2  # that a sentence names
_ORDER: tuple[Measure, ...] = ("rank_order_rho_within", "rank_order_rho")


def separated_pairs(run: GradedRun) -> Finding | None:
    """How many pairs of metrics differ within an image and pooled, and which groups do not."""
    rows = results(run)
    tested = {m: c for m in _ORDER if (c := run.result.differences.get(m)) is not None}
    if len(rows) < 2:
        return None
    within = tested.get("rank_order_rho_within")
    if within is None or not any(p.test and known(p.test.p_adjusted) for p in within.pairs):
        return Finding("Differences.", "None were tested, so claim no order among close metrics.")
    parts = []
    for measure, comparisons in tested.items():
        pairs = comparisons.pairs
        apart = [p for p in pairs if p.is_significant(comparisons.alpha)]
        order = [m.name for m in sorted(rows, key=lambda m: -_or_last(value_of(m, measure)))]
        groups = tied_groups(order, comparisons)
        text = f"{WORDS[measure]}, {_of(len(apart), len(pairs))} differ"
        if groups:
            text += f"; not separated: {_first_of(groups)}"
        parts.append(text)
    text = (
        "Each pair is tested on the captions that both could score, over the same resampled "
        f"images, corrected over all pairs (Holm, {within.alpha:g}): "
        f"{'. '.join([parts[0], *map(capital, parts[1:])])}."
    )
    smallest = [
        p.power.detectable for p in within.pairs if p.power and p.power.detectable is not None
    ]
    if smallest:
        text += (
            " For half of the pairs a difference in ρ within an image of "
            f"{number(median(smallest))} would have been found with a probability of "
            f"{percent(run.result.power, 0)}."
        )
    return Finding("Differences.", text)


def _first_of(groups: Sequence[Sequence[str]]) -> str:
    """The first groups with their first names, and how many are left out."""
    named = []
    for group in groups[:MOST_GROUPS]:
        rest = len(group) - MOST_NAMES
        more = [f"{spelled(rest)} more"] if rest > 0 else []
        named.append(listed([*group[:MOST_NAMES], *more]))
    if (left := len(groups) - MOST_GROUPS) > 0:
        named.append(f"and {amount(left, 'group')} more")
    return "; ".join(named)


def _of(n: int, total: int) -> str:
    if total == 1:
        return "the one pair does" if n else "the one pair does not"
    return f"all {count(total)} pairs" if n == total else f"{count(n)} of {count(total)} pairs"


def _or_last(value: float | None) -> float:
    return -2.0 if value is None else value


def tied_groups(order: Sequence[str], comparisons: Comparisons) -> list[list[str]]:
    """The largest groups of metrics of which no two are separated, best first.

    `order` is the ranking. A metric may be in several groups: "not separated" does not pass on from
    pair to pair.
    """
    tied: dict[str, set[str]] = {name: set() for name in order}
    for pair in comparisons.pairs:
        if pair.a in tied and pair.b in tied and not pair.is_significant(comparisons.alpha):
            tied[pair.a].add(pair.b)
            tied[pair.b].add(pair.a)
    return cliques(order, tied)
