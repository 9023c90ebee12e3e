"""Small results, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.results.base import Estimate
from metaeval.results.captioners import (
    MEAN,
    Agreement,
    AgreementMatrix,
    CaptionersResult,
    CaptionersSettings,
    CaptionersStatistics,
    Disagreement,
    LengthAnalysis,
    ReferenceCounts,
)
from metaeval.results.comparison import Comparisons
from metaeval.results.forced_choice import (
    ChoiceAgreement,
    ForcedChoiceFacts,
    ForcedChoiceResult,
    ForcedChoiceSettings,
    ForcedChoiceStatistics,
    PublishedChoice,
)
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
from metaeval.results.metric import MetricResult
from metaeval.runs.records import ScoreColumn


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
            n_images=0,
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


def choice_result(
    accuracies: Mapping[str, Sequence[ChoiceAgreement]],
    groups: Sequence[str],
    published: Mapping[str, Mapping[str, float]],
    people: Mapping[str, float] | None = None,
) -> ForcedChoiceResult:
    """A run of forced choice, without tests."""
    return ForcedChoiceResult(
        dataset="pascal50s",
        title="PASCAL-50S",
        settings=ForcedChoiceSettings(
            replicates=0, confidence=0.95, seed=0, permutations=1, alpha=0.05
        ),
        facts=ForcedChoiceFacts(pairs=0, images=0, undecided=0),
        labels="direct",
        ties="half",
        label_agreement=None,
        people=people,
        published=PublishedChoice(source="A paper", n_references=5, values=published),
        draws=1,
        groups=tuple(groups),
        n_references=(5,),
        metrics=tuple(
            MetricResult[ForcedChoiceStatistics](
                column=ScoreColumn(name),
                family=name.lower(),
                statistics=ForcedChoiceStatistics(choice=tuple(choice)),
            )
            for name, choice in accuracies.items()
        ),
        controls={},
        differences={},
    )


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
