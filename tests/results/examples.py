"""Small results, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from metaeval.results.base import Estimate, Test
from metaeval.results.captioners import (
    CORPUS,
    MEAN,
    AgainstHuman,
    Agreement,
    AgreementMatrix,
    CaptionersResult,
    CaptionersSettings,
    CaptionersStatistics,
    CaptioningSystem,
    Disagreement,
    HumanStatistics,
    LengthAnalysis,
    ReferenceCounts,
)
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.graded import VarianceShares
from metaeval.results.measured import Extra, Measured, MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn
from metaeval.stats.significance.comparison import Shows


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
            MetricResult[Measured](
                column=ScoreColumn(name), family=name.lower(), statistics=Measured(values=of_metric)
            )
            for name, of_metric in values.items()
        ),
    )


def significance(p: float | None, decidable: bool = True) -> Test:
    """A test with this p-value, before and after correction."""
    return Test(p=p, p_adjusted=p, method="permutation", decidable=decidable)


def comparison(a: str, b: str, difference: float | None, p: float | None) -> Comparison:
    """a minus b; the interval is ± 0.05 where the difference is defined."""
    low, high = (None, None) if difference is None else (difference - 0.05, difference + 0.05)
    return Comparison(
        a=a, b=b, measure="m", difference=Estimate(value=difference, low=low, high=high), n=10,
        tests=(significance(p),),
    )  # fmt: skip


def comparisons(*pairs: Comparison, alpha: float = 0.05) -> Comparisons:
    """A family of comparisons."""
    return Comparisons(measure="m", alpha=alpha, pairs=pairs)


def against_control(
    shows: Shows, above: Mapping[str, float] | None = None, value: float = 0.6
) -> AgainstControl:
    """Metrics against Length: metric → p-value of being 0.1 above it."""
    pairs = [comparison(name, "Length", 0.1, p) for name, p in (above or {}).items()]
    return AgainstControl(
        control="Length", control_value=value, best="CIDEr", best_value=0.5,
        comparisons=tuple(pairs), shows=shows,
    )  # fmt: skip


def system_scores(
    name: str,
    ranking: Sequence[str],
    ahead: Sequence[bool] = (),
    values: Mapping[str, float] | None = None,
    n_nan: int = 0,
    **column: Any,
) -> MetricResult[CaptionersStatistics]:
    """A score of systems with this ranking; `ahead[k]`: place k is separated from the next."""
    pairs = [
        Comparison(
            a=a, b=b, measure="score", difference=Estimate(value=0.1), n=10,
            tests=(Test(p=p, p_adjusted=p, method="permutation"),),
        )
        for (a, b), apart in zip(pairwise(ranking), ahead or [False] * len(ranking), strict=False)
        for p in [0.001 if apart else 0.5]
    ]  # fmt: skip
    scores = values or {system: 1.0 - 0.1 * k for k, system in enumerate(ranking)}
    corpus = name.endswith("(corpus)")
    return MetricResult(
        column=ScoreColumn(name, **column),
        family=name.partition(" ")[0].lower(),
        statistics=CaptionersStatistics(
            sentence_column=name.partition(" ")[0], aggregate=CORPUS if corpus else MEAN, n=20,
            n_nan=n_nan, systems={s: Estimate(value=x, n=10) for s, x in scores.items()},
            ranking=tuple(ranking),
            neighbours=Comparisons(measure="score", alpha=0.05, pairs=tuple(pairs)),
        ),
    )  # fmt: skip


def human_scores(
    name: str, intervals: Mapping[str, tuple[float, float] | None]
) -> MetricResult[HumanStatistics]:
    """Rank-order ρ of systems against people with these intervals, and nothing else."""
    nothing = Estimate(value=None)
    estimates = {
        system: nothing if ends is None
        else Estimate(value=sum(ends) / 2, low=ends[0], high=ends[1])
        for system, ends in intervals.items()
    }  # fmt: skip
    return MetricResult(
        column=ScoreColumn(name),
        family=name.lower(),
        statistics=HumanStatistics(systems={
            system: AgainstHuman(
                n=10, mean=None, human_mean=None, rank_order_rho=rho, rank_order_rho_tie_mean=None,
                rank_order_rho_tie_std=None, rank_order_rho_bounds=(None, None),
                rank_order_rho_within=nothing, spearman_rho=nothing, kendall_tau_b=nothing,
                tie_fraction=None, pairwise_accuracy=nothing, pairwise_ties=None, auc=nothing,
                inversion_rate=nothing, variance=VarianceShares(image=None, level=None, rest=None),
            )
            for system, rho in estimates.items()
        }),
    )  # fmt: skip


def captioning_system(name: str, mean_rank: float | None = None, **counts: int) -> CaptioningSystem:
    """A system that has a caption of each of ten images, unless `counts` say otherwise."""
    fields = {"n": 10, "n_missing": 0, "n_other_images": 0, "n_empty": 0, **counts}
    return CaptioningSystem(name=name, mean_rank=mean_rank, file=f"{name}.json", **fields)


def agreement_of(metrics: Sequence[str], rows: Sequence[Sequence[Estimate]]) -> AgreementMatrix:
    """A symmetric matrix of τ-b."""
    return AgreementMatrix(metrics=tuple(metrics), tau_b=tuple(map(tuple, rows)))


def captioners_result(tau_b: Mapping[str, Sequence[float | None]]) -> CaptionersResult:
    """A result of `experiment=captioners` with these agreements of metrics, without systems."""
    matrix = AgreementMatrix(
        metrics=tuple(tau_b),
        tau_b=tuple(tuple(Estimate(value=x) for x in row) for row in tau_b.values()),
    )
    numbers = {
        name: CaptionersStatistics(
            sentence_column=name,
            aggregate=MEAN,
            n=0,
            n_nan=0,
            systems={},
            ranking=(),
            neighbours=Comparisons(measure="score", alpha=0.05, pairs=()),
        )
        for name in tau_b
    }
    return CaptionersResult(
        experiment="captioners",
        dataset="d",
        metrics=tuple(
            MetricResult(column=ScoreColumn(name), family=name, statistics=of)
            for name, of in numbers.items()
        ),
        n_images=0,
        references=ReferenceCounts(systems=(5,), against_human=(4,)),
        settings=CaptionersSettings(
            seed=0, replicates=10, permutations=10, confidence=0.95, tie_seeds=()
        ),
        systems=(),
        against_human=(),
        agreement=Agreement(systems=matrix, within_image=matrix, captions=matrix),
        disagreement=Disagreement(votes=(), n_images=0, mean=None),
        length=LengthAnalysis(edges=(), fewest=1, systems=(), metrics=()),
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
    *metrics: MetricResult[Measured],
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
