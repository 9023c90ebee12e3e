"""All statistics of one metric over graded versions of captions, and their replicates."""

from collections.abc import Sequence
from itertools import combinations, pairwise as neighbours
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are slow to import: each is, at its first use

from metaeval.errors import InputError
from metaeval.stats.correlation.rank_order import (
    rank_order,
    rank_orders_within,
    rho_of_prefixes,
    tie_breaking_seeds,
)
from metaeval.stats.resampling.bootstrap import (
    MIN_UNITS,
    Buffers,
    Counts,
    IntervalEstimate,
    bootstrap_counts,
    interval_estimate,
    map_chunks,
    replicates_at_a_time,
    resampled_means,
)
from metaeval.stats.resampling.items import (
    Floats,
    Ints,
    as_table,
    encode,
    mean_of_known,
    scaled,
    ties,
)
from metaeval.stats.resampling.weighted import (
    Sums,
    WeightedOrder,
    pad_weights,
    rank_correlations,
    sum_type,
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


class Replicates(NamedTuple):
    """Each statistic's values, float64 [replicates]; NaN where a replicate leaves it undefined.

    Attributes
    ----------
    rank_order_rho, spearman_rho, kendall_tau_b
        `rank_order`, `spearman` and `kendall` over all scored items.
    adjacent_auc
        [n_levels − 1, replicates]: `auc` of each level with the next higher one, ascending; sets at
        equal levels are pooled. A level none of whose items is scored stays in its place.
    pairwise_accuracy, inversion_rate
        Shares, of the pairs of all images (`pair_counts`), of those in the order of their levels
        and in the opposite one; ties are the rest.
    monotone_rate
        The share of the complete images that are monotone (`monotone_flags`).
    """

    rank_order_rho: Floats
    spearman_rho: Floats
    kendall_tau_b: Floats
    adjacent_auc: Floats
    pairwise_accuracy: Floats
    inversion_rate: Floats
    monotone_rate: Floats


def replicate_statistics(
    scores: npt.ArrayLike, levels: npt.ArrayLike, counts: Counts, threads: int | None = None
) -> Replicates:
    """The statistics of the resampled images, equal to computing them on the resampled table.

    Parameters
    ----------
    scores, levels
        float64 [n_images, n_sets] with NaN = not scored, and int [n_sets].
    counts
        int [replicates, n_images] from `bootstrap_counts`. A column of ones gives the plain
        statistics.
    threads
        At most so many; by default one per available core, eight at most. The result does not
        depend on it: chunks are fixed and all sums exact.
    """
    values, grades = as_table(scores, levels)
    if counts.ndim != 2 or counts.shape[1] != len(values):
        raise InputError(
            f"shape {counts.shape} is not [replicates, {len(values)}]", field="bootstrap counts"
        )
    distinct, groups = encode(grades)
    order = WeightedOrder.of_table(values, groups, len(distinct))
    flags, pairs = monotone_flags(values, grades), pair_counts(values, grades)
    dtype: npt.DTypeLike = sum_type(counts, groups)
    size = replicates_at_a_time(values.size)
    within = [part.astype(dtype) for part in (*pairs, flags.monotone, flags.complete)]
    by_image = counts.T

    def chunk(start: int, buffers: Buffers) -> list[Floats]:
        part = by_image[:, start : start + size]
        weights = pad_weights(part, dtype, buffers)
        # einsum, not @: BLAS has no integers, and its own threads would fight with ours.
        correct, tied, inverted, monotone, complete = (
            np.einsum("i,ir->r", image, weights[:-1]) for image in within
        )
        n_pairs = correct + tied + inverted
        with np.errstate(invalid="ignore", divide="ignore"):
            return [
                *_across(order.sums(weights, buffers)),
                correct / n_pairs,
                inverted / n_pairs,
                monotone / complete,
            ]

    chunks = map_chunks(chunk, range(0, len(counts), size), threads)
    if not chunks:
        none = np.empty(0)
        return Replicates(none, none, none, np.empty((len(distinct) - 1, 0)), none, none, none)
    return Replicates(*(np.concatenate(parts, axis=-1) for parts in zip(*chunks, strict=True)))


def _across(sums: Sums) -> list[Floats]:
    """Rank-order ρ, Spearman's ρ, Kendall's τ-b and the adjacent AUCs from their sums."""
    w, wins = sums.sizes, sums.wins
    ranks = rank_correlations(sums)
    aucs = [wins[g + 1, g] / (w[g + 1] * w[g]) for g in range(len(w) - 1)]
    return [
        rho_of_prefixes(sums.prefixes, w),
        ranks.spearman_rho,
        ranks.kendall_tau_b,
        np.array(aucs).reshape(len(w) - 1, w.shape[1]),
    ]


class VarianceParts(NamedTuple):
    """What `variance_parts` returns: three shares of the same sum of squares, which add up to 1.

    Attributes
    ----------
    image
        Share of differences between images that all versions have: offset. It lowers the pooled
        rank-order ρ, but not statistics within an image.
    level
        Share of differences between levels, averaged over images: the effect of interest.
    rest
        The remaining share: images in which the levels are ordered differently, and noise.
    n
        Complete images. With fewer than two, or equal scores throughout, the shares are NaN.
    """

    image: float
    level: float
    rest: float
    n: int


def variance_parts(scores: npt.ArrayLike, levels: npt.ArrayLike) -> VarianceParts:
    """Split the sum of squares of a table of scores into image, level and rest.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored.
    levels
        int [n_sets]. Each set is a column of its own; of equal levels too.

    Notes
    -----
    Definition
        Two-way analysis of variance without replication. With k sets, n images, grand mean m, means
        m_i of image i and m_s of set s: image = k Σ (m_i − m)², level = n Σ (m_s − m)², and the
        rest is what is missing to Σ (x_is − m)². No iteration: a closed form.
    Missing
        A set without any score is left out, and then each image without a score for every version,
        so that the parts are orthogonal.
    Source
        R. A. Fisher (1925), Statistical Methods for Research Workers; H. Scheffé (1959), The
        Analysis of Variance, section 4.2.

    Examples
    --------
    >>> from metaeval.stats.ordering.graded import variance_parts
    >>> parts = variance_parts([[0.0, 1.0], [4.0, 7.0]], [0, 1])
    >>> [round(share, 4) for share in (parts.image, parts.level, parts.rest)]
    [0.8333, 0.1333, 0.0333]
    """
    values, _ = as_table(scores, levels)
    values = values[:, ~np.isnan(values).all(axis=0)]
    values = values[~np.isnan(values).any(axis=1)]
    n, k = values.shape
    nan = float("nan")
    if n < 2 or k < 2:
        return VarianceParts(nan, nan, nan, n)
    values = scaled(values.reshape(-1)).reshape(n, k)
    values = values - values.mean()
    of_images, of_sets = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    image, level = k * float((of_images**2).sum()), n * float((of_sets**2).sum())
    rest = float(((values - of_images - of_sets) ** 2).sum())
    total = image + level + rest
    if not total > 0:
        return VarianceParts(nan, nan, nan, n)
    return VarianceParts(image / total, level / total, rest / total, n)


class StepEstimate(NamedTuple):
    """The AUC of the step from the sets `lower` to the sets `upper`."""

    lower: str
    upper: str
    auc: IntervalEstimate

    @property
    def name(self) -> str:
        """ "Replace 25% → Human"."""
        return f"{self.lower} → {self.upper}"


class GradedRecord(NamedTuple):
    """What `graded_statistics` returns; for the definitions see `Replicates`.

    Attributes
    ----------
    rank_order_rho_bounds
        The least and the greatest ρ that breaking ties can give.
    tie_fraction, pairwise_ties
        Shares of pairs with equal scores: of all captions, and of the versions of one image.
    adjacent_auc
        One entry for each step between neighbouring levels, worst first.
    """

    rank_order_rho: IntervalEstimate
    rank_order_rho_tie_mean: float
    rank_order_rho_tie_std: float
    rank_order_rho_bounds: tuple[float, float]
    rank_order_rho_within: IntervalEstimate
    spearman_rho: IntervalEstimate
    kendall_tau_b: IntervalEstimate
    tie_fraction: float
    pairwise_accuracy: IntervalEstimate
    pairwise_ties: float
    adjacent_auc: Sequence[StepEstimate]
    monotone_rate: IntervalEstimate
    inversion_rate: IntervalEstimate
    variance: VarianceParts


class ResampledGraded(NamedTuple):
    """What `graded_result` returns.

    Attributes
    ----------
    record
        What `graded_statistics` returns.
    resampled
        Each statistic in every replicate; of the same `counts`, those of two metrics are paired.
    within
        float64 [replicates]: the rank-order ρ within an image.
    """

    record: GradedRecord
    resampled: Replicates
    within: Floats


def graded_statistics(
    scores: npt.ArrayLike,
    levels: npt.ArrayLike,
    set_names: Sequence[str],
    *,
    higher_is_better: bool = True,
    counts: Counts | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    tie_seeds: int | Sequence[int] = 10,
    seed: int = 0,
    threads: int | None = None,
) -> GradedRecord:
    """Every statistic of one metric; for the definitions see `Replicates`.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets]. NaN = not scored: across-item statistics leave the item out,
        pairs within an image those that touch it, and the monotone rate the image.
    levels, set_names
        [n_sets] each; 0 = worst. Sets at equal levels are one level, and are not compared.
    higher_is_better
        If false, scores are negated.
    counts
        [replicates, n_images] from `bootstrap_counts`: the same for all metrics, so that their
        replicates can be paired. By default drawn from `replicates` and `seed`.
    confidence
        Of the percentile intervals, in (0, 1).
    tie_seeds
        The seeds of the random tie-breakings, or how many to derive from `seed`.
    threads
        See `replicate_statistics`; no number depends on it.

    What is undefined is NaN: Spearman's ρ and τ-b of constant scores (their rank-order ρ is 0),
    everything without scores, the standard deviation of one score, both ends of an interval
    where no replicate defines the statistic or fewer than `MIN_UNITS` images have a score.
    Raises InputError for infinite scores and shapes that do not fit.

    Examples
    --------
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> record = graded_statistics(scores, [0, 1], ["Random", "Human"], replicates=200)
    >>> round(record.rank_order_rho.value, 4), round(record.pairwise_accuracy.value, 4)
    (0.3333, 0.6667)
    """
    if counts is None and (n_images := len(np.asarray(scores))):
        counts = bootstrap_counts(n_images, replicates, seed)
    return graded_result(
        scores,
        levels,
        set_names,
        higher_is_better=higher_is_better,
        counts=counts,
        confidence=confidence,
        tie_seeds=tie_breaking_seeds(tie_seeds, seed) if isinstance(tie_seeds, int) else tie_seeds,
        threads=threads,
    ).record


def graded_result(
    scores: npt.ArrayLike,
    levels: npt.ArrayLike,
    set_names: Sequence[str],
    *,
    higher_is_better: bool = True,
    counts: Counts | None = None,
    confidence: float = 0.95,
    tie_seeds: Sequence[int] = (),
    threads: int | None = None,
) -> ResampledGraded:
    """`graded_statistics`, and the replicates from which metrics are compared in pairs."""
    values, grades = as_table(scores, levels)
    if len(set_names) != len(grades) or not len(grades) or not len(values):
        raise InputError(
            f"{len(set_names)} names for scores of shape {values.shape}", field="set_names"
        )
    if counts is None:
        counts = bootstrap_counts(len(values), 0, 0)
    if not higher_is_better:
        values = -values

    order = rank_order(values, grades, tie_seeds)
    # the replicate that holds every image once comes first: it is the statistic itself
    once = np.ones((1, len(values)), dtype=counts.dtype)
    every = replicate_statistics(values, grades, np.concatenate([once, counts]), threads)
    rhos = rank_orders_within(values, grades)
    within = resampled_means(rhos, counts)
    n_images = int((~np.isnan(values)).any(axis=1).sum())
    correct, tied, inverted = (int(part.sum()) for part in pair_counts(values, grades))
    n_pairs = correct + tied + inverted

    def estimate(replicates: Floats) -> IntervalEstimate:
        return interval_estimate(float(replicates[0]), replicates[1:], confidence, n_images)

    steps = zip(neighbours(_labels(set_names, grades)), every.adjacent_auc, strict=True)
    record = GradedRecord(
        rank_order_rho=estimate(every.rank_order_rho),
        rank_order_rho_tie_mean=order.tie_mean,
        rank_order_rho_tie_std=order.tie_std,
        rank_order_rho_bounds=(order.worst, order.best),
        rank_order_rho_within=interval_estimate(mean_of_known(rhos), within, confidence, n_images),
        spearman_rho=estimate(every.spearman_rho),
        kendall_tau_b=estimate(every.kendall_tau_b),
        tie_fraction=ties(values).items,
        pairwise_accuracy=estimate(every.pairwise_accuracy),
        pairwise_ties=tied / n_pairs if n_pairs else float("nan"),
        adjacent_auc=[
            StepEstimate(lower, upper, estimate(replicates)) for (lower, upper), replicates in steps
        ],
        monotone_rate=estimate(every.monotone_rate),
        inversion_rate=estimate(every.inversion_rate),
        variance=variance_parts(values, grades),
    )
    return ResampledGraded(record, Replicates(*(part[..., 1:] for part in every)), within)


def _labels(set_names: Sequence[str], grades: npt.NDArray[np.int64]) -> list[str]:
    """The names of the sets of each level, worst first."""
    named = list(zip(set_names, grades, strict=True))
    return [
        " + ".join(str(name) for name, grade in named if grade == level)
        for level in np.unique(grades)
    ]


class SelectedRecord(NamedTuple):
    """What `selected_statistics` returns; the pooled ρ has no interval.

    The last three are means over images, so their interval is mean ± z · sd/√n, clipped to the
    range of the statistic; NaN below `MIN_UNITS` images. An image with a share of its pairs counts
    once, however many of them are scored.
    """

    n_images: int
    rank_order_rho: float
    rank_order_rho_within: IntervalEstimate
    pairwise_accuracy: IntervalEstimate
    monotone_rate: IntervalEstimate


def selected_statistics(
    scores: npt.ArrayLike, levels: npt.ArrayLike, *, confidence: float = 0.95
) -> SelectedRecord:
    """Rank-order ρ pooled and within an image, pairwise accuracy and monotone rate.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], higher is better; NaN = not scored.
    levels
        int [n_sets], 0 = worst.
    confidence
        Of the intervals, in (0, 1).

    Examples
    --------
    >>> record = selected_statistics([[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]], [0, 1])
    >>> record.n_images, round(record.pairwise_accuracy.value, 4)
    (3, 0.6667)
    """
    values, grades = as_table(scores, levels)
    pairs, flags = pair_counts(values, grades), monotone_flags(values, grades)
    total = pairs.correct + pairs.tied + pairs.inverted
    shares = np.where(total > 0, pairs.correct / np.maximum(total, 1), np.nan)
    monotone = np.where(flags.complete, flags.monotone.astype(np.float64), np.nan)
    return SelectedRecord(
        n_images=len(values),
        rank_order_rho=rank_order(values, grades).rho if len(values) else float("nan"),
        rank_order_rho_within=_mean(rank_orders_within(values, grades), -1.0, confidence),
        pairwise_accuracy=_mean(shares, 0.0, confidence),
        monotone_rate=_mean(monotone, 0.0, confidence),
    )


def _mean(per_image: Floats, lowest: float, confidence: float) -> IntervalEstimate:
    known = per_image[~np.isnan(per_image)]
    nan = float("nan")
    if not len(known):
        return IntervalEstimate(nan, nan, nan)
    mean = float(known.mean())
    if len(known) < MIN_UNITS:
        return IntervalEstimate(mean, nan, nan)
    half = float(
        scipy.special.ndtri((1 + confidence) / 2) * known.std(ddof=1) / np.sqrt(len(known))
    )
    return IntervalEstimate(mean, max(mean - half, lowest), min(mean + half, 1.0))


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
