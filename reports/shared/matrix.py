"""Who beats whom: differences between all pairs of metrics, by which tests; and the controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metaeval.reports.shared.formatting import (
    count,
    interval,
    number,
    p_value,
)
from metaeval.results.comparison import (
    Comparison,
    Comparisons,
)
from metaeval.stats.significance.comparison import is_significant

TESTS = {"permutation": "P", "bootstrap": "B", "williams": "W"}


class DifferenceCell(NamedTuple):
    """The difference row − column times 100, the tests that find it significant, how it is coloured
    ("better", "worse", "mixed", "even", "self"), and all p-values as a hover text."""

    text: str
    tests: str
    kind: str
    title: str


class DifferenceRow(NamedTuple):
    """A metric, how many others it beats by every test that was made, and a cell per metric."""

    metric: str
    beats: int
    cells: tuple[DifferenceCell, ...]


def comparison_matrix(comparisons: Comparisons, order: Sequence[str]) -> list[DifferenceRow]:
    """Rows and columns in the given order, best first; empty where nothing was compared."""
    compared = {name for pair in comparisons.pairs for name in (pair.a, pair.b)}
    names = [name for name in order if name in compared]
    rows = []
    for name in names:
        cells = [
            DifferenceCell("", "", "self", "")
            if name == other
            else _comparison_cell(comparisons.between(name, other), comparisons.alpha)
            for other in names
        ]
        rows.append(DifferenceRow(name, sum(c.kind == "better" for c in cells), tuple(cells)))
    return rows


def _comparison_cell(pair: Comparison | None, alpha: float) -> DifferenceCell:
    if pair is None or pair.difference.value is None:
        return DifferenceCell("–", "", "even", "not defined")
    value, ends = pair.difference.value, pair.difference.interval
    significant = [test for test in pair.tests if is_significant(test.p_adjusted, alpha)]
    if not significant:
        kind = "even"
    elif not pair.is_significant(alpha):
        kind = "mixed"
    else:
        kind = "better" if value > 0 else "worse"
    title = [f"{pair.a} − {pair.b}: {number(100 * value, 2, sign=True)}"]
    if ends is not None:
        title.append(f"interval {interval([100 * v for v in ends], 2)}")
    title += [
        f"{t.method} p {p_value(t.p)}, after Holm {p_value(t.p_adjusted)}" for t in pair.tests
    ]
    if pair.n is not None:
        title.append(f"n = {count(pair.n)}")
    power = pair.power
    if power is not None and power.effect is not None:
        title.append(f"effect {number(power.effect, 2, sign=True)} sd of an image")
    if power is not None and power.detectable is not None:
        title.append(f"detectable {number(100 * power.detectable, 2)}")
    if pair.images_needed is not None:
        title.append(f"images needed {count(round(pair.images_needed))}")
    letters = "".join(TESTS.get(test.method, test.method[:1].upper()) for test in significant)
    return DifferenceCell(number(100 * value, 1, sign=True), letters, kind, "; ".join(title))
