"""The tables of experiment=pairs: which share of true captions each metric and control prefers."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import head, row
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.experiments.pairs.printout import percent
from metaeval.results.files import read_result
from metaeval.results.metric import MetricResult
from metaeval.results.pairs import PairsResult, PairsStatistics
from metaeval.runs import files


def of_pairs(results: Sequence[Result]) -> str:
    """Accuracy in per cent by kind, the best mean first, controls below, and the share of ties."""
    run = _read(results[0])
    (comparison,) = run.comparisons
    lines = head("", "mean", "mean of shown", *run.kinds, "ties")
    for metric in _best_first(run, comparison):
        accuracy = metric.numbers.accuracy[comparison]
        shown = accuracy.mean_of_shown
        cells = [percent(a.value) for a in accuracy.kinds.values()]
        means = [percent(accuracy.mean.value), percent(shown.value if shown else None)]
        lines.append(row(_title(metric), *means, *cells, percent(accuracy.mean.ties)))
    return "\n".join([*lines, _numbers_of_pairs(run, "", "", after=("",))])


def of_triplets(results: Sequence[Result]) -> str:
    """The means of the three comparisons, the best in both first, and the second one by kind."""
    run = _read(results[0])
    _, second, both = run.comparisons
    first_kind, *kinds = run.kinds
    lines = head("", *run.comparisons, f"{second}, {first_kind}", *kinds)
    for metric in _best_first(run, both):
        accuracy = metric.numbers.accuracy
        means = [percent(accuracy[comparison].mean.value) for comparison in run.comparisons]
        by_kind = [percent(a.value) for a in accuracy[second].kinds.values()]
        lines.append(row(_title(metric), *means, *by_kind))
    total = f"{sum(run.kinds.values()):,}"
    return "\n".join([*lines, _numbers_of_pairs(run, total, total, total)])


def _read(result: Result) -> PairsResult:
    run = read_result(result.folder / files.STATISTICS)
    assert isinstance(run, PairsResult)
    return run


def _best_first(run: PairsResult, comparison: str) -> list[MetricResult[PairsStatistics]]:
    """The columns that ran and are not parts of others: metrics, then controls."""

    def sort_key(metric: MetricResult[PairsStatistics]) -> tuple[bool, float]:
        value = metric.numbers.accuracy[comparison].mean.value
        return metric.column.control, 2.0 if value is None else -value

    return sorted((m for m in run.metrics if m.ok and m.column.part_of is None), key=sort_key)


def _title(metric: MetricResult[PairsStatistics]) -> str:
    return f"*{metric.name}*" if metric.column.control else metric.name


def _numbers_of_pairs(run: PairsResult, *before: str, after: Sequence[str] = ()) -> str:
    return row("n", *before, *(f"{n:,}" for n in run.kinds.values()), *after)


def compared(dataset: str) -> tuple[Command, ...]:
    return (
        Command(f"-m metaeval experiment=pairs dataset={dataset} metric.spice.parser=perceptron"),
    )


TABLES = (
    Table("sugarcrepe", compared("sugarcrepe"), of_pairs),
    Table("sugarcrepe_pp", compared("sugarcrepe_pp"), of_triplets),
    Table("valse", compared("valse"), of_pairs),
)
