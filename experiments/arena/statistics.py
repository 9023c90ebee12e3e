"""How often metrics prefer the winner of a battle: the result of `experiment=arena`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, compress
from typing import Any, NamedTuple

import numpy as np
from omegaconf import DictConfig
from scipy.stats import rankdata

from metaeval.data.judgments.battles import Battles
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.forced_choice.statistics import (
    ChoiceScores,
    choice_items,
    choice_outcomes,
    counted_facts,
    disagreements_with_people,
)
from metaeval.experiments.judgments.agreement import system_correlations
from metaeval.experiments.measure import Items, Mask, MeanOutcome, Outcomes, Units, measure
from metaeval.options import unknown
from metaeval.results.base import Estimate
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.stats.agreement.systems import rank_clusters
from metaeval.stats.preference.bradley_terry import BradleyTerry, bradley_terry
from metaeval.stats.preference.difference import preference_curve
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import TestedDifference, compare

EQUAL = {
    "half": "A tie of the metric, or a battle without a winner, counts one half",
    "wrong": "A tie of the metric, or a battle without a winner, counts as wrong",
    "drop": "Battles without a winner are left out; a tie of the metric counts one half",
}
ALL = "all battles"  # as a group
PEOPLE = "people"
TWO_RATINGS = (
    "how often two ratings of one battle agree; a metric, which may err less often than one "
    "rating, may be above"
)
NOTICED_REPLICATES = 500
FURTHER = "Further statistics"
NOTES = (
    "{tie}.",
    "Equal length: battles of captions that differ by at most {tolerance:g} words. Decided: "
    "battles that are not ties. Δ at 75 %: the difference of scores that wins 75 % of the battles; "
    "a dash: never.",
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

Systems = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ArenaSettings:
    """What the statistics depend on, besides the data.

    `winner` is "people", or the column whose preferences replace people's;
    `strength_replicates` are those of the Bradley-Terry fits.
    """

    replicates: int
    strength_replicates: int
    confidence: float
    seed: int
    alpha: float
    ties: str
    winner: str
    length_tolerance: float


class BattleArrays(NamedTuple):
    """Battles as arrays.

    Attributes
    ----------
    winner
        float64 [n]: 1 = the first caption, 0 = the second, 0.5 = a tie, NaN = not known.
    items, counts
        The battles, each vote an item; [replicates, images] the resampled images.
    groups
        Group → bool [n].
    """

    battles: ForcedChoice
    winner: Floats
    items: Items
    counts: Floats
    groups: Mapping[str, Mask]
    settings: ArenaSettings

    @property
    def image(self) -> Units:
        """[n] The number of each battle's image."""
        return self.items.image

    @property
    def systems(self) -> Systems:
        """The systems of each battle; empty where they are not known."""
        return self.battles.systems if isinstance(self.battles, Battles) else ()


def statistics(
    battles: ForcedChoice, scores: ChoiceScores, config: DictConfig, settings: ArenaSettings
) -> MeasuredResult:
    """Agreement of every metric with the winners, rankings of systems, tests between metrics."""
    gaps = {name: of_column[0] for name, of_column in scores.gaps.items()}
    winner = winners(battles, gaps, settings.winner)
    arena = _arena(battles, winner, config.stats, settings)
    labelled = [
        (scored, c, column)
        for scored in scores.results
        for c, column in enumerate(scored.columns)
        if column.name != settings.winner
    ]
    columns = [column for scored, _, column in labelled if scored.status == "ok"]
    names = [column.name for column in columns]
    averaged = {name: scores.outcomes[name][0] for name in names}
    tested = _tested(arena, {name: gaps[name] for name in names}, averaged)
    measured = measure(tested, columns, settings.confidence, settings.alpha)
    ranking, fit, unranked = _ranking(arena)
    further = {name: _further(arena, gaps[name], fit) for name in names}
    strengths = [
        {"metric": name, "system": system, "strength": strength}
        for name, (_, by_system) in further.items()
        for system, strength in by_system.items()
    ]
    for name, (values, _) in further.items():
        measured.values[name].update(values)
    people = _battle_agreement(battles) if settings.winner == PEOPLE else None
    return MeasuredResult(
        experiment="arena",
        dataset=battles.name,
        title=battles.title,
        facts=_facts(arena),
        settings=vars(settings),
        declared=_declared(tested, fit),
        metrics=tuple(scored.result(c, measured.of(column.name)) for scored, c, column in labelled),
        comparisons=measured.comparisons,
        controls=measured.controls,
        resampled=tuple(measured.resampled),
        people={} if people is None else {AGREEMENT.key: people},
        people_note=TWO_RATINGS,
        extras=(
            *ranking,
            Extra.of("strengths", "Strengths of systems by metric", strengths, kind="data"),
            disagreements_with_people(battles, scores, columns, np.nan_to_num(2 * winner - 1)),
        ),
        notes=tuple(
            fill_sentences(
                NOTES,
                tie=EQUAL[settings.ties],
                tolerance=settings.length_tolerance,
                bare=sum(not references for references in battles.references) or None,
                n_people=people and people.n,
                unranked=unranked,
            )
        ),
    )


def _declared(tested: Sequence[Outcomes], fit: BradleyTerry | None) -> tuple[Measure, ...]:
    of_systems = OF_SYSTEMS if fit is not None else ()
    return (*(each.measure for each in tested), TIES, *of_systems, NOTICED)


def _facts(arena: BattleArrays) -> dict[str, Any]:
    """The data in a few facts."""
    battles, winner = arena.battles, arena.winner
    known = ~np.isnan(winner)
    systems = set(chain.from_iterable(compress(arena.systems, known)))
    raters = {r for r in getattr(battles, "raters", ()) if r is not None}
    return {
        **counted_facts("Battles", arena.items, known),
        "Clips" if battles.unit == "clip" else "Images": len(set(arena.image[known].tolist())),
        **({"Systems": len(systems)} if systems else {}),
        **({"Raters": len(raters)} if raters else {}),
        "Without a winner": int((winner == 0.5).sum()),
        "Winner by": arena.settings.winner,
    }


def _tested(
    arena: BattleArrays, gaps: Mapping[str, Floats], averaged: Mapping[str, Floats]
) -> list[Outcomes]:
    """What metrics are compared by: all battles, those of equal length, the decided ones, and each
    category."""
    battles, settings = arena.battles, arena.settings
    outcomes = {name: _outcomes(arena, gap, averaged[name]) for name, gap in gaps.items()}
    decided = {name: _decided(arena, gap) for name, gap in gaps.items()}
    short = np.abs(word_counts(battles.first) - word_counts(battles.second))
    equal = np.asarray(short <= settings.length_tolerance)

    def over(mask: Mask) -> MeanOutcome:
        return MeanOutcome(arena.items, arena.counts, [mask])

    tested = [
        Outcomes(_of_group(group), outcomes, over(mask), family="battles")
        for group, mask in arena.groups.items()
    ]
    tested[1:1] = [
        Outcomes(EQUAL_LENGTH, outcomes, over(equal)),
        Outcomes(DECIDED, decided, over(np.asarray(arena.winner != 0.5))),
    ]
    return tested


def _further(
    arena: BattleArrays, gap: Floats, fit: BradleyTerry | None
) -> tuple[dict[str, Estimate], dict[str, float]]:
    """Numbers of a metric that are not tested, by measure, and its strengths of systems."""
    known = ~np.isnan(arena.winner)
    scored = known & ~np.isnan(gap)
    share = float((gap[scored] == 0).mean()) if scored.any() else float("nan")
    values = {TIES.key: Estimate(value=share), NOTICED.key: _noticed(arena, gap)}
    if fit is None:
        return values, {}
    preferred = np.where(known, preferences(gap), np.nan)
    of_systems, by_system = rank_agreement(arena, preferred, fit)
    return values | of_systems, by_system


def _of_group(group: str) -> Measure:
    """The agreement over all battles, or in a category."""
    return AGREEMENT if group == ALL else Measure(f"agreement_{group}", group, unit="share")


def winners(battles: ForcedChoice, gaps: Mapping[str, Floats], by: str) -> Floats:
    """[n] Who won, by people or by the column `by`. Raises ConfigError without a winner."""
    if by != PEOPLE:
        if by not in gaps:
            raise unknown("task.winner", "column", by, [PEOPLE, *gaps])
        return preferences(gaps[by])
    if isinstance(battles, Battles) and battles.winner is not None:
        winner = battles.winner
    else:
        winner = preferences((battles.votes[:, 0] - battles.votes[:, 1]).astype(np.float64))
    if np.isnan(winner).all():
        raise ConfigError(
            "no battle has a winner; task.winner=COLUMN takes a judge's or a metric's preferences"
        )
    return winner


def preferences(gap: Floats) -> Floats:
    """[n] 1 where the first caption has the higher score, 0 where the second, 0.5 for a tie."""
    return np.where(np.isnan(gap), np.nan, (np.sign(gap) + 1) / 2)


def _arena(
    battles: ForcedChoice, winner: Floats, stats: DictConfig, settings: ArenaSettings
) -> BattleArrays:
    items = choice_items(battles)
    category = np.array(battles.category)
    names = list(dict.fromkeys(battles.category))
    groups = {ALL: np.ones(len(battles), dtype=np.bool_)}
    if len(names) > 1:
        # a category can have the name of all battles
        groups |= {
            f"{name} (category)" if name == ALL else name: category == name for name in names
        }
    return BattleArrays(battles, winner, items, items.resamples(stats), groups, settings)


def _outcomes(arena: BattleArrays, gap: Floats, averaged: Floats) -> Floats:
    """[n] 1, 1/2, 0: does the metric prefer the winner? NaN where either is not known.

    With people's winners, the average over the draws of references where there are several.
    """
    if arena.settings.winner == PEOPLE and arena.battles.draws > 1:
        return np.where(np.isnan(arena.winner), np.nan, averaged)
    people = np.sign(2 * np.nan_to_num(arena.winner, nan=0.5) - 1)
    outcome = choice_outcomes(gap, people, arena.settings.ties)
    return np.where(np.isnan(arena.winner), np.nan, outcome)


def _decided(arena: BattleArrays, gap: Floats) -> Floats:
    """[n] As `_outcomes`, where a tie of the metric counts one half."""
    half = preferences(gap)
    right = np.where(arena.winner == 1, half, 1 - half)
    return np.where(np.isnan(arena.winner), np.nan, right)


def _noticed(arena: BattleArrays, gap: Floats) -> Estimate:
    """The score difference that wins 75 % of the battles, by the logistic curve."""
    curve = preference_curve(
        gap,
        arena.winner,
        arena.image,
        counts=arena.counts[:NOTICED_REPLICATES].astype(np.int64),
        points=2,
        confidence=arena.settings.confidence,
    )
    return Estimate.of(curve.noticed)


def _ranking(arena: BattleArrays) -> tuple[list[Extra], BradleyTerry | None, str | None]:
    """The ranking of systems by the winners and its fit, or why there is none."""
    if not arena.systems:
        return [], None, "the systems of the battles are not known"
    try:
        return *ranking_of(arena), None
    except InputError as error:
        return [], None, error.problem


def _battle_agreement(battles: ForcedChoice) -> Estimate | None:
    """Agreement of two ratings of one battle, over all `n` pairs of them; from the records of a
    table, or from the votes of a pair. A tie against a winner counts one half."""
    shares, pairs = 0.0, 0
    for votes in _votes(battles):
        together = list(combinations(votes, 2))
        shares += sum(1 - abs(a - b) for a, b in together)
        pairs += len(together)
    return Estimate(value=shares / pairs, n=pairs) if pairs else None


def _votes(battles: ForcedChoice) -> list[list[float]]:
    """Of each battle the ratings of its first caption, from 0 to 1: one a rater, the mean of the
    rater's records; a record of an unknown rater is of a rater of its own."""
    if not isinstance(battles, Battles) or battles.winner is None:
        return [[1.0] * a + [0.0] * b for a, b in battles.votes.tolist()]
    by_battle: dict[tuple[str, str, str], dict[str | int, list[float]]] = defaultdict(dict)
    records = zip(
        battles.image, battles.first, battles.second, battles.winner.tolist(), battles.raters,
        strict=True,
    )  # fmt: skip
    for n, (image, a, b, winner, rater) in enumerate(records):
        if not np.isnan(winner):
            key = (image, a, b) if a <= b else (image, b, a)
            of_rater = by_battle[key].setdefault(n if rater is None else rater, [])
            of_rater.append(winner if a <= b else 1 - winner)
    return [[float(np.mean(r)) for r in raters.values()] for raters in by_battle.values()]


def word_counts(captions: Sequence[str]) -> Floats:
    """float64 [n]: the number of words of each caption."""
    return np.array([len(caption.split()) for caption in captions], dtype=np.float64)


def fit_strengths(
    arena: BattleArrays, winner: Floats, *, at_equal_length: bool = False
) -> BradleyTerry:
    """Strengths by the winners [n] (NaN = left out). Raises InputError for parts that no battle
    connects."""
    battles, settings = arena.battles, arena.settings
    gap = word_counts(battles.first) - word_counts(battles.second) if at_equal_length else None
    return bradley_terry(
        [a for a, _ in arena.systems], [b for _, b in arena.systems], winner, battles.image,
        length_difference=gap, replicates=settings.strength_replicates,
        confidence=settings.confidence, seed=settings.seed,
    )  # fmt: skip


def ranking_of(arena: BattleArrays) -> tuple[list[Extra], BradleyTerry]:
    """The Bradley-Terry strengths of systems by the winners, and their fit.

    Raises InputError as `fit_strengths`. A rank is that of the system's cluster: a system opens the
    next one where it is significantly weaker than any member of the current one. Strengths are
    log-odds of winning, mean 0; those at equal length have the difference in words as a covariate.
    """
    battles, settings, winner = arena.battles, arena.settings, arena.winner
    plain = fit_strengths(arena, winner)
    equal = fit_strengths(arena, winner, at_equal_length=True)
    tested = compare(plain.tests(), "pairs of systems", alpha=settings.alpha)
    rank = rank_clusters(plain.systems, [(c.a, c.b) for c in tested if c.significant])
    strength, at_equal_length = _strengths(plain), _strengths(equal)
    words = [word_counts(battles.first), word_counts(battles.second)]
    sides = [np.array([names[side] for names in arena.systems]) for side in (0, 1)]
    known = ~np.isnan(winner)
    records: list[dict[str, Any]] = []
    for name in plain.systems:
        is_side = [(side == name) & known for side in sides]
        results = np.concatenate([winner[is_side[0]], 1 - winner[is_side[1]]])
        lengths = np.concatenate([of[rows] for of, rows in zip(words, is_side, strict=True)])
        records.append(
            {
                "system": name,
                "rank": rank[name],
                "strength": strength[name],
                "at_equal_length": at_equal_length[name],
                "won": int((results == 1).sum()),
                "tied": int((results == 0.5).sum()),
                "lost": int((results == 0).sum()),
                "words": float(lengths.mean()),
            }
        )
    assert equal.length is not None
    order = [equal.systems.index(name) for name in plain.systems]
    rho = float(_spearman(plain.strength[None], equal.strength[order][None])[0])
    facts = {
        "Log-odds of winning per word more": Estimate.of(equal.length),
        "Probability that two equal systems tie": Estimate(value=plain.tie / (2 + plain.tie)),
        "ρ of the strengths with those at equal length": Estimate(value=rho),
    }
    extras = [
        Extra.of(SYSTEMS, "Systems by the winners", records),
        Extra.of(
            "ranking",
            "The model of the systems",
            ({"fact": name, "value": estimate} for name, estimate in facts.items()),
            folded=True,
        ),
        _differences(tested),
    ]
    return extras, plain


def _differences(tested: Sequence[TestedDifference]) -> Extra:
    """The tests of all pairs of systems."""
    records = [
        {
            "stronger": each.a,
            "weaker": each.b,
            "difference": Estimate(value=each.difference, low=each.low, high=each.high),
            "p after Holm": each.p_adjusted,
        }
        for each in tested
    ]
    return Extra.of("system_differences", "Which systems differ", records, folded=True)


def _strengths(fit: BradleyTerry) -> dict[str, Estimate]:
    """System → its strength."""
    ends = zip(fit.systems, fit.strength, fit.low, fit.high, strict=True)
    return {name: Estimate(value=value, low=low, high=high) for name, value, low, high in ends}


def rank_agreement(
    arena: BattleArrays, preferred: Floats, winners: BradleyTerry
) -> tuple[dict[str, Estimate], dict[str, float]]:
    """A metric's ranking by the caption that it prefers [n] (1, 0.5, 0, NaN) against the winners'.

    By measure, and the strength of each system. Both are fitted on the same resampled images.
    Empty where the battles that the metric could score do not connect three systems.
    """
    try:
        made = fit_strengths(arena, preferred)
    except InputError:
        return {}, {}
    if len(made.systems) < 3:
        return {}, {}
    theirs = [winners.systems.index(name) for name in made.systems if name in winners.systems]
    mine = [made.systems.index(name) for name in made.systems if name in winners.systems]
    point = (made.strength[mine][None], winners.strength[theirs][None])
    drawn = (made.replicates[:, mine], winners.replicates[:, theirs])
    values, resampled = system_correlations(*point), system_correlations(*drawn)
    pairs = (
        (_spearman(*point), _spearman(*drawn)),
        (values.kendall_tau_b, resampled.kendall_tau_b),
        (values.accuracy, resampled.accuracy),
    )
    confidence = arena.settings.confidence
    estimates = {
        measure.key: Estimate.resampled(
            float(value[0]), replicates, confidence, made.n_images, made.n_battles
        )
        for measure, (value, replicates) in zip(OF_SYSTEMS, pairs, strict=True)
    }
    return estimates, dict(zip(made.systems, made.strength.tolist(), strict=True))


def _spearman(a: Floats, b: Floats) -> Floats:
    """ρ of each row: [r] from two [r, systems]."""
    return system_correlations(rankdata(a, axis=1), rankdata(b, axis=1)).pearson
