"""A measured result with given values, for tests of what reads one."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from metaeval.results.base import Estimate, Measured, MetricResult, Test
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn

ACCURACY = Measure("accuracy", "accuracy", unit="share")


def comparison_of(a: str, b: str, difference: float | None, p: float | None) -> Comparison:
    """A comparison with one test."""
    test = Test(p=p, p_adjusted=p, method="bootstrap", family="pairs")
    return Comparison(
        a=a, b=b, measure="accuracy", difference=Estimate(value=difference), tests=(test,), n=100
    )


def separated(names: Sequence[str], apart: Sequence[tuple[str, str]]) -> Comparisons:
    """All pairs of names, of which those of `apart` are significant; a is the higher one."""
    pairs = [
        comparison_of(a, b, 0.1, 0.01 if (a, b) in apart else 0.5)
        for a, b in combinations(names, 2)
    ]
    return Comparisons(measure="accuracy", alpha=0.05, pairs=tuple(pairs))


def against(control: str, value: float, p: Mapping[str, float], shows: Any) -> AgainstControl:
    """Metrics against a control, each with its p-value."""
    comparisons = tuple(comparison_of(name, control, 0.1, each) for name, each in p.items())
    return AgainstControl(
        control=control,
        control_value=value,
        best=next(iter(p)),
        best_value=0.9,
        comparisons=comparisons,
        shows=shows,
    )


def measured_result(
    values: Mapping[str, float | None],
    control_values: Mapping[str, float] | None = None,
    comparisons: Comparisons | None = None,
    **fields: Any,
) -> MeasuredResult:
    """A result with one measure, `accuracy`."""
    entries = [
        MetricResult(
            column=ScoreColumn(name, control=name in (control_values or {})),
            family=name.lower(),
            signature=f"{name}|v1",
            statistics=Measured(
                values={} if value is None else {"accuracy": Estimate(value=value, n=100)}
            ),
        )
        for name, value in {**values, **(control_values or {})}.items()
    ]
    fields = {"declared": (ACCURACY,), "experiment": "retrieval", "title": "Data", **fields}
    if comparisons is not None:
        fields["comparisons"] = {"accuracy": comparisons}
    return MeasuredResult(dataset="own", metrics=tuple(entries), **fields)
