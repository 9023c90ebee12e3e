"""What needs the results of all metrics: transfer, the best of n, and pairs of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metaeval.experiments.attack.searches import AttackOutcome, Material
from metaeval.experiments.attack.statistics import mean, share, spread_of, usable
from metaeval.results.attack import BestOfN, Defence, Transfer
from metaeval.search.beam import SearchLimits, search
from metaeval.search.pool import Pool, chance_of_choice
from metaeval.search.target import Target

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
DRAWN = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Preferences:
    """Which metrics prefer the false captions that were found against one metric.

    Attributes
    ----------
    usable
        [n] Images of which a false caption was found and the metric has a score.
    fooled
        [n] Images on which the search against the metric itself succeeded.
    prefers
        Column of another metric → [n] whether it scores the false caption above the human one.
    known
        The same → [n] whether it has both scores.
    """

    usable: Flags
    fooled: Flags
    prefers: Mapping[str, Flags]
    known: Mapping[str, Flags]


def transfer(preferences: Mapping[str, Preferences]) -> list[Transfer]:
    """Of the captions that fool one metric, the share that every other one prefers as well."""
    return [
        Transfer(
            source=source,
            target=target,
            share=share(preference.prefers[target][preference.fooled & preference.known[target]]),
        )
        for source, preference in preferences.items()
        for target in preference.prefers
    ]


def defences(preferences: Mapping[str, Preferences], metrics: Sequence[str]) -> list[Defence]:
    """Each pair of metrics under the captions found against either; least successful first."""
    pairs = []
    for pair in combinations(metrics, 2):
        both = []
        for source in pair:
            preference = preferences[source]
            won = preference.fooled & np.logical_and.reduce([preference.prefers[t] for t in pair])
            both.append(share(won[preference.usable]))
        worst = max(both, key=lambda e: e.value or 0.0)
        pairs.append(Defence(metrics=pair, transferred=worst))
    return sorted(pairs, key=lambda d: (d.transferred.value or 0.0, d.metrics))


def attack_pair(
    targets: tuple[Target, Target],
    attacked: tuple[AttackOutcome, AttackOutcome],
    material: Material,
    limits: SearchLimits,
    images: int,
) -> Flags:
    """[n] Whether the search finds a false caption that both metrics prefer to the human one.

    The search maximises the smaller of the two gains, in units of each metric's spread; that is
    above 0 where both metrics prefer the caption.
    """
    rows = sorted({*usable(attacked[0], material)} & {*usable(attacked[1], material)})[:images]
    index = np.array(rows, dtype=np.intp)
    data = material.dataset

    def score(texts: Sequence[str], places: npt.NDArray[np.intp]) -> Floats:
        gains = [
            (target.score(texts, index[places]) - outcome.human[index[places]]) / spread_of(outcome)
            for target, outcome in zip(targets, attacked, strict=True)
        ]
        return np.minimum(*gains)

    def allowed(texts: Sequence[str], places: npt.NDArray[np.intp]) -> Flags:
        assert material.fluency is not None
        return material.fluency.allowed(texts, index[places])

    traces = search(
        score, [material.false[i] for i in rows], [material.near[i] for i in rows], material.far,
        [data.image_ids[i] for i in rows], limits, material.seed, "false",
        allowed if material.fluency is not None else None,
        lambda trial, k: trial.score > 0 and material.is_false(trial, rows[k]),
    )  # fmt: skip
    return np.array([
        any(t.admitted and t.score > 0 and material.is_false(t, i) for t in trace.trials)
        for i, trace in zip(rows, traces, strict=True)
    ])  # fmt: skip


def best_of_n(
    chooser: str,
    attacked: Mapping[str, AttackOutcome],
    others: Sequence[str],
    pool: Pool,
    seed: int,
) -> tuple[BestOfN, ...]:
    """What the metric `chooser` picks from n captions of the pool; `others` judge its choice."""
    if not len(pool.index):
        return ()
    gains = {
        name: (attacked[name].pool - attacked[name].human[pool.index, None])
        / spread_of(attacked[name])
        for name in {chooser, *others}
    }
    points = []
    for n in DRAWN:
        chances = np.stack([chance_of_choice(row, n) for row in attacked[chooser].pool])
        judged = [_expected(chances, gains[name]) for name in others if name != chooser]
        points.append(
            BestOfN(
                n=n,
                own=mean(_expected(chances, gains[chooser]), seed),
                others=mean(
                    np.mean(judged, axis=0) if judged else np.full(len(pool.index), np.nan), seed
                ),
                true=mean((chances * pool.true).sum(axis=1), seed),
            )
        )
    return tuple(points)


def _expected(chances: Floats, values: Floats) -> Floats:
    """[images] The expected value of the chosen caption, over the captions that have one."""
    known = ~np.isnan(values)
    weight = (chances * known).sum(axis=1)
    total = np.where(known, chances * values, 0.0).sum(axis=1)
    result: Floats = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)
    return result
