"""The answer of `experiment=trust` in one look: what prints, pages and README show."""

from collections.abc import Mapping
from typing import Any

from metaeval.results.measured import MeasuredResult


def matrix_rows(result: MeasuredResult) -> list[dict[str, str]]:
    """The answer in one look: a row a metric, a column a use, "rank a/k" in each cell; a star where
    skill is shown; baselines last; without scores such as BLEU-1, next to a metric's headline."""
    counted = dict.fromkeys(u["id"] for u in result.extra("uses").records if u["tests"])
    rows: dict[str, dict[str, str]] = {}
    for cell in result.extra("cells").records:
        row = rows.setdefault(
            cell["metric"], {"metric": cell["metric"], **dict.fromkeys(counted, "–")}
        )
        if cell["use"] in counted:
            row[cell["use"]] = cell_text(cell)
    controls = [m.name for m in result.metrics if m.column.control]
    further = {m.name for m in result.metrics if not m.column.headline}
    known = [r for name, r in rows.items() if name not in further and set(r.values()) - {name, "–"}]
    return sorted(known, key=lambda row: row["metric"] in controls)


def cell_text(cell: Mapping[str, Any]) -> str:
    """ "1 3/3*": rank 1, above every blind control in 3 of 3 tests, and skill is shown."""
    if not cell["tests"]:
        return "–"
    rank = "" if cell["rank"] is None else f"{cell['rank']} "
    mark = "*" if cell["word"] == "shown" else ""
    return f"{rank}{cell['above']}/{cell['tests']}{mark}"


def answer_of(use: Mapping[str, Any]) -> str:
    """The answer for a use, in a line."""
    if not use["tests"]:
        return "not tested here" if use["why"] else "no test counts"
    return f"{use['rank 1'] or 'no metric has all tests'} ({size_of(use)})"


def size_of(use: Mapping[str, Any]) -> str:
    """ "3 tests: 9,300 pairs, 1,000 images"; the tests alone where no metric has all of them."""
    tests = f"{use['tests']} test{'s' * (use['tests'] != 1)}"
    return f"{tests}: {use['n'].replace(';', ',')}" if use["n"] else tests
