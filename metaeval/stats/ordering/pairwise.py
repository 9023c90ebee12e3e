"""Pairs: of two versions (captions, systems), does the better one score higher, and by how much?"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    complete_items,
    interval_estimate,
    resampled_sums,
    sums_by_unit,
)
from metaeval.stats.resampling.items import (
    Floats,
    Ints,
    as_scores,
    as_table,
    scaled,
    scored_items,
)


class PairCounts(NamedTuple):
    """Pairs of versions per image, int64 [n_images] each."""

    correct: Ints
    tied: Ints
    inverted: Ints


def pair_counts(scores: npt.ArrayLike, levels: npt.ArrayLike) -> PairCounts:
    """Compare the versions of each image with each other: pairs in the order of their levels, with
    equal scores, and in the opposite order.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored: the pairs that touch it are left out, the
        other pairs of the image stay.
    levels
        int [n_sets], more is better. Versions at equal levels are not compared.

    Notes
    -----
    Source
        The two-alternative forced choice of PASCAL-50S (R. Vedantam, C. L. Zitnick, D. Parikh
        (2015), CIDEr, CVPR), with known degrees of corruption in the place of judges.

    Examples
    --------
    >>> scores = [[0.1, 0.5], [0.2, 0.2], [0.4, 0.3], [0.1, 0.9]]
    >>> [part.tolist() for part in pair_counts(scores, [0, 1])]
    [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    """
    values, grades = as_table(scores, levels)
    counts = PairCounts(*np.zeros((3, len(values)), dtype=np.int64))
    columns = np.ascontiguousarray(values.T)
    for a, b in combinations(range(len(grades)), 2):
        if grades[a] == grades[b]:
            continue
        low, high = (columns[a], columns[b]) if grades[a] < grades[b] else (columns[b], columns[a])
        # Comparisons with NaN are false, so pairs that touch an unscored version count nowhere.
        counts.correct[:] += low < high
        counts.tied[:] += low == high
        counts.inverted[:] += low > high
    return counts


def auc(lower: npt.ArrayLike, upper: npt.ArrayLike) -> float:
    """Probability in [0, 1] that a random item of `upper` scores higher than one of `lower`; NaN
    where one side has no scored item.

    Parameters
    ----------
    lower, upper
        Scores of any shape; NaN = not scored, left out. Items of all images are compared with each
        other, not only versions of the same image (that is `pair_counts`).

    Notes
    -----
    Definition
        U / (n_lower · n_upper) with the Mann–Whitney statistic U.
    Ties
        A tie counts one half.
    Interval
        By resampling images (`graded_statistics`), which keeps the two versions of an image
        together; DeLong's interval would take the two sides as independent. No random part.
    Source
        H. B. Mann and D. R. Whitney (1947), Annals of Mathematical Statistics 18; J. A. Hanley and
        B. J. McNeil (1982), Radiology 143. Equal to `scipy.stats.mannwhitneyu` (tested).

    Examples
    --------
    >>> from metaeval.stats.ordering.pairwise import auc
    >>> auc(lower=[0.1, 0.2, 0.4], upper=[0.5, 0.4])
    0.9166666666666666
    """
    low, high = np.sort(scored_items(lower, 0).scores), np.sort(scored_items(upper, 0).scores)
    if not len(low) or not len(high):
        return float("nan")
    below = np.searchsorted(low, high, side="left").sum()
    not_above = np.searchsorted(low, high, side="right").sum()
    return int(below + not_above) / (2 * len(low) * len(high))


def worst_inversion(
    scores: Floats,
    levels: Sequence[int],
    applied: npt.NDArray[np.bool_] | None = None,
    *,
    higher_is_better: bool = True,
) -> Floats:
    """Per image, the most by which a worse version outscores a better one.

    `scores` is [s, n], one row per version, of level `levels[s]` (0 = worst). Negative where all
    versions are in order (then how far the closest two are apart), -inf where an image has no pair
    to compare. Versions that are not `applied` [s, n] are left out: an unchanged caption is not
    worse than the original. A tie is an inversion of size 0; a pair with a missing score is left
    out.

    >>> worst_inversion(np.array([[0.5, 0.1], [0.2, 0.4]]), [0, 1]).round(3).tolist()
    [0.3, -0.3]
    """
    values = np.asarray(scores if higher_is_better else -np.asarray(scores), dtype=np.float64)
    if applied is not None:
        values = np.where(applied, values, np.nan)
    worst = np.full(values.shape[1], -np.inf)
    for a, lower in enumerate(levels):
        for b, upper in enumerate(levels):
            if lower < upper:
                worst = np.fmax(worst, values[a] - values[b])
    return worst


def worst_first(severity: Floats) -> npt.NDArray[np.intp]:
    """Positions by severity, the greatest first; equal ones in their own order."""
    return np.argsort(-severity, kind="stable")


def pairwise_difference_pearson(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> IntervalEstimate:
    """Pearson's r over all differences between two captions of the same image; `n` pairs.

    NaN where either side has no differences within an image.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with NaN in either is left out.
    image
        [n] labels: which captions are compared with each other.
    counts
        [replicates, n_images] from `bootstrap_counts`, in the order of the sorted labels.

    Notes
    -----
    Definition
        Over all ordered pairs (i, j) of captions of one image, r of (s_i − s_j) with (h_i − h_j).
        As Σ (s_i − s_j)(h_i − h_j) = 2 n Σ (s_i − s̄)(h_i − h̄) within an image of n captions, no
        pair is enumerated.
    Ties
        A difference of 0 is a value like any other.
    Unit
        The image.
    Source
        DiIanni and Deutsch (2025), EMNLP, arXiv 2509.25546. Sensitive to outliers.

    Examples
    --------
    >>> result = pairwise_difference_pearson([1, 2, 7, 9], [1, 2, 3, 5], ["x", "x", "y", "y"])
    >>> round(result.value, 4), result.n
    (1.0, 2)
    """
    values, unit, counts = complete_items(
        {"scores": scores, "human": human}, image, counts, replicates, seed
    )
    size = np.bincount(unit, minlength=counts.shape[1]).astype(np.float64)
    means = sums_by_unit(list(map(scaled, values)), unit, counts) / np.maximum(size, 1)[:, None]
    a, b = (scaled(v) - mean[unit] for v, mean in zip(values, means.T, strict=True))
    table = size[:, None] * sums_by_unit((a * b, a * a, b * b), unit, counts)
    pairs = int((size * (size - 1)).sum()) // 2
    r = float(_ratio(table.sum(axis=0, keepdims=True))[0])
    drawn = _ratio(resampled_sums(table, counts))
    return interval_estimate(r, drawn, confidence, int((size > 1).sum()), pairs)


def _ratio(sums: Floats) -> Floats:
    xy, xx, yy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where((xx > 0) & (yy > 0), xy / (np.sqrt(xx) * np.sqrt(yy)), np.nan)
    return np.asarray(np.clip(r, -1, 1), dtype=np.float64)


def soft_pairwise_accuracy(
    human: npt.ArrayLike, metric: npt.ArrayLike, *, replicates: int = 1000, seed: int = 4
) -> float:
    """Agreement of a metric with people about systems, weighing pairs by how clear they are.

    In [0, 1]; NaN without a pair of systems that share an item.

    Parameters
    ----------
    human, metric
        float64 [systems, items]: the ratings and the scores of the systems' outputs for the same
        items, higher is better. NaN = not rated or not scored.
    replicates, seed
        Of the permutation test. The signs are those of the public code for the same seed and
        number of complete items.

    Notes
    -----
    Definition
        1 − mean over pairs of systems of |p_human − p_metric|. p is one-sided: with the scores of
        the two systems swapped at random item by item, the share of arrangements whose summed
        difference is at least the observed one. One matrix of signs serves all pairs and sides.
    Ties
        An arrangement equal to the observed difference counts as at least as great; sums that
        differ by less than 1e-9 of the sum of sizes are equal.
    Missing
        An item without a rating or score of either system leaves the pair.
    Unit
        The item (image); its variance is inside the p-values.
    Source
        B. Thompson, N. Mathur, D. Deutsch, H. Khayrallah (2024), Improving statistical significance
        in human evaluation of automatic metrics via soft pairwise accuracy, WMT. Equal to `pce.py`
        of mt-metrics-eval, which sums in float32, except where that rounding decides ties: by .0004
        on SummEval, by more on small tables (docs/judgments.md; tested against an independent
        implementation).

    Examples
    --------
    >>> human = np.array([[5, 4, 5, 4.0], [3, 3, 4, 2], [3, 2, 4, 3]])
    >>> round(soft_pairwise_accuracy(human, human), 3)
    1.0
    >>> soft_pairwise_accuracy(human, -human) < 0.5
    True
    """
    people, scores = as_scores(human), as_scores(metric)
    if people.ndim != 2 or people.shape != scores.shape:
        raise InputError(
            f"shapes {people.shape} and {scores.shape} are not both [systems, items]", field="human"
        )
    signs = random_signs(people.shape[1], replicates, seed)
    distances = []
    for i, j in combinations(range(len(people)), 2):
        gaps = np.stack([people[i] - people[j], scores[i] - scores[j]])
        common = ~np.isnan(gaps).any(axis=0)
        if common.any():
            gaps = np.where(common, gaps, 0.0)
            least = gaps.sum(axis=1) - 1e-9 * np.abs(gaps).sum(axis=1)
            of_people, of_metric = (gaps @ signs.T >= least[:, None]).mean(axis=1)
            distances.append(abs(of_people - of_metric))
    return 1 - float(np.mean(distances)) if distances else float("nan")


def random_signs(n: int, replicates: int, seed: int) -> Floats:
    """±1 [replicates, n], drawn as float32 uniforms and rounded: the public code's signs."""
    uniforms = np.random.default_rng(seed).random(size=(replicates, n), dtype=np.float32)
    return np.rint(uniforms).astype(np.float64) * 2 - 1


class MonotoneFlags(NamedTuple):
    """bool [n_images] each: all versions strictly in order; all versions scored."""

    monotone: npt.NDArray[np.bool_]
    complete: npt.NDArray[np.bool_]


def monotone_flags(scores: npt.ArrayLike, levels: npt.ArrayLike) -> MonotoneFlags:
    """In which images every version scores higher than every version below its level, and which
    have a score for every version.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored. (Fewer versions are easier to get right, so
        incomplete images would raise the rate.)
    levels
        int [n_sets], more is better. Versions at equal levels may come in any order.

    Notes
    -----
    Ties
        Strict: one tie between two levels and the image is not monotone.
    Chance
        1/n_sets! for distinct levels: 0.0417 with four sets.

    Examples
    --------
    >>> monotone_flags([[0.1, 0.5, 0.9], [0.2, 0.2, 0.8]], [0, 1, 2]).monotone.tolist()
    [True, False]
    """
    values, grades = as_table(scores, levels)
    counts = pair_counts(values, grades)
    # An order needs two different levels.
    several = len(np.unique(grades)) > 1
    complete = np.asarray(~np.isnan(values).any(axis=1) & several)
    return MonotoneFlags(complete & (counts.tied + counts.inverted == 0), complete)
