"""How often metrics prefer the winner of a battle: the result of `experiment=arena`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, combinations, compress
from typing import NamedTuple

import numpy as np
from omegaconf import DictConfig

from metaeval.data.judgments.battles import Battles
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.arena.ranking import rank_agreement, ranking_of, word_counts
from metaeval.experiments.controls import is_ranked
from metaeval.experiments.forced_choice.scores import ChoiceScores, choice_outcomes
from metaeval.experiments.forced_choice.statistics import (
    Images,
    choice_differences,
    image_numbers,
)
from metaeval.results.arena import (
    ALL,
    ArenaFacts,
    ArenaPeople,
    ArenaResult,
    ArenaSettings,
    ArenaStatistics,
    Ranking,
)
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl
from metaeval.stats.preference.bradley_terry import BradleyTerry
from metaeval.stats.preference.difference import preference_curve
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.means import resampled_sums
from metaeval.stats.significance.comparison import PairTest, against_best_control, gap_differences

PEOPLE = "people"
MEASURE = "agreement"
NOTICED_REPLICATES = 500


class BattleArrays(NamedTuple):
    """Battles as arrays.

    Attributes
    ----------
    winner
        float64 [n]: 1 = the first caption, 0 = the second, 0.5 = a tie, NaN = not known.
    image, counts
        [n] the number of each battle's image; [replicates, images] the resampled images.
    groups
        Group → bool [n].
    word_gap
        float64 [n]: words of the first caption minus those of the second.
    """

    battles: ForcedChoice
    winner: Floats
    image: Images
    counts: Counts
    groups: Mapping[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]
    word_gap: Floats
    settings: ArenaSettings

    @property
    def systems(self) -> Sequence[tuple[str, str]]:
        """The systems of each battle; empty where they are not known."""
        return self.battles.systems if isinstance(self.battles, Battles) else ()


def statistics(
    battles: ForcedChoice, scores: ChoiceScores, config: DictConfig, settings: ArenaSettings
) -> ArenaResult:
    """Agreement of every metric with the winners, rankings of systems, tests between metrics."""
    gaps = {name: of_column[0] for name, of_column in scores.gaps.items()}
    winner = winners(battles, gaps, settings.winner)
    arena = _arena(battles, winner, settings, config)
    ranking, fit, unranked = _ranking(arena)
    outcomes = {name: _outcomes(arena, gap, scores.outcomes[name][0]) for name, gap in gaps.items()}
    metrics = tuple(
        scored.result(
            c,
            None
            if scored.status != "ok"
            else of_column(arena, gaps[column.name], outcomes[column.name], fit),
        )
        for scored in scores.results
        for c, column in enumerate(scored.columns)
        if column.name != settings.winner
    )
    ranked = [m.name for m in metrics if m.ok and is_ranked(m.column)]
    controls = [m.name for m in metrics if m.ok and m.column.control]
    return ArenaResult(
        dataset=battles.name,
        title=battles.title,
        unit="clip" if battles.unit == "clip" else "image",
        settings=settings,
        facts=ArenaFacts(
            battles=int((~np.isnan(winner)).sum()),
            images=len(set(arena.image[~np.isnan(winner)].tolist())),
            systems=len(set(chain.from_iterable(compress(arena.systems, ~np.isnan(winner))))),
            raters=len({r for r in getattr(battles, "raters", ()) if r is not None}),
            tied=int((winner == 0.5).sum()),
            without_references=sum(not references for references in battles.references),
        ),
        groups=tuple(arena.groups),
        metrics=metrics,
        ranking=ranking,
        unranked=unranked,
        people=rater_agreement(battles) if settings.winner == PEOPLE else None,
        controls=_controls(arena, outcomes, ranked, controls),
        differences=choice_differences(
            {name: outcomes[name] for name in ranked}, arena.image, settings.permutations,
            settings.alpha, config,
        ),
    )  # fmt: skip


def winners(battles: ForcedChoice, gaps: Mapping[str, Floats], by: str) -> Floats:
    """[n] Who won, by people or by the column `by`. Raises ConfigError without a winner."""
    if by != PEOPLE:
        if by not in gaps:
            raise ConfigError(
                f"task.winner: '{by}' is not a column of this run; choose people or one of "
                f"{', '.join(gaps)}"
            )
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
    battles: ForcedChoice, winner: Floats, settings: ArenaSettings, config: DictConfig
) -> BattleArrays:
    image = image_numbers(battles)
    category = np.array(battles.category)
    names = list(dict.fromkeys(battles.category))
    groups = {ALL: np.ones(len(battles), dtype=np.bool_)}
    if len(names) > 1:
        # a category can have the name of all battles
        groups |= {
            f"{name} (category)" if name == ALL else name: category == name for name in names
        }
    return BattleArrays(
        battles, winner, image,
        bootstrap_counts(int(image.max()) + 1, settings.replicates, settings.seed), groups,
        word_counts(battles.first) - word_counts(battles.second), settings,
    )  # fmt: skip


def _outcomes(arena: BattleArrays, gap: Floats, averaged: Floats) -> Floats:
    """[n] 1, 1/2, 0: does the metric prefer the winner? NaN where either is not known.

    With people's winners, the average over the draws of references where there are several.
    """
    if arena.settings.winner == PEOPLE and arena.battles.draws > 1:
        return np.where(np.isnan(arena.winner), np.nan, averaged)
    people = np.sign(2 * np.nan_to_num(arena.winner, nan=0.5) - 1)
    outcome = choice_outcomes(gap, people, arena.settings.ties)
    return np.where(np.isnan(arena.winner), np.nan, outcome)


def of_column(
    arena: BattleArrays, gap: Floats, outcome: Floats, winners: BradleyTerry | None
) -> ArenaStatistics:
    """The statistics of one column, from its score differences and outcomes [n]."""
    settings = arena.settings
    scored = ~np.isnan(gap) & ~np.isnan(arena.winner)
    decided = arena.winner != 0.5
    half = np.where(gap == 0, 0.5, np.where(np.isnan(gap), np.nan, preferences(gap)))
    right = np.where(arena.winner == 1, half, 1 - half)
    short = np.abs(arena.word_gap) <= settings.length_tolerance
    return ArenaStatistics(
        agreement={name: mean_of(arena, outcome, rows) for name, rows in arena.groups.items()},
        decided=mean_of(arena, np.where(np.isnan(arena.winner), np.nan, right), decided),
        ties=float((gap[scored] == 0).mean()) if scored.any() else float("nan"),
        equal_length=mean_of(arena, outcome, short),
        noticed=_noticed(arena, gap),
        systems=None
        if winners is None
        else rank_agreement(
            arena.battles,
            arena.systems,
            np.where(np.isnan(arena.winner), np.nan, preferences(gap)),
            winners,
            settings,
        ),
    )


def mean_of(
    arena: BattleArrays, outcome: Floats, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Estimate:
    """The mean outcome of the rows that have one, with its interval by resampling images."""
    rows = rows & ~np.isnan(outcome)
    n, units = int(rows.sum()), arena.counts.shape[1]
    if not n:
        return Estimate(value=None, n=0)
    sums = np.bincount(arena.image[rows], outcome[rows], minlength=units)
    sizes = np.bincount(arena.image[rows], minlength=units).astype(np.float64)
    drawn = resampled_sums(np.stack([sums, sizes], axis=1), arena.counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = drawn[:, 0] / drawn[:, 1]
    low, high = percentile_interval(shares, arena.settings.confidence, int((sizes > 0).sum()))
    return Estimate(value=float(outcome[rows].mean()), low=low, high=high, n=n)


def _noticed(arena: BattleArrays, gap: Floats) -> Estimate:
    """The score difference that wins 75 % of the battles, by the logistic curve."""
    curve = preference_curve(
        gap, arena.winner, arena.image, counts=arena.counts[:NOTICED_REPLICATES],
        points=2, confidence=arena.settings.confidence,
    )  # fmt: skip
    return Estimate(
        value=curve.noticed, low=curve.noticed_low, high=curve.noticed_high, n=curve.n_pairs
    )


def _ranking(arena: BattleArrays) -> tuple[Ranking | None, BradleyTerry | None, str | None]:
    """The ranking of systems by the winners and its fit, or why there is none."""
    if not arena.systems:
        return None, None, "the systems of the battles are not known"
    try:
        ranking, fit = ranking_of(arena.battles, arena.systems, arena.winner, arena.settings)
    except InputError as error:
        return None, None, error.problem
    return ranking, fit, None


def rater_agreement(battles: ForcedChoice) -> ArenaPeople | None:
    """Agreement of two ratings of one battle, over all pairs of them; from the records of a table,
    or from the votes of a pair."""
    shares, pairs, judged = 0.0, 0, 0
    for votes in _votes(battles):
        together = list(combinations(votes, 2))
        if together:
            shares += sum(1 - abs(a - b) for a, b in together)
            pairs, judged = pairs + len(together), judged + 1
    if not pairs:
        return None
    return ArenaPeople(value=shares / pairs, pairs_of_ratings=pairs, battles=judged)


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


def _controls(
    arena: BattleArrays,
    outcomes: Mapping[str, Floats],
    ranked: Sequence[str],
    controls: Sequence[str],
) -> dict[str, AgainstControl]:
    """Every metric against the best control of each group, by swaps of whole images."""
    settings = arena.settings
    values = {
        group: {
            name: float(outcomes[name][rows & ~np.isnan(outcomes[name])].mean())
            if (rows & ~np.isnan(outcomes[name])).any()
            else float("nan")
            for name in (*ranked, *controls)
        }
        for group, rows in arena.groups.items()
    }

    def gaps(group: str, metric: str, control: str) -> Floats:
        gap = outcomes[metric] - outcomes[control]
        rows = arena.groups[group] & ~np.isnan(gap)
        added = np.bincount(arena.image[rows], gap[rows], minlength=arena.counts.shape[1])
        return np.asarray(added / max(int(rows.sum()), 1), np.float64)

    def test(hypotheses: Sequence[tuple[str, str, str]]) -> list[PairTest]:
        table = np.stack([gaps(*hypothesis) for hypothesis in hypotheses], axis=1)
        return gap_differences(table, replicates=settings.permutations, seed=settings.seed)

    family = "metrics against the best control, in each group"
    tested = against_best_control(
        values, ranked, controls, test, family, alpha=settings.alpha,
        gapped=[name for name in ranked if np.isnan(outcomes[name]).any()],
        difference=lambda *hypothesis: float(gaps(*hypothesis).sum()),
    )  # fmt: skip
    return {
        group: AgainstControl.of(each, MEASURE, settings.alpha) for group, each in tested.items()
    }
