"""Small results, for tests of what reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn


def correlations_of(n: int, value: float, common: float) -> dict[str, Estimate]:
    """Correlations of one value, and τ-c on common rows."""
    names = ("kendall_tau_c", "pearson", "spearman", "kendall_tau_b")
    estimates = {name: Estimate(value=value, n=n) for name in names}
    return estimates | {"kendall_tau_c_common": Estimate(value=common, n=6)}


def ratings_result(
    metrics: Mapping[str, Mapping[str, Estimate]], judged: int, **fields: Any
) -> MeasuredResult:
    """A run on ratings of one dimension, quoted by τ-c."""
    result = measured_result(
        metrics, [Measure("kendall_tau_c", "τ-c", group="rating")], experiment="judgments",
        dataset="table", facts={"Captions": judged},
        settings={"statistic": "kendall_tau_c", "dimensions": ("rating",)}, **fields,
    )  # fmt: skip
    of_metrics = tuple(
        m.model_copy(
            update={
                "statistics": m.numbers.model_copy(
                    update={"facts": {"n": m.numbers["kendall_tau_c"].n}}
                )
            }
        )
        for m in result.metrics
    )
    return result.model_copy(update={"metrics": of_metrics})


def measured_result(
    values: Mapping[str, Mapping[str, Estimate]], declared: Sequence[Measure], **fields: Any
) -> MeasuredResult:
    """A result with these values of each metric; `fields` are further ones of the result."""
    return MeasuredResult(
        **{"experiment": "retrieval", "dataset": "scenes"} | fields,
        declared=tuple(declared),
        metrics=tuple(
            MetricResult(
                column=ScoreColumn(name), family=name.lower(), statistics=Measured(values=of_metric)
            )
            for name, of_metric in values.items()
        ),
    )
