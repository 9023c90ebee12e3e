"""Battles: `python -m metaeval experiment=arena dataset=battles dataset.file=FILE`.

Which of two captions of an image is better? How often does a metric prefer the winner, and does it
rank the systems that wrote the captions as the winners do? See docs/arena.md.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations, compress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig
from scipy.stats import rankdata

from metaeval.data.judgments.battles import Battles
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.experiments import (
    ConfigError,
    Estimate,
    Extra,
    Floats,
    InputError,
    Measure,
    MeasuredResult,
    RunRecord,
    fill_sentences,
)
from metaeval.experiments.choices import (
    ChoiceExperiment,
    ChoiceScores,
    PairSample,
    choice_items,
    choice_outcomes,
    counted_facts,
    credit,
    disagreements,
    equally_long,
    over_draws,
    restricted,
    word_counts,
)
from metaeval.experiments.judgments.agreement import system_correlations
from metaeval.experiments.measure import Measurements, Outcomes, level_of, measure, of_stats
from metaeval.experiments.scores import scored_columns
from metaeval.options import NotNegative, checked, unknown
from metaeval.stats.agreement.systems import rank_clusters
from metaeval.stats.preference.bradley_terry import BradleyTerry, bradley_terry
from metaeval.stats.preference.difference import preference_curve
from metaeval.stats.significance.comparison import compare

EQUAL = {
    "half": "A tie of the metric, or a battle without a winner, counts one half",
    "wrong": "A tie of the metric, or a battle without a winner, counts as wrong",
    "drop": "Battles without a winner are left out; a tie of the metric counts one half",
}
PEOPLE = "people"
TWO_RATINGS = (
    "how often two ratings of one battle agree; a metric, which may err less often than one "
    "rating, may be above"
)
NOTICED_REPLICATES = 500
STRENGTH_REPLICATES = 500  # of the Bradley-Terry fits, of which each column has one a replicate
FURTHER = "Further statistics"
NOTES = (
    "{tie}.",
    "Equal length: battles of captions that differ by at most {tolerance:g} words.",
    "Decided: battles that are not ties. Δ at 75 %: the difference of scores that wins 75 % of the "
    "battles; a dash: never.",
    "{bare:,} battles have no references.",
    "People: how often two ratings of one battle agree ({n_people:,} pairs of ratings).",
    "Systems are not ranked: {unranked}.",
)

SYSTEMS = "systems"  # the extra with the words of their captions
AGREEMENT = Measure("agreement", "Agreement", unit="share")
EQUAL_LENGTH = Measure("equal_length", "Equal length", unit="share")
DECIDED = Measure("decided", "Decided", unit="share")
TIES = Measure("ties", "Ties", unit="share", best="neither")
SPEARMAN = Measure("systems_spearman", "Systems ρ")
OF_SYSTEMS = (
    SPEARMAN,
    Measure("systems_kendall_tau_b", "Systems τ-b", shown=False, group=FURTHER),
    Measure("systems_accuracy", "Pairs of systems", False, "share", group=FURTHER),
)
NOTICED = Measure("noticed", "Δ at 75 %", shown=False, best="neither", group=FURTHER)


class BattleSample(NamedTuple):
    """Battles, who won each (1 = the first caption, 0 = the second, 0.5 = a tie, NaN = not known),
    their resampled images and categories, and the systems of each, where they are known."""

    battles: ForcedChoice
    winner: Floats
    sample: PairSample
    stats: DictConfig
    systems: Sequence[tuple[str, str]] = ()

    def strengths(self, winner: Floats, *, at_equal_length: bool = False) -> BradleyTerry:
        """Strengths of systems by these winners (NaN = left out). Raises InputError where systems
        are not known, or for parts that no battle connects."""
        if not self.systems:
            raise InputError("the systems of the battles are not known")
        first, second = (word_counts(side) for side in (self.battles.first, self.battles.second))
        return bradley_terry(
            [a for a, _ in self.systems], [b for _, b in self.systems], winner, self.battles.image,
            length_difference=first - second if at_equal_length else None,
            replicates=min(self.stats.replicates, STRENGTH_REPLICATES),
            confidence=self.stats.confidence, seed=self.stats.seed,
        )  # fmt: skip


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
        """Agreement of every metric with the winners, rankings of systems, tests of metrics."""
        stats, by = record.config.stats, self.winner
        gaps = {name: over_draws(by_n[data.n_references[0]]) for name, by_n in scores.gaps.items()}
        sample = PairSample.of(choice_items(data), data.category, stats)
        systems = getattr(data, "systems", ())
        arena = BattleSample(data, winners(data, gaps, by), sample, stats, systems)
        columns = [column for column, _ in scored_columns(scores.metrics) if column.name != by]
        by_draw = {c.name: scores.gaps[c.name] for c in columns}
        tested = _outcomes(arena, by_draw, self.length_tolerance)
        declared = [each.measure for each in tested]
        measured = measure(tested, columns, stats.confidence)
        ranking, fit, unranked = rankings(arena)
        strengths = [
            {"metric": column.name, "system": system, "strength": strength}
            for column in columns
            for system, strength in _add_further(arena, column.name, gaps, fit, measured).items()
        ]
        people = _battle_agreement(data) if by == PEOPLE else None
        return measured.result(
            scores.metrics,
            left_out=[by],
            experiment="arena",
            dataset=data.name,
            title=data.title,
            facts=_facts(arena, by),
            settings={
                "strength_replicates": min(stats.replicates, STRENGTH_REPLICATES),
                **of_stats(stats),
                "ties": data.ties,
                "winner": by,
                "length_tolerance": self.length_tolerance,
            },
            declared=(*declared, TIES, *(OF_SYSTEMS if fit else ()), NOTICED),
            people={AGREEMENT.key: people} if people else {},
            people_note=TWO_RATINGS,
            extras=(
                *ranking,
                Extra.of("strengths", "Strengths of systems by metric", strengths, kind="data"),
                disagreements(data, columns, gaps, 2 * arena.winner - 1),
            ),
            notes=tuple(
                fill_sentences(
                    NOTES,
                    tie=EQUAL[data.ties],
                    unranked=unranked,
                    tolerance=self.length_tolerance if EQUAL_LENGTH in declared else None,
                    bare=sum(not references for references in data.references) or None,
                    n_people=people and people.n,
                )
            ),
        )


def _facts(arena: BattleSample, winner_by: str) -> dict[str, Any]:
    """The data in a few facts."""
    battles, items, known = arena.battles, arena.sample.items, ~np.isnan(arena.winner)
    systems = set(chain.from_iterable(compress(arena.systems, known)))
    raters = {r for r in getattr(battles, "raters", ()) if r is not None}
    return {
        **counted_facts("Battles", items, known),
        "Clips" if battles.unit == "clip" else "Images": len(set(items.image[known].tolist())),
        **({"Systems": len(systems)} if systems else {}),
        **({"Raters": len(raters)} if raters else {}),
        "Without a winner": int((arena.winner == 0.5).sum()),
        "Winner by": winner_by,
    }


def _outcomes(
    arena: BattleSample, gaps: Mapping[str, Mapping[int, Floats]], tolerance: float
) -> list[Outcomes]:
    """What metrics are compared by: all battles, those of equal length if they are of several
    images, the decided ones, and each category."""
    battles, sample, preferred = arena.battles, arena.sample, 2 * arena.winner - 1
    by_draw = {name: by_n[battles.n_references[0]] for name, by_n in gaps.items()}
    outcomes = {
        name: over_draws(choice_outcomes(gap, preferred, battles.ties))
        for name, gap in by_draw.items()
    }
    decided = {name: choice_outcomes(over_draws(gap), preferred) for name, gap in by_draw.items()}
    equal = equally_long(battles.first, battles.second, tolerance)
    several = len(set(sample.items.image[equal].tolist())) > 1  # one image has no interval
    every, best = sample.mean(), choice_outcomes(preferred, preferred, battles.ties)
    return [
        Outcomes(AGREEMENT, outcomes, every, family="battles", ceiling=best),
        *([Outcomes(EQUAL_LENGTH, restricted(equal, outcomes), every)] if several else []),
        Outcomes(DECIDED, restricted(preferred != 0, decided), every),
        *(
            Outcomes(
                Measure(f"agreement_{name}", name, unit="share"),
                outcomes,
                sample.mean(name),
                family="battles",
                ceiling=best,
            )
            for name in sample.categories
        ),
    ]


def _add_further(
    arena: BattleSample,
    name: str,
    gaps: Mapping[str, Floats],
    fit: BradleyTerry | None,
    measured: Measurements,
) -> dict[str, float]:
    """Add a metric's numbers that are not tested: ties, the score difference that wins 75 % of the
    battles by the logistic curve, and how it ranks the systems; its strengths of these."""
    gap, known = gaps[name], ~np.isnan(arena.winner)
    scored = known & ~np.isnan(gap)
    curve = preference_curve(
        gap,
        arena.winner,
        arena.sample.items.image,
        counts=arena.sample.counts[:NOTICED_REPLICATES].astype(np.int64),
        points=2,
        confidence=arena.stats.confidence,
    )
    values: dict[str, Estimate] = {}
    strengths: dict[str, float] = {}
    with suppress(InputError):
        values, strengths = rank_agreement(arena, np.where(known, credit(gap), np.nan), fit)
    measured.values[name].update(
        {
            TIES.key: Estimate(value=(gap[scored] == 0).mean() if scored.any() else None),
            NOTICED.key: Estimate.of(curve.noticed),
            **values,
        }
    )
    return strengths


def winners(battles: ForcedChoice, gaps: Mapping[str, Floats], by: str) -> Floats:
    """[n] Who won, by people or by the column `by`. Raises ConfigError without a winner."""
    if by not in (PEOPLE, *gaps):
        raise unknown("task.winner", "column", by, [PEOPLE, *gaps])
    winner = getattr(battles, "winner", None) if by == PEOPLE else credit(gaps[by])
    if winner is None:
        winner = credit((battles.votes[:, 0] - battles.votes[:, 1]).astype(np.float64))
    if by == PEOPLE and np.isnan(winner).all():
        raise ConfigError(
            "no battle has a winner; task.winner=COLUMN takes a judge's or a metric's preferences"
        )
    return winner


def _battle_agreement(battles: ForcedChoice) -> Estimate | None:
    """Agreement of two ratings of one battle, over all `n` pairs of them; from the records of a
    table, or from the votes of a pair. A tie against a winner counts one half."""
    of_battles = [[1 - abs(a - b) for a, b in combinations(votes, 2)] for votes in _votes(battles)]
    n = sum(map(len, of_battles))
    return Estimate(value=sum(map(sum, of_battles)) / n, n=n) if n else None


def _votes(battles: ForcedChoice) -> list[list[float]]:
    """Of each battle the ratings of one of its captions, from 0 to 1: one a rater, the mean of the
    rater's records; a record of an unknown rater is of a rater of its own."""
    if not isinstance(battles, Battles) or battles.winner is None:
        return [[1.0] * a + [0.0] * b for a, b in battles.votes.tolist()]
    in_order = np.array([a <= b for a, b in zip(battles.first, battles.second, strict=True)])
    records = pd.DataFrame(
        {
            "battle": choice_items(battles).counted,
            "rater": [n if rater is None else rater for n, rater in enumerate(battles.raters)],
            "rating": np.where(in_order, battles.winner, 1 - battles.winner),
        }
    )
    ratings = records.dropna().groupby(["battle", "rater"], sort=False)["rating"].mean()
    return [of_battle.tolist() for _, of_battle in ratings.groupby(level="battle", sort=False)]


def rankings(arena: BattleSample) -> tuple[list[Extra], BradleyTerry | None, str]:
    """The Bradley-Terry strengths of systems by the winners, and their fit, or why there is none.

    A system opens the next rank where it is significantly weaker than any of the current one.
    Strengths are log-odds of winning, mean 0; at equal length the words' difference is a covariate.
    """
    battles, winner = arena.battles, arena.winner
    try:
        plain, equal = (arena.strengths(winner, at_equal_length=x) for x in (False, True))
    except InputError as error:
        return [], None, error.problem
    tested = compare(plain.tests(), "pairs of systems", alpha=level_of(arena.stats.confidence))
    rank = rank_clusters(plain.systems, [(c.a, c.b) for c in tested if c.significant])
    system = np.array([name for side in zip(*arena.systems, strict=True) for name in side])
    won = np.concatenate([winner, 1 - winner])
    words = word_counts([*battles.first, *battles.second])
    strength, at_equal_length = (
        {
            name: Estimate(value=fit.strength[k], low=fit.low[k], high=fit.high[k])
            for k, name in enumerate(fit.systems)
        }
        for fit in (plain, equal)
    )
    records = [
        {
            "system": name,
            "rank": rank[name],
            "strength": strength[name],
            "at_equal_length": at_equal_length[name],
            **{
                result: int((won[system == name] == outcome).sum())
                for result, outcome in (("won", 1), ("tied", 0.5), ("lost", 0))
            },
            "words": float(words[(system == name) & ~np.isnan(won)].mean()),
        }
        for name in plain.systems
    ]
    assert equal.length is not None
    order = [equal.systems.index(name) for name in plain.systems]
    rho = _spearman(plain.strength[None], equal.strength[order][None])
    facts = {
        "Log-odds of winning per word more": Estimate.of(equal.length),
        "Probability that two equal systems tie": Estimate(value=plain.tie / (2 + plain.tie)),
        "ρ of the strengths with those at equal length": Estimate(value=rho[0]),
    }
    model = ({"fact": name, "value": estimate} for name, estimate in facts.items())
    differences = (
        {
            "stronger": each.a,
            "weaker": each.b,
            "difference": Estimate(value=each.difference, low=each.low, high=each.high),
            "p after Holm": each.p_adjusted,
        }
        for each in tested
    )
    return [
        Extra.of(SYSTEMS, "Systems by the winners", records),
        Extra.of("ranking", "The model of the systems", model, folded=True),
        Extra.of("system_differences", "Which systems differ", differences, folded=True),
    ], plain, ""  # fmt: skip


def rank_agreement(
    arena: BattleSample, preferred: Floats, fit: BradleyTerry | None
) -> tuple[dict[str, Estimate], dict[str, float]]:
    """A metric's ranking by the caption that it prefers [n] (1, 0.5, 0, NaN) against the winners'
    `fit`.

    By measure, and the strength of each system. Both are fitted on the same resampled images.
    Empty of two systems, or without a fit. Raises InputError where the battles that the metric
    could score do not connect the systems.
    """
    made = arena.strengths(preferred)
    if fit is None or len(made.systems) < 3:
        return {}, {}
    theirs = [fit.systems.index(name) for name in made.systems]
    point = made.strength[None], fit.strength[theirs][None]
    drawn = made.replicates, fit.replicates[:, theirs]
    value, replicates = (
        (_spearman(*given), of.kendall_tau_b, of.accuracy)
        for given in (point, drawn)
        for of in [system_correlations(*given)]
    )
    estimates = {
        measure.key: Estimate.resampled(
            float(value[k][0]), replicates[k], arena.stats.confidence, made.n_images, made.n_battles
        )
        for k, measure in enumerate(OF_SYSTEMS)
    }
    return estimates, dict(zip(made.systems, made.strength.tolist(), strict=True))


def _spearman(a: Floats, b: Floats) -> Floats:
    """ρ of each row: [r] from two [r, systems]."""
    return system_correlations(rankdata(a, axis=1), rankdata(b, axis=1)).pearson
