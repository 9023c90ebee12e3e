"""Comparisons of metrics with each other and with controls, as every experiment records them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metaeval.experiments.text_table import percent
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.runs.records import ScoreColumn
from metaeval.stats.significance.comparison import TestedDifference


def is_ranked(column: ScoreColumn) -> bool:
    """Whether a column takes part in comparisons: no part, no untrained weights, no control."""
    return column.part_of is None and not column.untrained and not column.control


def is_control(column: ScoreColumn) -> bool:
    """Whether metrics are compared with this column: a control, and no part of one."""
    return column.part_of is None and column.control


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


def control_lines(controls: Mapping[str, AgainstControl] | None) -> Iterator[str]:
    """A line for each group of items on which no metric is significantly above the control."""
    for group, each in (controls or {}).items():
        if each.shows == "something":
            continue
        verdict = {
            "nothing": "no metric is above the best control",
            "unsure": "no metric is significantly above the best control",
            "undecidable": "cannot be decided with so few replicates or images",
        }[each.shows]
        yield (
            f"{group}: {verdict} ({each.control} {percent(each.control_value) or 'undefined'}, "
            f"best metric {each.best} {percent(each.best_value) or 'undefined'})"
        )
