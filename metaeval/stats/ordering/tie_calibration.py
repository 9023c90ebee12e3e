"""Pairwise accuracy with tie calibration: how close two scores may be and still count as equal."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    bootstrap_counts,
    interval_estimate,
    resampled_means,
)
from metaeval.stats.resampling.items import (
    Floats,
    Ints,
    as_scores,
    encode,
    random_folds,
    require_aligned,
)

MOST_PAIRS = 2_000_000  # a share of so many has a standard error of at most 0.04 %
_PAIRS_STREAM = 0x9A125  # keeps the draw apart from other uses of the same seed


class GroupPairs(NamedTuple):
    """What `group_pairs` returns.

    Attributes
    ----------
    first, second
        int [p]: the positions of the items of each pair, the earlier one first.
    total
        How many pairs there are; more than p where some were drawn.
    """

    first: Ints
    second: Ints
    total: int


def group_pairs(group: Ints, most: int | None = None) -> GroupPairs:
    """The pairs of items with the same group, [n] codes 0 …

    Where there are more than `most` (by default `MOST_PAIRS`) in all, the largest groups have an
    equal number of pairs each, drawn at random with replacement; the smaller ones have all of
    theirs. The draw depends on the groups alone.

    >>> [x.tolist() for x in group_pairs(np.array([1, 0, 1, 1]))[:2]]
    [[0, 0, 2], [2, 3, 3]]
    >>> len(group_pairs(np.zeros(100, dtype=np.int64), most=50).first)
    50
    """
    most = MOST_PAIRS if most is None else most
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    pairs = sizes * (sizes - 1) // 2
    total = int(pairs.sum())
    drawn = pairs > _limit(np.sort(pairs), most)
    # item i of a group is paired with those after it: i is repeated, its partners are counted off
    items = np.flatnonzero(~drawn[group[order]])
    ends = np.repeat(np.cumsum(sizes), sizes)
    partners = (ends - np.arange(len(order)) - 1)[items]
    first = np.repeat(items, partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    if drawn.any():
        rng = np.random.default_rng(_PAIRS_STREAM)
        each = (most - len(first)) // int(drawn.sum())
        starts, of = (np.cumsum(sizes) - sizes)[drawn][:, None], sizes[drawn][:, None]
        one = rng.integers(of, size=(len(of), each))
        other = rng.integers(of - 1, size=(len(of), each))
        other += other >= one
        low, high = np.minimum(one, other) + starts, np.maximum(one, other) + starts
        first, second = np.append(first, low), np.append(second, high)
    return GroupPairs(order[first], order[second], total)


def _limit(ascending: Ints, most: int) -> int:
    """The most pairs that a group may have for its own not to be drawn."""
    before = np.cumsum(ascending) - ascending
    share = (most - before) // np.arange(len(ascending), 0, -1)
    above = np.flatnonzero(ascending > share)
    return int(share[above[0]]) if len(above) else int(ascending.max(initial=0))


# Means of fractions that are equal on paper differ by roundings; below this they are one.
_SAME = 1e-12


class TieCalibration(NamedTuple):
    """What `tie_calibration` returns.

    Attributes
    ----------
    accuracy
        The greatest accuracy that any ε reaches, in [0, 1]; NaN without pairs.
    epsilon
        The smallest ε that reaches it. Two scores at most ε apart count as tied.
    uncalibrated
        The accuracy at ε = 0.
    n_pairs, n_groups
        How many pairs were compared, and how many groups have a pair.
    total
        How many pairs there are; more than `n_pairs` where these were drawn (`group_pairs`).
    tied
        The share of the compared pairs whose scores are at most ε apart.

    Notes
    -----
    Definition
        (pairs in the order of the judgements + pairs tied on both sides) / all pairs, where scores
        are tied if |difference| ≤ ε. The candidates for ε are 0 and all differences that occur.
    Ties
        Judgements are tied if equal. Of several best ε the smallest is taken.
    Missing
        An item without score or judgement is left out; a group without a pair counts nowhere.
    Time
        O(p log p) for p pairs, O(p) memory; of more than `MOST_PAIRS` some are drawn.
    Interval
        By resampling groups at the ε found on all of them (`pair_outcomes`).
    Source
        D. Deutsch, G. Foster, M. Freitag (2023), Ties matter: meta-evaluating modern metrics with
        pairwise accuracy and tie calibration, EMNLP, sections 5 and 6 (acc*_eq); averaged over
        groups as in mt-metrics-eval.
    """

    accuracy: float
    epsilon: float
    uncalibrated: float
    n_pairs: int
    n_groups: int
    total: int
    tied: float


class ItemPairs(NamedTuple):
    """All pairs of items within groups: float64 [p] distances in score, bool [p] whether the
    judgements are tied, bool [p] whether the scores are in the judgements' order, int [p] group;
    and how many pairs there are, more than p where they were drawn."""

    distance: Floats
    tied: npt.NDArray[np.bool_]
    concordant: npt.NDArray[np.bool_]
    group: npt.NDArray[np.int64]
    total: int


def tie_calibration(
    scores: npt.ArrayLike, human: npt.ArrayLike, groups: npt.ArrayLike | None = None
) -> TieCalibration:
    """Pairwise accuracy with ties, at the ε that maximises it.

    A metric with fine-grained scores practically never ties two captions, people often do. Plain
    accuracy makes that a mistake of the metric; here scores within ε count as tied, and ε is the
    one best for the metric.

    Parameters
    ----------
    scores, human
        float64 [n] each; NaN = not scored or not judged.
    groups
        [n] which items are compared with each other: those of one image, say. The accuracy is the
        mean over the groups of each group's own accuracy. `None`: all items are one group, with
        n(n − 1)/2 pairs.

    Examples
    --------
    Two captions that people find equally good, and one worse; at ε = 0.1 all pairs are right:

    >>> from metaeval.stats.ordering.tie_calibration import tie_calibration
    >>> result = tie_calibration([0.5, 0.6, 0.1], [3, 3, 1])
    >>> result.accuracy, round(result.epsilon, 6), round(result.uncalibrated, 4)
    (1.0, 0.1, 0.6667)
    """
    return calibrate(pairs_within(scores, human, groups))


def calibrate(pairs: ItemPairs) -> TieCalibration:
    """`tie_calibration` of pairs that are known."""
    n = len(pairs.distance)
    if not n:
        nan = float("nan")
        return TieCalibration(nan, nan, nan, 0, 0, 0, nan)
    sizes = np.bincount(pairs.group)
    n_groups = int((sizes > 0).sum())
    weight = 1 / (sizes[pairs.group] * n_groups)  # of one pair in the mean over the groups
    # Raising ε past a pair's distance makes the pair tied: right if the judgements are tied, wrong
    # if it was in order before. ItemPairs at distance 0 are tied from the start.
    order = np.argsort(pairs.distance, kind="stable")
    gain = (pairs.tied.astype(np.int8) - pairs.concordant)[order] * weight[order]
    start = float(weight[pairs.concordant].sum())
    distance = pairs.distance[order]
    last = np.flatnonzero(np.append(distance[1:] != distance[:-1], True))
    curve = start + np.cumsum(gain)[last]
    epsilons = distance[last]
    if epsilons[0] > 0:  # no pair of equal scores: ε = 0 is a candidate of its own
        epsilons, curve = np.append(0.0, epsilons), np.append(start, curve)
    epsilon = float(epsilons[np.flatnonzero(curve >= curve.max() - _SAME)[0]])
    return TieCalibration(
        _mean_accuracy(pairs, epsilon),
        epsilon,
        _mean_accuracy(pairs, 0.0),
        n,
        n_groups,
        pairs.total,
        float((pairs.distance <= epsilon).mean()),
    )


def _mean_accuracy(pairs: ItemPairs, epsilon: float) -> float:
    """The accuracy at ε without the roundings of running sums."""
    right, totals = pair_outcomes(pairs, epsilon, int(pairs.group.max()) + 1)
    return float((right[totals > 0] / totals[totals > 0]).mean())


def pairs_within(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    most: int | None = None,
) -> ItemPairs:
    """The pairs of scored items of the same group, `most` as in `group_pairs` and the other
    arguments as in `tie_calibration`."""
    x, y = as_scores(scores), as_scores(human)
    group = encode(np.zeros(len(x)) if groups is None else groups)[1]
    require_aligned(scores=x, judgements=y, groups=group)
    complete = ~(np.isnan(x) | np.isnan(y))
    x, y, group = x[complete], y[complete], group[complete]
    first, second, total = group_pairs(group, most)
    dx, dy = x[first] - x[second], y[first] - y[second]
    agree = (dx > 0) & (dy > 0) | (dx < 0) & (dy < 0)
    return ItemPairs(np.abs(dx), dy == 0, agree, group[first], total)


def pair_outcomes(pairs: ItemPairs, epsilon: float, n_groups: int) -> tuple[Floats, Floats]:
    """Right pairs and all pairs of each group, float64 [n_groups], at a given ε.

    Their resampled ratios give intervals; `n_groups` is the number of groups with and without
    pairs, in the order of `numpy.unique` of the labels.
    """
    close = pairs.distance <= epsilon
    right = np.where(close, pairs.tied, pairs.concordant)
    groups = (
        np.bincount(pairs.group[right], minlength=n_groups),
        np.bincount(pairs.group, minlength=n_groups),
    )
    return groups[0].astype(np.float64), groups[1].astype(np.float64)


_STREAM = 0xCF7C  # separates the folds from other uses of the same seed


def cross_fitted_tie_calibration(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    folds: int = 2,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> IntervalEstimate:
    """Pairwise accuracy with ties where no pair takes part in choosing its own ε; of `n` pairs.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with NaN in either is left out.
    groups, folds
        [n] labels (images): pairs are formed within a group; random folds are of whole groups.
    counts
        [replicates, n_groups] from `bootstrap_counts`, in the order of the sorted labels.

    Notes
    -----
    Definition, ties
        As in `tie_calibration`; each fold's groups are scored at the ε fitted on the others.
    Unit
        The group. The interval holds the ε fixed.
    Source
        S. Perrella et al. (2024), Guardians of the machine translation meta-evaluation, ACL,
        section 5: an ε fitted on the items that are reported favours metrics of few values.

    Examples
    --------
    >>> scores, human = [0.5, 0.6, 0.1] * 4, [3, 3, 1] * 4
    >>> result = cross_fitted_tie_calibration(scores, human, np.repeat(range(4), 3))
    >>> result.value, result.n
    (1.0, 12)
    """
    x, y = as_scores(scores), as_scores(human)
    labels, unit = encode(groups)
    require_aligned(scores=x, human=y, groups=unit)
    if folds < 2:
        raise InputError(f"{folds} folds; use 2 or more", field="folds")
    fold_of = random_folds(len(labels), folds, _STREAM, seed)
    fold = fold_of[unit]
    pairs = pairs_within(x, y, unit)
    accuracy = np.full(len(labels), np.nan)
    for k in range(folds):
        fitted = tie_calibration(x[fold != k], y[fold != k], unit[fold != k])
        right, total = pair_outcomes(pairs, fitted.epsilon, len(labels))
        in_fold = (fold_of == k) & (total > 0) & (fitted.n_pairs > 0)
        accuracy[in_fold] = right[in_fold] / total[in_fold]
    known = ~np.isnan(accuracy)
    if not known.any():
        return IntervalEstimate(np.nan, np.nan, np.nan, 0)
    if counts is None:
        counts = bootstrap_counts(len(labels), replicates, seed)
    value, drawn = float(accuracy[known].mean()), resampled_means(accuracy, counts)
    return interval_estimate(value, drawn, confidence, int(known.sum()), len(pairs.distance))
