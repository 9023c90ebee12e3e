"""Every across-image statistic in every bootstrap replicate, chunk by chunk."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.rank_order import rho_of_prefixes
from metaeval.stats.ordering.pairwise import monotone_flags, pair_counts
from metaeval.stats.resampling.bootstrap import Buffers, Counts, map_chunks, replicates_at_a_time
from metaeval.stats.resampling.items import Floats, as_table, encode
from metaeval.stats.resampling.weighted import (
    Sums,
    WeightedOrder,
    pad_weights,
    rank_correlations,
    sum_type,
)


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
