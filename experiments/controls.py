"""Comparisons of metrics with each other and with controls, as every experiment records them."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.results.base import Estimate
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.stats.significance.comparison import TestedDifference


def merged(
    measure: str, alpha: float, n: Sequence[int], *families: Sequence[TestedDifference]
) -> Comparisons:
    """Comparisons with several tests a pair: the difference of the first, the first interval.

    `n` are the common items of each pair; every one of `families` has the same pairs in the same
    order, tested by another method.
    """
    pairs = []
    for common, tested in zip(n, zip(*families, strict=True), strict=True):
        made = [Comparison.of(each, measure) for each in tested]
        intervals = [each.difference.interval for each in made]
        low, high = next((ends for ends in intervals if ends is not None), (None, None))
        value = made[0].difference.value
        pairs.append(
            Comparison(
                a=made[0].a,
                b=made[0].b,
                measure=measure,
                difference=Estimate(value=value, low=low, high=high),
                tests=tuple(test for each in made for test in each.tests),
                n=common,
            )
        )
    return Comparisons(measure=measure, alpha=alpha, pairs=tuple(pairs))
