"""Forced choice: `python -m metaeval experiment=forced_choice dataset=pascal50s`.

People chose one of two captions of an image: how often does a metric choose as they did? See
docs/judgments.md.
"""

from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.experiments import MeasuredResult, RunRecord
from metaeval.experiments.choices import ChoiceExperiment, ChoiceScores
from metaeval.experiments.forced_choice.statistics import statistics
from metaeval.experiments.record import counted_noun

DESCRIBED = (
    "{title}: {n:,} pairs of captions, {labels} labels, with {references}, {draws}; {records}"
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
    """How often every metric prefers the caption that people prefer."""

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

    def statistics(
        self, data: ForcedChoice, scores: ChoiceScores, record: RunRecord
    ) -> MeasuredResult:
        return statistics(data, scores, record.config)
