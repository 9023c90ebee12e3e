"""Small results, for tests of what reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn


def correlations_of(
    n: int,
    value: float | None,
    views: Mapping[str, tuple[int, float | None]] | None = None,
    common: float | None = None,
) -> dict[str, Estimate]:
    """Correlations of one value, those of each part, and τ-c on common rows."""
    names = ("kendall_tau_c", "pearson", "spearman", "kendall_tau_b")
    estimates = {name: Estimate(value=value, n=n) for name in names}
    for view, (of_view, part) in (views or {}).items():
        estimates[f"kendall_tau_c_{view}"] = Estimate(value=part, n=of_view)
    if common is not None:
        estimates["kendall_tau_c_common"] = Estimate(value=common, n=6)
    return estimates


def ratings_result(
    metrics: Mapping[str, Mapping[str, Estimate]],
    dimension: str = "rating",
    judged: int = 0,
    views: Mapping[str, int] | None = None,
    **fields: Any,
) -> MeasuredResult:
    """A run on ratings of one dimension, quoted by τ-c."""
    parts = "Parts of the captions"
    counts = tuple((f"Captions, {view}", n) for view, n in (views or {}).items())
    declared = [
        Measure("kendall_tau_c", "τ-c", group=dimension),
        *(Measure(f"kendall_tau_c_{v}", v, shown=False, group=parts) for v in views or {}),
    ]
    result = measured_result(
        metrics, declared, experiment="judgments", dataset="table", facts={"Captions": judged},
        settings={"statistic": "kendall_tau_c", "dimensions": (dimension,)},
        extras=(Extra(name="counts", title="", columns=("", "n"), rows=counts),),
        **fields,
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


def changed_set(label: str, **fields: Any) -> dict[str, Any]:
    """A set of changed captions, made in all of 50 images."""
    return {
        "set": label, "name": label, "kind": "objects", "expected": "lower", "experimental": False,
        "n_applied": 50, **fields,
    }  # fmt: skip


def sensitivity_result(
    sets: Sequence[Mapping[str, Any]],
    profile: Sequence[Mapping[str, Any]],
    *metrics: MetricResult,
) -> MeasuredResult:
    """What these metrics see of these sets; `profile` has a record a metric and set."""
    return MeasuredResult(
        experiment="sensitivity",
        dataset="d",
        metrics=metrics,
        declared=(),
        extras=(
            Extra.of("sets", "", sets, kind="data"),
            Extra.of("profile", "", profile, kind="data"),
        ),
    )
