"""Battles: `python -m metaeval experiment=arena dataset=battles dataset.file=FILE`.

Which of two captions of an image is better? How often does a metric prefer the winner, and does it
rank the systems that wrote the captions as the winners do? See docs/arena.md.
"""

import numpy as np
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.data.judgments.battles import Battles
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.errors import ConfigError
from metaeval.experiments.arena.statistics import ArenaSettings, statistics, winners
from metaeval.experiments.forced_choice.statistics import (
    ChoiceScores,
    choice_items,
    counted_facts,
    pair_columns,
)
from metaeval.experiments.forced_choice.task import ChoiceExperiment, pairs_info
from metaeval.experiments.record import RunRecord
from metaeval.options import NotNegative, OpenShare, checked
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files

STRENGTH_REPLICATES = 500  # of the Bradley-Terry fits, of which each column has one a replicate


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
    alpha
        The level at which the printout and the report call a difference significant.
    length_tolerance
        Captions whose lengths differ by at most this number of words are equally long.
    """

    @checked
    def __init__(
        self,
        winner: str = "people",
        alpha: OpenShare = 0.05,
        length_tolerance: NotNegative = 1,
    ) -> None:
        self.winner, self.alpha = winner, float(alpha)
        self.length_tolerance = float(length_tolerance)

    def load(self, config: DictConfig) -> ForcedChoice:
        battles: ForcedChoice = super().load(config)
        if len(battles.n_references) > 1:
            raise ConfigError(
                "experiment=arena needs one number of references; write dataset.n_references=5"
            )
        if self.winner == "people":
            winners(battles, {}, self.winner)  # refuses battles without a judgment
        return battles

    def describe(self, data: ForcedChoice) -> str:
        systems = data.systems if isinstance(data, Battles) else ()
        n = len({name for pair in systems for name in pair})
        facts = counted_facts("battles", choice_items(data), np.ones(len(data), np.bool_))
        counted = [f"{count:,} {what.lower()}" for what, count in facts.items()]
        between = f" between {n} systems" if n else ""
        return (
            f"{data.title}: {', '.join(counted)}{between}, {len(set(data.image)):,} "
            f"{data.unit}s; {data.records}"
        )

    def write_versions(self, data: ForcedChoice, record: RunRecord) -> None:
        columns = pair_columns(data)
        if isinstance(data, Battles):
            columns["winner"] = pa.array(data.winner, pa.float64())
            columns["rater"] = pa.array(data.raters, pa.string())
            if data.systems:
                for side, name in enumerate(("first_system", "second_system")):
                    columns[name] = pa.array([pair[side] for pair in data.systems], pa.string())
        files.write_arrow(record.out / files.JUDGMENTS, pa.table(columns))
        counts = sorted({len(r) for r in data.references})
        record.update(dataset=pairs_info(data, counts))

    def statistics(
        self, data: ForcedChoice, scores: ChoiceScores, record: RunRecord
    ) -> MeasuredResult:
        stats = record.config.stats
        settings = ArenaSettings(
            replicates=stats.replicates,
            strength_replicates=min(stats.replicates, STRENGTH_REPLICATES),
            confidence=stats.confidence,
            seed=stats.seed,
            alpha=self.alpha,
            ties=data.ties,
            winner=self.winner,
            length_tolerance=self.length_tolerance,
        )
        return statistics(data, scores, record.config, settings)
