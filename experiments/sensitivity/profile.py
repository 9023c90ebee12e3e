"""The profile of one metric: for each set of changed captions what it notices.

Scores are tables float64 [n_images, 1 + n_sets], the human captions first, higher is better, NaN
where a score is missing or nothing was changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.base import SEVERITIES
from metaeval.data.content_words import content_words
from metaeval.data.tidy import letters_and_digits
from metaeval.experiments.measure import ResampledValue, Statistic
from metaeval.results.base import Estimate
from metaeval.results.run import CorruptionInfo
from metaeval.stats.ordering.detection import detection, drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import is_significant

Sets = Sequence[CorruptionInfo]


def summarised(sets: Sets) -> list[int]:
    """The places of the sets that summaries count: no experimental ones, and not without images."""
    return [k for k, entry in enumerate(sets) if entry.n_applied and not entry.experimental]


def by_kind(sets: Sets, places: Iterable[int]) -> dict[str, list[int]]:
    """Kind → its places, in order."""
    groups: dict[str, list[int]] = {}
    for k in places:
        groups.setdefault(sets[k].kind, []).append(k)
    return groups


AucOfSets = tuple[npt.NDArray[np.bool_], Floats, Floats]


def auc_of_sets(table: Floats, counts: Counts) -> AucOfSets:
    """Which images have a score, the AUC, and its replicates: of each set of a table.

    A table is float64 [n_images, 1 + n_sets], the human captions first, higher is better.
    """
    wins = won(table[:, [0]] - table[:, 1:])
    known = ~np.isnan(wins)
    values = np.where(known, wins, 0.0)
    sums, sizes = drawn_sums([values, known], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return known, values.sum(axis=0) / known.sum(axis=0), sums / sizes


class MeanAuc(Statistic):
    """The mean AUC over kinds of the mean over the sets of each, with whole images resampled.

    A set without a score in a replicate is left out of its kind there.

    Parameters
    ----------
    by_set
        `auc_of_sets` of a table.
    kinds
        Each the places of its sets.
    """

    span = 1.0

    def __init__(
        self, by_set: Callable[[Floats], AucOfSets], kinds: Iterable[Sequence[int]]
    ) -> None:
        self.by_set, self.kinds = by_set, [list(kind) for kind in kinds]

    def of(self, column: Floats) -> ResampledValue:
        known, point, replicates = self.by_set(column)
        if not self.kinds:
            return ResampledValue(np.nan, np.full(len(replicates), np.nan), 0, 0)
        mean = mean_without_nan([mean_without_nan(point[g], 0) for g in self.kinds], 0)
        drawn = mean_without_nan([mean_without_nan(replicates[:, g], 1) for g in self.kinds], 0)
        n = int(known[:, [k for g in self.kinds for k in g]].any(axis=1).sum())
        return ResampledValue(float(mean), drawn, n, n)


def mean_without_nan(values: object, axis: int) -> Floats:
    """The mean without NaN; NaN where all are."""
    table = np.asarray(values, np.float64)
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(known, table, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return means


def severity_order(table: Floats, sets: Sets) -> Floats:
    """[n_images] How often the milder of two changes that harm has the higher score, equal scores
    one half; NaN without a pair.

    Pairs are of the same image and of different severity. Per image and kind of the milder change
    the mean over pairs; then the mean over kinds.
    """
    places = [k for k in summarised(sets) if sets[k].expected == "lower" and sets[k].severity]
    rank: dict[str | None, int] = {severity: r for r, severity in enumerate(SEVERITIES)}
    per_kind = [np.full(len(table), np.nan)]
    for milder in by_kind(sets, places).values():
        worse = {
            k: [j for j in places if rank[sets[j].severity] > rank[sets[k].severity]]
            for k in milder
        }
        gaps = [table[:, [k + 1]] - table[:, [j + 1 for j in of_k]] for k, of_k in worse.items()]
        per_kind.append(mean_without_nan(won(np.hstack(gaps)), 1))
    return mean_without_nan(per_kind, 0)


def severities(sets: Sets) -> list[str]:
    """The severities of the sets that harm, mildest first."""
    present = {sets[k].severity for k in summarised(sets) if sets[k].expected == "lower"}
    return [severity for severity in SEVERITIES if severity in present]


# The profile of one metric

Verdict = Literal["sees", "prefers", "blind", "punishes", "rewards", "spares", "unsure"]
EXAMPLES = 3
NEAR_CHANCE = 0.1  # an AUC whose interval is within 0.5 ± this counts as chance
ENOUGH = 20  # images: with fewer the verdict is never "blind" or "spares"


class SensitivityCell(NamedTuple):
    """One metric on one set of changed captions.

    Attributes
    ----------
    n
        Images whose caption was changed and scored.
    auc
        How often the human caption scores above the changed one, equal scores counting one half.
    detected
        The share of images in which the human caption scores strictly higher.
    tied
        The share with equal scores.
    p, p_adjusted
        Two-sided sign test; Holm's correction over all metrics and sets.
    cost
        Mean score of the human captions minus mean score of the changed ones.
    effect
        `cost` in standard deviations of the image-wise difference.
    verdict
        `cell_verdict`.
    examples
        The captions that the metric errs on most: records for a page.
    """

    n: int
    auc: Estimate
    detected: Estimate
    tied: float
    p: float
    p_adjusted: float
    cost: Estimate
    effect: Estimate
    verdict: Verdict
    examples: tuple[Mapping[str, Any], ...]


def profile(
    table: Floats,
    sets: Sets,
    counts: Counts,
    images: Sequence[Any],
    texts: npt.NDArray[Any],
    confidence: float,
) -> dict[str, SensitivityCell]:
    """Set → a metric's values on it, before the correction over all cells.

    `images` [n_images] are the ids, `texts` [n_images, 1 + n_sets] the captions.
    """
    seen = detection(table[:, 0], table[:, 1:], counts, confidence=confidence)
    cells = {}
    for k, (entry, d) in enumerate(zip(sets, seen, strict=True), 1):
        gaps = table[:, 0] - table[:, k]
        errors = gaps if entry.expected == "lower" else -gaps
        order = np.argsort(np.nan_to_num(errors, nan=np.inf), kind="stable")
        worst = [i for i in order[:EXAMPLES].tolist() if not np.isnan(gaps[i])]
        cells[entry.set] = SensitivityCell(
            n=d.n,
            auc=estimate_of(d.n, d.auc, d.ci),
            detected=estimate_of(d.n, d.detected, d.detected_ci),
            tied=d.tied,
            p=d.p,
            p_adjusted=d.p,
            cost=estimate_of(d.n, d.cost, d.cost_ci),
            effect=estimate_of(d.n, d.effect, d.effect_ci),
            verdict="unsure",
            examples=tuple(
                {
                    "image_id": images[i],
                    "human": texts[i, 0],
                    "score of the human caption": float(table[i, 0]),
                    "changed": texts[i, k],
                    "score of the changed caption": float(table[i, k]),
                }
                for i in worst
            ),
        )
    return cells


def cell_verdict(auc: Estimate, p_adjusted: float | None, expected: str, alpha: float) -> Verdict:
    """The verdict on a cell, in a word.

    Of a set that harms: "sees" (the human caption is significantly more often above), "prefers"
    (the changed one is), "blind" (not significant, and the interval of the AUC ends at 0.6 or
    below) or "unsure". Of a harmless one: "punishes", "rewards", "spares" (not significant, and the
    interval lies within 0.4 and 0.6) or "unsure". A significant difference is never "blind" or
    "spares", however small it is; nor are fewer than 20 images.
    """
    harmful = expected == "lower"
    if auc.value is None:
        return "unsure"
    if is_significant(p_adjusted, alpha) and auc.value != 0.5:
        if auc.value < 0.5:
            return "prefers" if harmful else "rewards"
        return "sees" if harmful else "punishes"
    if (auc.n or 0) >= ENOUGH and auc.high is not None and auc.low is not None:
        near = auc.high <= 0.5 + NEAR_CHANCE
        if near and (harmful or auc.low >= 0.5 - NEAR_CHANCE):
            return "blind" if harmful else "spares"
    return "unsure"


def estimate_of(n: int, value: float, interval: tuple[float, float]) -> Estimate:
    """A value of n images with its interval."""
    return Estimate(value=value, low=interval[0], high=interval[1], n=n)


# Harmless rewrites against harmful near-copies: what they cost, and which of the two wins.
#
# Near-copies are the corruptions of facts: all kinds that harm except those of form.

Sorts = npt.NDArray[np.int8]  # the sort of each harmless change [n_images, n_sets]; -1 elsewhere

FORM = ("words", "grammar", "order", "spelling", "whole caption")  # kinds that change no fact alone
NO_OP, REWRITE, REFERENCE = 0, 1, 2


def sort_of_rewrite(human: str, changed: str, references: Sequence[str]) -> int:
    """Whether a harmless change is a rewrite, a no-op or a verbatim reference.

    A rewrite changes two content words or more, or their order. References are compared by letters
    and digits.

    >>> sort_of_rewrite("A dog runs.", "a dog runs", [])  # NO_OP
    0
    >>> sort_of_rewrite("A dog runs on grass.", "On grass, a dog runs.", [])  # REWRITE
    1
    """
    if letters_and_digits(changed) in map(letters_and_digits, references):
        return REFERENCE
    before, after = content_words(human), content_words(changed)
    a, b = Counter(before), Counter(after)
    if a == b:
        return REWRITE if before != after else NO_OP
    return REWRITE if max((a - b).total(), (b - a).total()) >= 2 else NO_OP


def rewrites_above(table: Floats, sets: Sets, sorts: Sorts, sort: int = REWRITE) -> Floats:
    """[n_images] How often harmless changes of a sort score above harmful near-copies of the same
    image: the mean over pairs of 1, ½ (equal scores) or 0; NaN without a pair.

    `sorts` [n_images, n_sets] are of `sort_of_rewrite`.
    """
    places = summarised(sets)
    harmful = [k + 1 for k in places if sets[k].expected == "lower" and sets[k].kind not in FORM]
    gaps = [np.empty((len(table), 0))]
    for k in (k for k in places if sets[k].expected == "same"):
        changed = np.where(sorts[:, [k]] == sort, table[:, [k + 1]], np.nan)
        gaps.append(changed - table[:, harmful])
    return mean_without_nan(won(np.hstack(gaps)), 1)
