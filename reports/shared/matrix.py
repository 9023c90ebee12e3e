"""Who beats whom: differences between all pairs of metrics, by which tests; and the controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reports.shared.formatting import capital, count, interval, known, listed, number, percent

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


def matrix(
    differences: Mapping[str, Any], order: Sequence[str], alpha: float
) -> list[DifferenceRow]:
    """Rows and columns in the given order, best first; empty where there is no pair to compare."""
    pairs = {(p["a"], p["b"]): p for p in differences["pairs"]}
    names = [n for n in order if any(n in pair for pair in pairs)]
    rows = []
    for name in names:
        cells = []
        for other in names:
            if name == other:
                cells.append(DifferenceCell("", "", "self", ""))
            elif (name, other) in pairs:
                cells.append(_cell(pairs[name, other], 1, alpha))
            else:
                cells.append(_cell(pairs[other, name], -1, alpha))
        rows.append(DifferenceRow(name, sum(c.kind == "better" for c in cells), tuple(cells)))
    return rows


def _cell(pair: Mapping[str, Any], sign: int, alpha: float) -> DifferenceCell:
    """The cell of a pair, `sign` −1 where the row is its second metric."""
    made = [test for test in TESTS if test in pair]
    significant = [t for t in made if known(pair[t]["p_holm"]) and pair[t]["p_holm"] <= alpha]
    value = pair["difference"]
    if not known(value):
        return DifferenceCell("–", "", "even", "not defined")
    if not significant:
        kind = "even"
    elif len(significant) < len(made):
        kind = "mixed"
    else:
        kind = "better" if sign * value > 0 else "worse"
    first, second = (pair["a"], pair["b"]) if sign > 0 else (pair["b"], pair["a"])
    title = [f"{first} − {second}: {number(100 * sign * value, 2, sign=True)}"]
    if "bootstrap" in pair:
        ends = [v for v in pair["bootstrap"]["ci"] if v is not None]
        title.append(f"interval {interval(sorted(100 * sign * v for v in ends), 2)}")
    title += [
        f"{test} p = {number(pair[test]['p'], 4)}, after Holm {number(pair[test]['p_holm'], 4)}"
        for test in made
    ]
    if known(pair.get("effect")):
        title.append(f"effect {number(sign * pair['effect'], 2, sign=True)} sd of an image")
    if known(pair.get("detectable")):
        title.append(f"detectable {number(100 * pair['detectable'], 2)}")
    if known(pair.get("images_needed")):
        title.append(f"images needed {count(round(pair['images_needed']))}")
    letters = "".join(TESTS[test] for test in significant)
    return DifferenceCell(number(100 * sign * value, 1, sign=True), letters, kind, "; ".join(title))


def beats_the_others(best: str, rows: Sequence[DifferenceRow], tests: str) -> list[str]:
    """A sentence on whether the best metric beats all others: by `tests` ("every test"), or not
    surely. None where there is nothing to compare it with."""
    row = next((row for row in rows if row.metric == best), None)
    if row is None or len(rows) < 2:
        return []
    equal = [
        other.metric
        for other, cell in zip(rows, row.cells, strict=True)
        if cell.kind in ("even", "mixed")
    ]
    if equal:
        return [f"That it beats {listed(equal, 'or')} is not sure: not every test says so."]
    others = "the other" if len(rows) == 2 else "each of the others"
    return [f"It beats {others} by {tests}, after Holm's correction."]


def control_sentences(controls: Mapping[str, Mapping[str, Any]], where: str) -> list[str]:
    """The kinds of pairs that a control wins, and those on which no metric is surely above one."""
    sentences = []
    won = {kind: c for kind, c in controls.items() if c["shows"] == "nothing"}
    if won:
        told = [
            f"{kind} ({c['control']} {percent(c['value'])}, best metric {c['best']} "
            f"{percent(c['best_value'])})"
            for kind, c in won.items()
        ]
        sentences.append(
            capital(
                f"{where}nothing is shown by {listed(told)}: a control, which is no metric, gets "
                "as much as every metric."
            )
        )
    unsure = [kind for kind, c in controls.items() if c["shows"] == "unsure"]
    if unsure:
        sentences.append(
            capital(f"{where}on {listed(unsure)} no metric is surely above the best control.")
        )
    if not won and not unsure:
        sentences.append(capital(f"{where}on every kind some metric is above the best control."))
    return sentences
