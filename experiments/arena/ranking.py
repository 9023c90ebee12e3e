"""Rankings of systems: by the winners of battles, and by what a metric prefers in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.errors import InputError
from metaeval.experiments.controls import merged
from metaeval.experiments.judgments.agreement import system_correlations
from metaeval.results.arena import ArenaSettings, RankAgreement, Ranking, SystemRank
from metaeval.results.base import Estimate
from metaeval.stats.agreement.across_benchmarks import rank_clusters
from metaeval.stats.preference.bradley_terry import BradleyTerry, bradley_terry
from metaeval.stats.resampling.bootstrap import interval_estimate
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import compare

Systems = Sequence[tuple[str, str]]


def word_counts(captions: Sequence[str]) -> Floats:
    """float64 [n]: the number of words of each caption."""
    return np.array([len(caption.split()) for caption in captions], dtype=np.float64)


def fit(
    battles: ForcedChoice,
    systems: Systems,
    winner: Floats,
    settings: ArenaSettings,
    *,
    at_equal_length: bool = False,
) -> BradleyTerry:
    """Strengths by the winners [n] (NaN = left out). Raises InputError for parts that no battle
    connects."""
    gap = word_counts(battles.first) - word_counts(battles.second) if at_equal_length else None
    return bradley_terry(
        [a for a, _ in systems], [b for _, b in systems], winner, battles.image,
        length_difference=gap, replicates=settings.strength_replicates,
        confidence=settings.confidence, seed=settings.seed,
    )  # fmt: skip


def ranking_of(
    battles: ForcedChoice, systems: Systems, winner: Floats, settings: ArenaSettings
) -> tuple[Ranking, BradleyTerry]:
    """The ranking by these winners, and its fit. Raises InputError as `fit`."""
    plain = fit(battles, systems, winner, settings)
    equal = fit(battles, systems, winner, settings, at_equal_length=True)
    tested = compare(plain.tests(), "pairs of systems", alpha=settings.alpha)
    rank = rank_clusters(plain.systems, tested)
    place = {name: k for k, name in enumerate(equal.systems)}
    order = [place[name] for name in plain.systems]
    words = [word_counts(battles.first), word_counts(battles.second)]
    sides = [np.array([names[side] for names in systems]) for side in (0, 1)]
    known = ~np.isnan(winner)
    ranked = []
    for k, name in enumerate(plain.systems):
        is_side = [(side == name) & known for side in sides]
        results = np.concatenate([winner[is_side[0]], 1 - winner[is_side[1]]])
        lengths = np.concatenate([of[rows] for of, rows in zip(words, is_side, strict=True)])
        ranked.append(
            SystemRank(
                name=name,
                rank=rank[name],
                strength=Estimate(value=plain.strength[k], low=plain.low[k], high=plain.high[k]),
                at_equal_length=Estimate(
                    value=equal.strength[order[k]],
                    low=equal.low[order[k]],
                    high=equal.high[order[k]],
                ),
                won=int((results == 1).sum()),
                tied=int((results == 0.5).sum()),
                lost=int((results == 0).sum()),
                words=float(lengths.mean()),
            )
        )
    value, low, high = equal.covariates["length"]
    length = Estimate(value=value, low=low, high=high)
    rho = float(_spearman(plain.strength[None], equal.strength[order][None])[0])
    n = [comparison.n for comparison in tested]
    ranking = Ranking(
        systems=tuple(ranked),
        tie=plain.tie,
        length=length,
        equal_length_spearman=rho,
        comparisons=merged("strength", settings.alpha, n, tested),
    )
    return ranking, plain


def rank_agreement(
    battles: ForcedChoice,
    systems: Systems,
    preferred: Floats,
    winners: BradleyTerry,
    settings: ArenaSettings,
) -> RankAgreement | None:
    """A metric's ranking by the caption that it prefers [n] (1, 0.5, 0, NaN) against the winners'.

    Both are fitted on the same resampled images. `None` where the battles that the metric could
    score do not connect three systems.
    """
    try:
        made = fit(battles, systems, preferred, settings)
    except InputError:
        return None
    if len(made.systems) < 3:
        return None
    theirs = [winners.systems.index(name) for name in made.systems if name in winners.systems]
    mine = [made.systems.index(name) for name in made.systems if name in winners.systems]
    point = (made.strength[mine][None], winners.strength[theirs][None])
    drawn = (made.replicates[:, mine], winners.replicates[:, theirs])
    values, resampled = system_correlations(*point), system_correlations(*drawn)

    def estimate(value: Floats, replicates: Floats) -> Estimate:
        return Estimate.of(
            interval_estimate(float(value[0]), replicates, settings.confidence, made.n_images)
        )

    return RankAgreement(
        spearman=estimate(_spearman(*point), _spearman(*drawn)),
        kendall_tau_b=estimate(values.kendall_tau_b, resampled.kendall_tau_b),
        accuracy=estimate(values.accuracy, resampled.accuracy),
        strengths=dict(zip(made.systems, made.strength.tolist(), strict=True)),
        battles=made.n_battles,
    )


def _spearman(a: Floats, b: Floats) -> Floats:
    """ρ of each row: [r] from two [r, systems]."""
    x, y = rankdata(a, axis=1), rankdata(b, axis=1)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return np.asarray(rho)
