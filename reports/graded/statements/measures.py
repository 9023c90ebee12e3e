"""Statements on the three measures: who leads by each, and whose pooled ρ is offset."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.graded.ranking import rho
from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    interval,
    known,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.results.graded import MEASURES, Measure

WORDS: dict[Measure, str] = {
    "rank_order_rho": "pooled over all captions",
    "rank_order_rho_within": "within an image",
    "pairwise_accuracy": "by pairs within an image",
}
GAP = 0.1  # how much more of the order a metric must see within images for a statement on offset
MOST_NAMES = 4  # of a tied group that a sentence names


def value_of(metric: Metric, measure: Measure) -> float | None:
    """The value of a measure; `None` where it is undefined."""
    return metric.numbers.estimate(measure).value


def leading_group(run: GradedRun, rows: Sequence[Metric], measure: Measure) -> list[Metric]:
    """The metric with the highest value, and those that no test puts below it, best first.

    Where nothing was tested, all rows: no order can be claimed.
    """
    values = {m.name: v for m in rows if (v := value_of(m, measure)) is not None}
    order = sorted((m for m in rows if m.name in values), key=lambda m: -values[m.name])
    if not order:
        return []
    best = order[0].name
    comparisons = run.result.differences.get(measure)
    if comparisons is None:
        return order
    tied = {best, *comparisons.not_below(best, list(values))}
    return [m for m in order if m.name in tied]


def leaders(run: GradedRun, rows: Sequence[Metric], versions: str, level: str) -> str:
    """Which metrics order the versions best by each of the three measures, with intervals."""
    groups = {measure: leading_group(run, rows, measure) for measure in MEASURES}
    names = {measure: [m.name for m in group] for measure, group in groups.items()}
    first = names["rank_order_rho"]
    if len(first) == 1 and all(group == first for group in names.values()):
        m = groups["rank_order_rho"][0]
        numbers = m.numbers
        return (
            f"{m.name} orders the {versions} best by all three measures: rank-order ρ "
            f"{number(rho(m))} {WORDS['rank_order_rho']} ({level} interval "
            f"{interval(numbers.rank_order_rho.interval)}), "
            f"{number(numbers.rank_order_rho_within.value)} within an image, and "
            f"{percent(numbers.pairwise_accuracy.value)} of the pairs of an image in order."
        )
    parts = [
        f"{WORDS[measure]}, {_group(group, measure)}" for measure, group in groups.items() if group
    ]
    return f"Best at ordering the {versions}: {'; '.join(parts)}."


def _group(group: Sequence[Metric], measure: Measure) -> str:
    """CIDEr (ρ 0.724); or CIDEr (93.2%) and FAIEr (93.1%), which no test separates."""
    named = [f"{m.name} ({_value(m, measure)})" for m in group[:MOST_NAMES]]
    if (rest := len(group) - MOST_NAMES) > 0:
        named.append(f"{spelled(rest)} more")
    tied = ", which no test separates from the first" if len(group) > 2 else ", not separated"
    return listed(named) + (tied if len(group) > 1 else "")


def _value(metric: Metric, measure: Measure) -> str:
    value = value_of(metric, measure)
    return percent(value) if measure == "pairwise_accuracy" else f"ρ {number(value)}"


def offset(rows: Sequence[Metric]) -> Finding | None:
    """The metrics whose pooled ρ is low because images differ as a whole."""
    masked = [m for m in rows if is_masked(m)]
    if not masked:
        return None
    masked.sort(key=lambda m: (rho(m) or 0.0) - (m.numbers.rank_order_rho_within.value or 0.0))
    first, *others = masked
    numbers = first.numbers
    text = (
        f"{first.name}'s pooled ρ of {number(rho(first))} is low because its scores differ between "
        f"images: within an image its ρ is {number(numbers.rank_order_rho_within.value)} and "
        f"{percent(numbers.pairwise_accuracy.value)} of the pairs are in order. Of the variance of "
        f"its scores {percent(numbers.variance.image, 0)} lies between images and "
        f"{percent(numbers.variance.level, 0)} between versions."
    )
    if others:
        also = [
            f"{m.name} ({number(rho(m))} pooled, "
            f"{number(m.numbers.rank_order_rho_within.value)} within)"
            for m in others
        ]
        text += f" The same holds for {listed(also)}."
    return Finding("Offset.", text)


def is_masked(metric: Metric) -> bool:
    """Whether images hide what a metric sees: ρ within is higher beyond both intervals and `GAP`,
    and more than half of the variance lies between images."""
    numbers = metric.numbers
    pooled, within = numbers.rank_order_rho, numbers.rank_order_rho_within
    image = numbers.variance.image
    if pooled.interval is None or within.interval is None or image is None:
        return False
    if pooled.value is None or within.value is None:
        return False
    gap = within.value - pooled.value
    return gap >= GAP and within.interval[0] > pooled.interval[1] and image > 0.5


def by_within(rows: Sequence[Metric]) -> list[Metric]:
    """The rows with a ρ within an image, best first."""
    defined = [m for m in rows if known(m.numbers.rank_order_rho_within.value)]
    return sorted(defined, key=lambda m: -(m.numbers.rank_order_rho_within.value or 0.0))
