"""Battles: `python -m metaeval experiment=arena dataset=battles dataset.file=FILE`.

Which of two captions of an image is better? How often does a metric prefer the winner, and does it
rank the systems that wrote the captions as the winners do? See docs/arena.md.
"""

import numpy as np
from omegaconf import DictConfig

from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.experiments import ConfigError, MeasuredResult, RunRecord
from metaeval.experiments.arena.statistics import PEOPLE, statistics, winners
from metaeval.experiments.choices import ChoiceExperiment, ChoiceScores, choice_items, counted_facts
from metaeval.options import NotNegative, checked


class Arena(
    ChoiceExperiment,
    name="arena",
    stored=True,
    title="Metrics as judges of battles",
    question="Which metric prefers the winner, and ranks the systems as the winners do?",
    data=ForcedChoice,
    needs=(
        "experiment=arena needs battles: dataset=battles, caparena, captioner_battles, pascal50s "
        "or audiocaps_eval"
    ),
):
    """How often every metric prefers the winner of a battle, and how it ranks the systems.

    Parameters
    ----------
    winner
        "people", or the column whose preferences replace people's.
    length_tolerance
        Captions whose lengths differ by at most this number of words are equally long.
    """

    @checked
    def __init__(
        self,
        winner: str = "people",
        length_tolerance: NotNegative = 1,
    ) -> None:
        self.winner, self.length_tolerance = winner, float(length_tolerance)

    def load(self, config: DictConfig) -> ForcedChoice:
        battles: ForcedChoice = super().load(config)
        if len(battles.n_references) > 1:
            raise ConfigError(
                "experiment=arena needs one number of references; write dataset.n_references=5"
            )
        if self.winner == PEOPLE:
            winners(battles, {}, PEOPLE)  # refuses battles without a judgment
        return battles

    def describe(self, data: ForcedChoice) -> str:
        n = len({name for pair in getattr(data, "systems", ()) for name in pair})
        facts = counted_facts("battles", choice_items(data), np.ones(len(data), np.bool_))
        counted = [f"{count:,} {what.lower()}" for what, count in facts.items()]
        between = f" between {n} systems" if n else ""
        return (
            f"{data.title}: {', '.join(counted)}{between}, {len(set(data.image)):,} "
            f"{data.unit}s; {data.records}"
        )

    def statistics(
        self, data: ForcedChoice, scores: ChoiceScores, record: RunRecord
    ) -> MeasuredResult:
        return statistics(
            data,
            scores,
            record.config.stats,
            by=self.winner,
            tolerance=self.length_tolerance,
        )
