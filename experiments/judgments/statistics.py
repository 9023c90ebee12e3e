"""How well metrics agree with people: the result of `experiment=judgments`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from omegaconf import DictConfig

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.fitted import FAMILY, column_of, signature
from metaeval.experiments.judgments.agreement import (
    agreement_of,
    on_common_rows,
    pair_accuracy,
    system_accuracy,
)
from metaeval.experiments.judgments.differences import (
    Accuracy,
    accuracy_against_controls,
    against_controls,
    differences,
)
from metaeval.experiments.judgments.fitted import FittedResult, fitted_results
from metaeval.experiments.judgments.further import further_agreement
from metaeval.experiments.judgments.people import people_agreement
from metaeval.experiments.judgments.published import published
from metaeval.experiments.judgments.sample import (
    Columns,
    Sample,
    quoted_statistic,
    row_counts,
    sample_of,
    varies,
)
from metaeval.progress import progress_bar
from metaeval.results.judgments import (
    PAIRS,
    SYSTEMS,
    HumanAgreement,
    JudgmentFacts,
    JudgmentSettings,
    JudgmentsResult,
    JudgmentStatistics,
    ProtocolInfo,
)
from metaeval.results.metric import MetricResult
from metaeval.scoring import MetricScores
from metaeval.stats.correlation.correlations import Correlations
from metaeval.stats.ordering.ties import ties
from metaeval.stats.resampling.items import Floats


def statistics(
    judged: Judgments,
    scored: Sequence[MetricScores],
    config: DictConfig,
    settings: JudgmentSettings,
) -> JudgmentsResult:
    """Agreement of every metric with people, and the tests between metrics."""
    sample = sample_of(judged, settings)
    columns = Columns.of(scored)
    statistic, confidence = quoted_statistic(judged), settings.confidence
    shown = {c.name for c in (*columns.ranked, *columns.controls)}
    agreements: dict[str, dict[str, HumanAgreement]] = {}
    replicates: dict[tuple[str, str], Correlations] = {}
    with progress_bar(total=len(columns.all) * len(sample.ratings), desc="intervals") as bar:
        for column in columns.all:
            agreements[column.name] = {}
            for name, given in sample.ratings.items():
                agreement, resampled = agreement_of(column, given, sample, statistic, confidence)
                if column.name in shown:
                    further = further_agreement(column, given, sample, name, confidence)
                    agreement = agreement.model_copy(update={"further": further})
                agreements[column.name][name] = agreement
                replicates[name, column.name] = resampled
                bar.update()
    fitted = fitted_results(sample, statistic, settings) if settings.fitted else []
    against = {}
    for name in sample.ratings:
        extra = [f.columns[name] for f in fitted if varies(f.columns[name])]
        against[name] = columns._replace(controls=[*columns.controls, *extra])
        replicates |= {(name, f.name): f.replicates[name] for f in fitted}
    for name, given in sample.ratings.items():
        for column_name, common in on_common_rows(columns.ranked, given, statistic).items():
            of_column = agreements[column_name]
            of_column[name] = of_column[name].model_copy(update={"common": common})
    accuracies: dict[str, Accuracy] = {PAIRS: pair_accuracy}
    if len(sample.systems) > 1:
        accuracies[SYSTEMS] = system_accuracy
    return JudgmentsResult(
        dataset=judged.name,
        title=judged.title,
        settings=settings,
        protocol=ProtocolInfo.model_validate(judged.protocol.as_dict()),
        facts=JudgmentFacts.model_validate(
            {**judged.facts, "rows": row_counts(judged), **_mean_words(judged)}
        ),
        dimensions=judged.dimensions,
        published=published(
            judged, config.dataset.get("limit"), bool(config.dataset.get("human_reference"))
        ),
        metrics=tuple(
            s.result(
                c,
                None
                if s.scores is None
                else _of_column(s.scores[:, c], sample, agreements[column.name]),
            )
            for s in scored
            for c, column in enumerate(s.columns)
        )
        + tuple(_of_fitted(control, sample) for control in fitted),
        controls={
            name: against_controls(
                against[name], given, sample.counts,
                {of: values for (dimension, of), values in replicates.items() if dimension == name},
                statistic, settings,
            )
            for name, given in sample.ratings.items()
        },
        accuracy_controls={
            of: {
                name: accuracy_against_controls(
                    against[name], given, sample, accuracy, f"accuracy on {of}", settings
                )
                for name, given in sample.ratings.items()
            }
            for of, accuracy in accuracies.items()
        },
        systems=sample.systems,
        views={view.name: int(view.captions.sum()) for view in sample.views},
        people={name: people_agreement(judged, name) for name in judged.dimensions},
        differences={
            name: differences(
                columns.ranked, given, sample,
                {c.name: replicates[name, c.name] for c in columns.ranked}, statistic, settings,
            )
            for name, given in sample.ratings.items()
        },
    )  # fmt: skip


def _mean_words(judged: Judgments) -> dict[str, float | None]:
    """The mean numbers of words of the captions and of their references."""
    candidates = [len(j.candidate.split()) for j in judged.judged]
    references = [len(text.split()) for j in judged.judged for text in j.references]
    return {
        "candidate_words": float(np.mean(candidates)) if candidates else None,
        "reference_words": float(np.mean(references)) if references else None,
    }


def _of_fitted(control: FittedResult, sample: Sample) -> MetricResult[JudgmentStatistics]:
    """A fitted control as a row like any other; its counts are those of the first dimension."""
    first = next(iter(control.columns.values()))
    return MetricResult[JudgmentStatistics](
        column=column_of(control.name),
        family=FAMILY,
        signature=signature(control.name),
        statistics=_of_column(first.scores, sample, control.human),
    )


def _of_column(
    scores: Floats, sample: Sample, human: Mapping[str, HumanAgreement]
) -> JudgmentStatistics:
    missing = np.isnan(scores)
    return JudgmentStatistics(
        n=int((~missing).sum()),
        n_nan=int(missing.sum()),
        n_nan_without_references=int((missing & sample.without_references).sum()),
        n_distinct=len(np.unique(scores[~missing])),
        ties=ties(scores).pairs,
        human=human,
    )
