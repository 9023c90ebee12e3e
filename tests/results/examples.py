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
from metaeval.results.judgments import (
    CalibratedAccuracy,
    CorrelationEstimates,
    HumanAgreement,
    JudgmentFacts,
    JudgmentSettings,
    JudgmentsResult,
    JudgmentStatistics,
    ProtocolInfo,
    PublishedAgreement,
)
from metaeval.results.measured import Measured, MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.results.run import CorruptionInfo, Measure
from metaeval.results.sensitivity import (
    ChangedCaption,
    HardPositives,
    RewriteCounts,
    SensitivityCell,
    SensitivityResult,
    SensitivitySettings,
    SensitivityStatistics,
    Verdict,
)
from metaeval.runs.records import ScoreColumn
from metaeval.stats.significance.comparison import Shows


def correlation_estimates(n: int, value: float | None) -> dict[str, Any]:
    """The fields of `CorrelationEstimates`, all of one value."""
    names = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
    return {"n": n, **{name: Estimate(value=value) for name in names}}


def human_agreement(
    n: int, value: float | None, views: Mapping[str, tuple[int, float | None]] | None = None
) -> HumanAgreement:
    """An agreement of which every correlation, and those of each part, have one value."""
    return HumanAgreement(
        **correlation_estimates(n, value),
        accuracy=CalibratedAccuracy(
            accuracy=Estimate(value=None), epsilon=None, uncalibrated=None, tied=None, n_pairs=0,
            total_pairs=0, n_images=0,
        ),
        views={
            name: CorrelationEstimates(**correlation_estimates(*part))
            for name, part in (views or {}).items()
        },
    )  # fmt: skip


def ratings_metric(name: str, n: int, **human: HumanAgreement) -> MetricResult[JudgmentStatistics]:
    """A metric that ran on ratings."""
    return MetricResult[JudgmentStatistics](
        column=ScoreColumn(name),
        family=name.lower(),
        statistics=JudgmentStatistics(
            n=n, n_nan=0, n_nan_without_references=0, ties=0.0, human=human
        ),
    )


def ratings_result(
    metrics: Sequence[MetricResult[JudgmentStatistics]],
    dimensions: Sequence[str] = (),
    judged: int = 0,
    views: Mapping[str, int] | None = None,
    published: Mapping[str, Mapping[str, float]] | None = None,
) -> JudgmentsResult:
    """A run on ratings, without tests."""
    return JudgmentsResult(
        dataset="table",
        title="Table",
        settings=JudgmentSettings(
            replicates=0, confidence=0.95, seed=0, permutations=1, swap="both", alpha=0.05
        ),
        protocol=ProtocolInfo(
            name="plain", own_captions="keep", ratings="mean", documents="image",
            statistic="kendall_tau_c",
        ),
        facts=JudgmentFacts(
            judged_in_files=judged, images_in_files=judged, own_captions=0, judged=judged,
            images=judged, without_references=0, documents=judged, rows={},
        ),
        dimensions=tuple(dimensions),
        published=PublishedAgreement(source="A paper", digits=1, values=published or {}, views={}),
        metrics=tuple(metrics),
        controls={},
        systems=(),
        views=views or {},
        people={},
        differences={},
        accuracy_controls={},
    )  # fmt: skip


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


def auc_cell(
    value: float | None, verdict: Verdict = "unsure", n: int = 50, width: float = 0.05
) -> SensitivityCell:
    """A metric on one set of changed captions; the interval is ± `width`."""
    auc = interval_around(value, width, n)
    nothing = Estimate(value=None)
    example = ChangedCaption(image_id=1, human="a dog", changed="a cat", scores=(1.0, 2.0))
    return SensitivityCell(
        n=0 if value is None else n, auc=auc, detected=auc, tied=0.0, p=None, p_adjusted=None,
        cost=nothing, effect=nothing, share_of_another=None, beyond_fluency=None, verdict=verdict,
        examples=(example,),
    )  # fmt: skip


def interval_around(value: float | None, width: float = 0.05, n: int | None = None) -> Estimate:
    """An estimate with the interval ± `width`."""
    if value is None:
        return Estimate(value=None, n=n)
    return Estimate(value=value, low=value - width, high=value + width, n=n)


def changed_set(name: str, expected: str = "lower", **fields: Any) -> CorruptionInfo:
    """A set of changed captions, made in all of 50 images."""
    defaults: dict[str, Any] = {
        "name": name, "kind": "objects", "severity": "major", "n": 50, "n_applied": 50,
        "mean_share_changed": 0.1, "median_edits": 1, "reasons": {},
    }  # fmt: skip
    return CorruptionInfo(set=name, expected=expected, **(defaults | fields))


def sensitivity_metric(
    name: str,
    profile: Mapping[str, SensitivityCell],
    severity_order: Estimate | None = None,
    rewrites: Estimate | None = None,
    family: str | None = None,
    **column: Any,
) -> MetricResult[SensitivityStatistics]:
    """A metric with these cells; means are undefined."""
    nothing = Estimate(value=None)
    return MetricResult(
        column=ScoreColumn(name, **column),
        family=family or name.lower(),
        statistics=SensitivityStatistics(
            n=50, n_nan=0, harm=nothing, harmless=nothing, kinds={"objects": nothing},
            severity={"major": nothing}, severity_order=severity_order or nothing,
            profile=profile, monotone={}, invariance={},
            hard_positives=HardPositives(rewrites=rewrites or nothing, no_ops=nothing, sets={}),
        ),
    )  # fmt: skip


def sensitivity_result(
    sets: Sequence[CorruptionInfo], *metrics: MetricResult[SensitivityStatistics], **fields: Any
) -> SensitivityResult:
    """What these metrics see of these sets."""
    defaults: dict[str, Any] = {
        "harmless": RewriteCounts(rewrites=3, no_ops=2, references=1), "leaves": (), "tree": (),
        "controls": {}, "differences": comparisons(), "together": None,
    }  # fmt: skip
    return SensitivityResult(
        experiment="sensitivity", dataset="d", n_images=50, sets=tuple(sets), metrics=metrics,
        settings=SensitivitySettings(seed=0, replicates=10, confidence=0.95),
        order=tuple(m.name for m in metrics if m.ok), set_order=tuple(s.set for s in sets),
        **(defaults | fields),
    )  # fmt: skip
