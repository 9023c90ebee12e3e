"""The tables of experiment=pairs: which share of true captions each metric and control prefers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.numbers.graded import head, row, title
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.runs import files


def of_pairs(results: Sequence[Result]) -> str:
    """Accuracy in per cent by kind, the best mean first, controls below, and the share of ties."""
    run = _read(results[0])
    (comparison,) = run["comparisons"]
    lines = head("", "mean", *run["kinds"], "ties")
    for record in _best_first(run, comparison):
        told = record["accuracy"][comparison]
        cells = [_percent(told[kind]["value"]) for kind in ("mean", *run["kinds"])]
        lines.append(row(title(record), *cells, _percent(told["mean"]["ties"])))
    return "\n".join([*lines, _numbers_of_pairs(run, "", after=("",))])


def of_triplets(results: Sequence[Result]) -> str:
    """The means of the three comparisons, the best in both first, and the second one by kind."""
    run = _read(results[0])
    _, second, both = run["comparisons"]
    first_kind, *kinds = run["kinds"]
    lines = head("", *run["comparisons"], f"{second}, {first_kind}", *kinds)
    for record in _best_first(run, both):
        told = record["accuracy"]
        means = [_percent(told[comparison]["mean"]["value"]) for comparison in run["comparisons"]]
        by_kind = [_percent(told[second][kind]["value"]) for kind in run["kinds"]]
        lines.append(row(title(record), *means, *by_kind))
    total = f"{sum(run['kinds'].values()):,}"
    return "\n".join([*lines, _numbers_of_pairs(run, total, total, total)])


def _read(result: Result) -> dict[str, Any]:
    return dict(files.read_json(result.folder / files.STATISTICS))


def _best_first(run: dict[str, Any], comparison: str) -> list[dict[str, Any]]:
    """The columns that ran and are no parts of others: metrics, then controls."""
    records = [r for r in run["metrics"] if r["status"] == "ok" and r["part_of"] is None]
    return sorted(
        records, key=lambda r: (r["control"], -r["accuracy"][comparison]["mean"]["value"])
    )


def _numbers_of_pairs(run: dict[str, Any], *before: str, after: Sequence[str] = ()) -> str:
    return row("n", *before, *(f"{n:,}" for n in run["kinds"].values()), *after)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def compared(dataset: str) -> tuple[Command, ...]:
    return (Command(f"-m metaeval experiment=pairs dataset={dataset} metric.spice.parser=rules"),)


TABLES = (
    Table("sugarcrepe", compared("sugarcrepe"), of_pairs),
    Table("sugarcrepe_pp", compared("sugarcrepe_pp"), of_triplets),
    Table("valse", compared("valse"), of_pairs),
)
