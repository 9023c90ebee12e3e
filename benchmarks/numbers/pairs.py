"""The tables of experiment=pairs: which share of true captions each metric and control prefers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchmarks.numbers.graded import head, row
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.experiments.pairs.statistics import MEAN, SHOWN
from metaeval.experiments.text_table import percent


def of_pairs(results: Sequence[Result]) -> str:
    """Accuracy in per cent by kind, the best mean first, controls below, and the share of ties."""
    table = _accuracies(results[0])
    kinds = _pairs_of(table)
    lines = head("", "mean", "mean of shown", *kinds, "ties")
    for name, of_metric in _best_first(table, table["comparison"].iloc[0]):
        by_kind = of_metric.set_index("kind")
        means = [_percent(by_kind["accuracy"].get(mean)) for mean in (MEAN, SHOWN)]
        cells = [_percent(by_kind["accuracy"][kind]) for kind in kinds]
        lines.append(row(name, *means, *cells, _percent(by_kind["ties"][MEAN])))
    return "\n".join([*lines, row("n", "", "", *(f"{n:,}" for n in kinds.values()), "")])


def of_triplets(results: Sequence[Result]) -> str:
    """The means of the three comparisons, the best in both first, and the second one by kind."""
    table = _accuracies(results[0])
    comparisons = list(dict.fromkeys(table["comparison"]))
    _, second, both = comparisons
    kinds = _pairs_of(table)
    first_kind, *others = kinds
    lines = head("", *comparisons, f"{second}, {first_kind}", *others)
    for name, of_metric in _best_first(table, both):
        values = of_metric.set_index(["comparison", "kind"])["accuracy"]
        means = [_percent(values[comparison, MEAN]) for comparison in comparisons]
        lines.append(row(name, *means, *(_percent(values[second, kind]) for kind in kinds)))
    total = f"{sum(kinds.values()):,}"
    counts = (f"{n:,}" for n in kinds.values())
    return "\n".join([*lines, row("n", total, total, total, *counts)])


def _accuracies(result: Result) -> pd.DataFrame:
    """A row a comparison, metric and kind; parts of metrics are left out."""
    run = result.read()
    table = run.extra("accuracies").frame()
    whole = [metric.name for metric in run.metrics if metric.column.part_of is None]
    return table[table["metric"].isin(whole)]


def _pairs_of(table: pd.DataFrame) -> dict[str, int]:
    """Kind → pairs, as many as the column with the most scores has."""
    of_kinds = table[~table["kind"].isin([MEAN, SHOWN])]
    return {
        str(kind): int(n) for kind, n in of_kinds.groupby("kind", sort=False)["n"].max().items()
    }


def _best_first(table: pd.DataFrame, comparison: str) -> list[tuple[str, pd.DataFrame]]:
    """Title and rows of every column: metrics by this mean, then controls."""
    means = table[(table["comparison"] == comparison) & (table["kind"] == MEAN)]
    order = means.sort_values(
        ["control", "accuracy"], ascending=[True, False], na_position="first", kind="stable"
    )
    return [
        (f"*{name}*" if control else name, table[table["metric"] == name])
        for name, control in zip(order["metric"], order["control"], strict=True)
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None or pd.isna(share) else percent(share)


def compared(dataset: str) -> tuple[Command, ...]:
    return (
        Command(f"-m metaeval experiment=pairs dataset={dataset} metric.spice.parser=perceptron"),
    )


TABLES = (
    Table("sugarcrepe", compared("sugarcrepe"), of_pairs),
    Table("sugarcrepe_pp", compared("sugarcrepe_pp"), of_triplets),
    Table("valse", compared("valse"), of_pairs),
)
