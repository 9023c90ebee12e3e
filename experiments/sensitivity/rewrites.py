"""Harmless rewrites against harmful near-copies: what they cost, and which of the two wins.

Near-copies are the corruptions of facts: all kinds that harm except those of form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.tidy import letters_and_digits
from metaeval.experiments.sensitivity.kinds import (
    ResampledMean,
    Sets,
    mean_of_images,
    replicated_mean,
    summarised,
)
from metaeval.experiments.sensitivity.profile import SensitivityCell
from metaeval.results.base import Estimate
from metaeval.results.run import CorruptionInfo
from metaeval.stats.ordering.detection import central_intervals, drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats

Sorts = npt.NDArray[np.int8]  # the sort of each harmless change [n_images, n_sets]; -1 elsewhere

FORM = ("words", "grammar", "order", "spelling", "whole caption")  # kinds that change no fact alone
BANDS = ((1, 1), (2, 3), (4, 10**6))  # edits of the same size, by the number of changed words
NO_OP, REWRITE, REFERENCE = 0, 1, 2
# words that carry the grammar of a caption and not its content
FUNCTION_WORDS = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "each", "every", "and",
    "or", "but", "nor", "so", "of", "in", "on", "at", "by", "for", "from", "to", "into", "onto",
    "with", "without", "over", "under", "up", "down", "off", "out", "near", "as", "is", "are",
    "was", "were", "be", "been", "being", "am", "has", "have", "had", "do", "does", "did", "it",
    "its", "he", "she", "they", "them", "his", "her", "their", "there", "who", "which", "what",
    "whose", "not", "no",
})  # fmt: skip


class HardPositives(NamedTuple):
    """How often a harmless rewrite scores above a harmful near-copy of the same image.

    Attributes
    ----------
    rewrites
        Rewrites that change two content words or more, or their order, and are not a reference.
    no_ops
        All other harmless changes: spaces, capitals, a full stop, one word; and references.
    sets
        Harmless set → all its captions.
    """

    rewrites: Estimate
    no_ops: Estimate
    sets: Mapping[str, Estimate]


class Invariance(NamedTuple):
    """The cost of a harmless rewrite as a share of the mildest harm of the same size of edit.

    `against` is the set of that harm. 0: the rewrite costs nothing; 1: as much as that harm.
    """

    against: str
    share: Estimate


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
    before, after = _content(human), _content(changed)
    a, b = Counter(before), Counter(after)
    if a == b:
        return REWRITE if before != after else NO_OP
    return REWRITE if max((a - b).total(), (b - a).total()) >= 2 else NO_OP


def _content(caption: str) -> list[str]:
    words = (letters_and_digits(word) for word in caption.split())
    return [word for word in words if word and word not in FUNCTION_WORDS]


def hard_positives(
    table: Floats,
    sets: Sets,
    sorts: Sorts,
    counts: Counts,
    confidence: float,
) -> HardPositives:
    """How often a harmless rewrite scores above a harmful near-copy of the same image.

    `sorts` [n_images, n_sets] has the sort of each harmless change (`sort_of_rewrite`). Per image
    the mean over its pairs of 1, ½ (equal scores) or 0; then the mean over images.
    """
    harmless = _harmless(sets)

    def mean(chosen: Sequence[int], sort: int | None = None) -> Estimate:
        return mean_of_images(_wins(table, sets, sorts, chosen, sort), counts, confidence)

    return HardPositives(
        rewrites=mean(harmless, REWRITE),
        no_ops=mean(harmless, NO_OP),
        sets={sets[k - 1].set: mean([k]) for k in harmless},
    )


def replicated_rewrites(table: Floats, sets: Sets, sorts: Sorts, counts: Counts) -> ResampledMean:
    """`HardPositives.rewrites` with its replicates."""
    return replicated_mean(_wins(table, sets, sorts, _harmless(sets), REWRITE), counts)


def _harmless(sets: Sets) -> list[int]:
    """The columns of the table that hold harmless changes."""
    return [k + 1 for k in summarised(sets) if sets[k].expected == "same"]


def _wins(
    table: Floats, sets: Sets, sorts: Sorts, chosen: Sequence[int], sort: int | None
) -> Floats:
    """Per image the mean over pairs of a harmless change and a near-copy; NaN without a pair."""
    harmful = [k + 1 for k in summarised(sets) if _is_near_copy(sets[k])]
    total, n = np.zeros(len(table)), np.zeros(len(table))
    for k in chosen if harmful else ():
        wins = won(table[:, [k]] - table[:, harmful])
        if sort is not None:
            wins = np.where(sorts[:, [k - 1]] == sort, wins, np.nan)
        total += np.nansum(wins, axis=1)
        n += (~np.isnan(wins)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / n


def _is_near_copy(entry: CorruptionInfo) -> bool:
    return entry.expected == "lower" and entry.kind not in FORM


def invariance(
    table: Floats,
    sets: Sets,
    cells: Mapping[str, SensitivityCell],
    counts: Counts,
    confidence: float,
) -> dict[str, Invariance | None]:
    """Harmless set → its cost as a share of the mildest harm of the same size of edit.

    Sizes are compared by the median number of edited words: 1, 2 to 3, 4 or more. The mildest is
    the near-copy of least mean cost among those that the metric sees (`verdict`). Interval by
    resampled images, the same for both; `None` where there is nothing to compare with.
    """
    shares: dict[str, Invariance | None] = {}
    for k, entry in enumerate(sets, 1):
        if entry.expected != "same":
            continue
        size = _band(entry.median_edits)
        mild = [
            (cost, j)
            for j, e in enumerate(sets, 1)
            if _is_near_copy(e) and size is not None and _band(e.median_edits) == size
            and cells[e.set].verdict == "sees" and (cost := cells[e.set].cost.value or 0.0) > 0
        ]  # fmt: skip
        own_cost = cells[entry.set].cost.value
        if not mild or own_cost is None:
            shares[entry.set] = None
            continue
        least, j = min(mild)
        low, high = _ratio_interval(table, k, j, counts, confidence)
        share = Estimate(value=own_cost / least, low=low, high=high)
        shares[entry.set] = Invariance(against=sets[j - 1].set, share=share)
    return shares


def _band(edits: float | None) -> int | None:
    if edits is None:
        return None
    return next((b for b, (low, high) in enumerate(BANDS) if low <= edits <= high), None)


def _ratio_interval(
    table: Floats, numerator: int, denominator: int, counts: Counts, confidence: float
) -> tuple[float, float]:
    gaps = table[:, [0]] - table[:, [numerator, denominator]]
    known = ~np.isnan(gaps)
    unit = max(float(np.abs(gaps[known]).max(initial=0)), 1e-300) / 2.0**30
    total, n = drawn_sums([np.rint(np.where(known, gaps, 0.0) / unit), known], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = total / n
        ratio = means[:, [0]] / means[:, [1]]
    ratio = np.where(np.isfinite(ratio), ratio, np.nan)
    return central_intervals(ratio, confidence, known.sum(axis=0).min())[0]
