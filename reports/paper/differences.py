"""All differences between metrics as one table: the colours of a matrix, in numbers."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.shared.formatting import DASH, count, interval, number, p_value
from metaeval.reports.shared.print_tables import PrintTable, plain_table
from metaeval.results.comparison import Comparison, Comparisons


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else factor * value


def comparison_table(
    comparisons: Comparisons, order: Sequence[str], name: str, caption: str
) -> PrintTable | None:
    """A row for each pair, the metric that is first in `order` first; `None` without pairs.

    Differences are times 100, as in the matrix. Columns of tests that were not made are left out.
    """
    place = {metric: k for k, metric in enumerate(order)}
    pairs = [
        pair if place[pair.a] < place[pair.b] else pair.reversed()
        for pair in comparisons.pairs
        if pair.a in place and pair.b in place
    ]
    if not pairs:
        return None
    heads = ["Metric", "against", "Difference", "Interval"]
    heads += [head for test in pairs[0].tests for head in (f"p, {test.method}", "Holm")]
    power = any(pair.power is not None and pair.power.effect is not None for pair in pairs)
    if power:
        heads += ["Effect (sd)", "Detectable", "Images needed"]
    ordered = sorted(pairs, key=lambda pair: (place[pair.a], place[pair.b]))
    return plain_table(name, caption, heads, [_comparison_row(pair, power) for pair in ordered])


def _comparison_row(pair: Comparison, power: bool) -> list[str]:
    ends = pair.difference.interval
    cells = [
        pair.a,
        pair.b,
        number(_times(pair.difference.value, 100), 2, sign=True),
        interval([100 * v for v in ends], 2) if ends is not None else DASH,
    ]
    for test in pair.tests:
        cells += [p_value(test.p), p_value(test.p_adjusted)]
    if power:
        effect = pair.power.effect if pair.power else None
        detectable = pair.power.detectable if pair.power else None
        cells += [
            number(effect, 2, sign=True),
            number(_times(detectable, 100), 2),
            DASH if pair.images_needed is None else count(round(pair.images_needed)),
        ]
    return cells
