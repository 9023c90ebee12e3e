"""Who beats whom: the differences between all pairs of metrics, and which tests call them real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reports.shared.formatting import interval, known, number

TESTS = {"permutation": "P", "bootstrap": "B", "williams": "W"}


class Square(NamedTuple):
    """One cell: the difference row − column times 100, the tests that find it significant, how it
    is coloured ("better", "worse", "mixed", "even", "self"), and all p-values as a hover text."""

    text: str
    tests: str
    kind: str
    title: str


class Line(NamedTuple):
    """One row: a metric, and how many others it beats by every test that was made."""

    metric: str
    beats: int
    squares: tuple[Square, ...]


def matrix(differences: Mapping[str, Any], order: Sequence[str], alpha: float) -> list[Line]:
    """Rows and columns in the given order, best first; empty where there is no pair to compare."""
    found = {(p["a"], p["b"]): p for p in differences["pairs"]}
    names = [n for n in order if any(n in pair for pair in found)]
    lines = []
    for row in names:
        squares = []
        for column in names:
            if row == column:
                squares.append(Square("", "", "self", ""))
            elif (row, column) in found:
                squares.append(_square(found[row, column], 1, alpha))
            else:
                squares.append(_square(found[column, row], -1, alpha))
        lines.append(Line(row, sum(s.kind == "better" for s in squares), tuple(squares)))
    return lines


def _square(pair: Mapping[str, Any], sign: int, alpha: float) -> Square:
    made = [test for test in TESTS if test in pair]
    held = [t for t in made if known(pair[t]["p_holm"]) and pair[t]["p_holm"] <= alpha]
    value = pair["difference"]
    if not known(value):
        return Square("–", "", "even", "not defined")
    if not held:
        kind = "even"
    elif len(held) < len(made):
        kind = "mixed"
    else:
        kind = "better" if sign * value > 0 else "worse"
    first, second = (pair["a"], pair["b"]) if sign > 0 else (pair["b"], pair["a"])
    told = [f"{first} − {second}: {number(100 * sign * value, 2, sign=True)}"]
    if "bootstrap" in pair:
        ends = [v for v in pair["bootstrap"]["ci"] if v is not None]
        told.append(f"interval {interval(sorted(100 * sign * v for v in ends), 2)}")
    told += [
        f"{test} p = {number(pair[test]['p'], 4)}, after Holm {number(pair[test]['p_holm'], 4)}"
        for test in made
    ]
    letters = "".join(TESTS[test] for test in held)
    return Square(number(100 * sign * value, 1, sign=True), letters, kind, "; ".join(told))
