"""Which two metrics notice most together: chosen on one half of the images, measured on the other.

A combination is one that a user can compute without knowing which caption is which: the sum of
z-scores, or the minimum of ranks, with means, deviations and ranks of the first half.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.experiments.sensitivity.kinds import (
    MeanAuc,
    ResampledMean,
    Sets,
    by_kind,
    summarised,
)
from metaeval.results.base import Estimate
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats

Images = npt.NDArray[np.intp]
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

    def mean_auc(candidate: _Candidate, images: Images, counts: Counts) -> ResampledMean:
        table = _combined(prepared, candidate)[images]
        return MeanAuc(table, counts, confidence).replicated(groups)._replace(n=len(images))

    def best(candidates: Iterable[_Candidate]) -> tuple[Combination, ResampledMean]:
        values = [(c, mean_auc(c, first, weights[:0, : len(first)]).value) for c in candidates]
        chosen, value = max(values, key=lambda pair: (not np.isnan(pair[1]), pair[1]))
        held_out = mean_auc(chosen, second, weights)
        return Combination(*chosen, value, held_out.estimate(confidence)), held_out

    def above(one: ResampledMean, other: ResampledMean) -> Estimate:
        value, drawn = one.value - other.value, one.replicates - other.replicates
        return ResampledMean(value, drawn, len(second)).estimate(confidence)

    pair, of_pair = best(
        _Candidate(two, rule) for two in combinations(metrics, 2) for rule in RULES
    )
    single, of_single = best(_Candidate((metric,), "alone") for metric in metrics)
    control, over_control = None, None
    if controls:
        mixed = product(product(metrics, controls), RULES)
        control, of_control = best(_Candidate(two, rule) for two, rule in mixed)
        over_control = above(of_pair, of_control)
    return Together(pair, single, control, above(of_pair, of_single), over_control)


class _Prepared:
    """A column's scores as z-scores and as ranks in [0, 1], by the scores of the given images."""

    def __init__(self, table: Floats, images: Images) -> None:
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
