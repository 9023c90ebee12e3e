"""Which two metrics notice most together: chosen on one half of the images, measured on the other.

A combination is one that a user can compute without knowing which caption is which: the sum of
z-scores, or the minimum of ranks, with means, deviations and ranks of the first half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.experiments.sensitivity.kinds import Sets, by_kind, summarised
from metaeval.results.base import Estimate
from metaeval.stats.ordering.detection import central_intervals, drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats

_STREAM = 0x7067  # separates the halves from other uses of the same seed
Rule = Literal["alone", "sum of z-scores", "minimum of ranks"]
RULES: tuple[Rule, ...] = ("sum of z-scores", "minimum of ranks")


class _Candidate(NamedTuple):
    columns: tuple[str, ...]
    rule: Rule


class Combination(NamedTuple):
    """One metric, or two columns combined by a rule that needs no knowledge of the answer.

    Attributes
    ----------
    columns
        One name or two.
    rule
        How they are combined, by means and ranks of the first half of images.
    chosen_on, held_out
        Mean AUC over the kinds that harm on the first half, by which it was chosen, and on the
        second.
    """

    columns: tuple[str, ...]
    rule: Rule
    chosen_on: float
    held_out: Estimate

    @property
    def name(self) -> str:
        """ "CIDEr + Length (sum of z-scores)", or the name of a metric alone."""
        if len(self.columns) == 1:
            return self.columns[0]
        return f"{' + '.join(self.columns)} ({self.rule})"


class Together(NamedTuple):
    """The best combination of two metrics, chosen on one half of the images.

    Attributes
    ----------
    metrics, single, with_control
        The best of two metrics, of one metric, and of a metric with a control.
    over_single, over_control
        What the two metrics have on the other half above each of these.
    """

    metrics: Combination
    single: Combination
    with_control: Combination | None
    over_single: Estimate
    over_control: Estimate | None


def together(
    tables: Mapping[str, Floats],
    metrics: Sequence[str],
    controls: Sequence[str],
    sets: Sets,
    *,
    seed: int,
    replicates: int,
    confidence: float,
) -> Together | None:
    """The best two metrics against the best single metric and the best metric with a control.

    All three are chosen by their mean AUC over the kinds that harm on a random half of the images;
    what is compared is that mean on the other half, with intervals by resampling its images.
    `None` with fewer than two metrics, fewer than four images, or without sets that harm.
    """
    places = [k for k in summarised(sets) if sets[k].expected == "lower"]
    groups = list(by_kind(sets, places).values())
    n_images = len(next(iter(tables.values()), ()))
    if len(metrics) < 2 or n_images < 4 or not groups:
        return None
    order = np.random.default_rng([_STREAM, seed]).permutation(n_images)
    first, second = order[: n_images // 2], order[n_images // 2 :]
    prepared = {name: _Prepared(tables[name], first) for name in (*metrics, *controls)}
    weights = bootstrap_counts(len(second), replicates, seed)

    def chosen(candidates: Iterator[_Candidate]) -> tuple[_Candidate, float]:
        values = [(c, _mean_auc(_combined(prepared, c)[first], groups)) for c in candidates]
        return max(values, key=lambda pair: (not np.isnan(pair[1]), pair[1]))

    def with_rules(pairs: Iterator[tuple[str, str]]) -> Iterator[_Candidate]:
        return (_Candidate(pair, rule) for pair, rule in product(pairs, RULES))

    def record(choice: tuple[_Candidate, float]) -> tuple[Combination, Floats]:
        table = _combined(prepared, choice[0])[second]
        value, drawn = _mean_auc(table, groups), _replicates(table, groups, weights)
        return (
            Combination(
                columns=choice[0].columns,
                rule=choice[0].rule,
                chosen_on=choice[1],
                held_out=_estimate(value, drawn, confidence, len(second)),
            ),
            drawn,
        )

    pair, pair_drawn = record(chosen(with_rules(combinations(metrics, 2))))
    single, single_drawn = record(chosen(_Candidate((m,), "alone") for m in metrics))
    control, over_control = None, None
    if controls:
        control, drawn = record(chosen(with_rules(product(metrics, controls))))
        over_control = _estimate(
            _difference(pair, control), pair_drawn - drawn, confidence, len(second)
        )
    return Together(
        metrics=pair,
        single=single,
        with_control=control,
        over_single=_estimate(
            _difference(pair, single), pair_drawn - single_drawn, confidence, len(second)
        ),
        over_control=over_control,
    )


class _Prepared:
    """A column's scores as z-scores and as ranks in [0, 1], by the scores of the given images."""

    def __init__(self, table: Floats, images: npt.NDArray[np.intp]) -> None:
        reference = table[images]
        known = np.sort(reference[~np.isnan(reference)])
        self.plain = table
        spread = float(known.std()) if len(known) else 0.0
        mean = float(known.mean()) if len(known) else 0.0
        self.z: Floats = (table - mean) / (spread or 1.0)
        left = np.searchsorted(known, table, side="left")
        right = np.searchsorted(known, table, side="right")
        self.rank: Floats = np.where(
            np.isnan(table), np.nan, (left + right) / (2 * max(1, len(known)))
        )


def _combined(prepared: Mapping[str, _Prepared], candidate: _Candidate) -> Floats:
    columns = [prepared[name] for name in candidate.columns]
    if candidate.rule == "alone":
        return columns[0].plain
    if candidate.rule == "sum of z-scores":
        return columns[0].z + columns[1].z
    return np.minimum(columns[0].rank, columns[1].rank)


def _mean_auc(table: Floats, groups: Sequence[Sequence[int]]) -> float:
    wins = won(table[:, [0]] - table[:, 1:])
    known = ~np.isnan(wins)
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = np.where(known, wins, 0.0).sum(axis=0) / known.sum(axis=0)
    return float(_over_kinds(auc[None], groups)[0])


def _replicates(table: Floats, groups: Sequence[Sequence[int]], weights: Counts) -> Floats:
    wins = won(table[:, [0]] - table[:, 1:])
    known = ~np.isnan(wins)
    sums, sizes = drawn_sums([np.where(known, wins, 0.0), known], weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _over_kinds(sums / sizes, groups)


def _over_kinds(auc: Floats, groups: Sequence[Sequence[int]]) -> Floats:
    """The mean over kinds of the mean over the sets of each [rows]; sets without a value leave."""

    def mean(values: Floats) -> Floats:
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = np.where(known, values, 0.0).sum(axis=1) / known.sum(axis=1)
        return means

    return mean(np.stack([mean(auc[:, list(group)]) for group in groups], axis=1))


def _difference(a: Combination, b: Combination) -> float:
    x, y = a.held_out.value, b.held_out.value
    return float("nan") if x is None or y is None else x - y


def _estimate(value: float, drawn: Floats, confidence: float, n: int) -> Estimate:
    low, high = central_intervals(drawn[:, None], confidence, n)[0]
    return Estimate(value=value, low=low, high=high, n=n)
