"""Forced choice: `python -m metaeval experiment=forced_choice dataset=pascal50s`.

People chose one of two captions of an image: how often does a metric choose as they did? See
docs/judgments.md.
"""

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence

from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.forced_choice.statistics import (
    ChoiceScores,
    pairs_to_score,
    score_choices,
    statistics,
    write_choices,
)
from metaeval.experiments.record import RunRecord, counted_noun, record_counts
from metaeval.metrics.base import Metric
from metaeval.options import OpenShare, checked
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import DatasetInfo

DESCRIBED = (
    "{title}: {n:,} pairs of captions, {labels} labels, with {references}, {draws}; {records}"
)


class ChoiceExperiment(MetricExperiment[ForcedChoice, ChoiceScores], ABC):
    """Both captions of every pair are scored against the image's references."""

    def to_score(self, data: ForcedChoice, record: RunRecord) -> Iterable[ToScore]:
        return pairs_to_score(data, record.config.seed)

    def score(
        self, data: ForcedChoice, metrics: Mapping[str, Metric], record: RunRecord
    ) -> ChoiceScores:
        return score_choices(data, list(metrics.values()), record.config, record.out)

    def passes(self, scores: ChoiceScores) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores.results]


def pairs_info(data: ForcedChoice, n_references: Sequence[int]) -> DatasetInfo:
    """The entry of a dataset of pairs in `run.json`."""
    return DatasetInfo(
        name=data.name,
        n_images=len(set(data.image)),
        n_references=tuple(n_references),
        sources=dict(data.sources),
        notes=tuple(data.notes),
        records=record_counts(data.records),
    )


class ForcedChoiceAgreement(
    ChoiceExperiment,
    name="forced_choice",
    stored=True,
    title="Metrics against people: one of two captions",
    question="Which metric chooses between two captions as people do?",
    data=ForcedChoice,
    needs=(
        "experiment=forced_choice needs pairs of captions of which people preferred one: "
        "dataset=pascal50s or audiocaps_eval; captions that people rated are for "
        "experiment=judgments"
    ),
):
    """How often every metric prefers the caption that people prefer.

    Parameters
    ----------
    alpha
        The level at which the printout and the report call a difference significant.
    """

    @checked
    def __init__(self, alpha: OpenShare = 0.05) -> None:
        self.alpha = float(alpha)

    def describe(self, data: ForcedChoice) -> str:
        *others, last = map(str, data.n_references)
        numbers = f"{', '.join(others)} and {last}" if others else last
        return DESCRIBED.format(
            title=data.title,
            n=len(data),
            labels=data.labels,
            references=f"{numbers} reference{'' if numbers == '1' else 's'}",
            draws=counted_noun(data.draws, "draw"),
            records=data.records,
        )

    def write_versions(self, data: ForcedChoice, record: RunRecord) -> None:
        write_choices(record.out, data)
        record.update(dataset=pairs_info(data, data.n_references))

    def statistics(
        self, data: ForcedChoice, scores: ChoiceScores, record: RunRecord
    ) -> MeasuredResult:
        return statistics(data, scores, record.config, self.alpha)
