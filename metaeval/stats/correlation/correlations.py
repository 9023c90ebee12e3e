"""Every correlation with human judgements, for many weightings of the same items at once.

A bootstrap replicate weighs each unit (an image) by how often it was drawn; a permutation weighs
the scores of one metric by 1 where they are kept and those of the other by 1 where they are
swapped in. Both are the same sums, so both go through here.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.correlation.kendall import centred_midranks, kendall
from metaeval.stats.resampling.bootstrap import (
    Buffers,
    map_chunks,
    replicates_at_a_time,
    resampled_sums,
    sums_by_unit,
)
from metaeval.stats.resampling.items import Floats, Ints, centred, encode, scored_items
from metaeval.stats.resampling.weighted import (
    WeightedOrder,
    pad_weights,
    rank_correlations,
    surplus_of_pairs,
)

# Spearman's rank correlation between the level of a caption and its score.
#
# The pattern of every statistic here: a function of arrays that returns a named tuple, whose
# docstring says the definition, the tie rule, what happens to items without a score, the resampling
# unit of its interval, and the source.


class Spearman(NamedTuple):
    """What `spearman` returns.

    Attributes
    ----------
    rho
        The correlation, in [-1, 1]; NaN where it is undefined: fewer than two items, or all scores
        equal, or all levels equal.
    n
        Number of scored items.

    Notes
    -----
    Definition
        ρ = cov(r, q) / (σ_r σ_q) with r, q the midranks of scores and levels over all scored items.
    Ties
        Equal values share the mean of their ranks (midranks), on both sides.
    Missing
        An item without a score is left out; the other versions of its image stay.
    Interval
        `graded_statistics` resamples whole images, since the versions of one image share their
        difficulty. The statistic itself has no random part and takes no seed.
    Source
        C. Spearman (1904), The proof and measurement of association between two things, American
        Journal of Psychology 15; for ties, M. G. Kendall (1945), The treatment of ties in ranking
        problems, Biometrika 33. Equal to `scipy.stats.spearmanr` to 1e-12 (tested).
    """

    rho: float
    n: int


def spearman(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Spearman:
    """Spearman's ρ: Pearson's correlation of the ranks of the scores with the ranks of the levels.

    With few levels there are long runs of equal levels, so ρ stays below 1 only by what the scores
    get wrong *between* levels and by the spread they have *within* one: four levels of equal size,
    all scores distinct and perfectly ordered, give √(15/16) ≈ 0.968. It is therefore not the
    rank-order ρ of `metaeval.stats.correlation.rank_order`, which reaches 1 for such scores.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], or any other shape. NaN = not scored.
    levels
        [n_sets], or the shape of `scores` (human judgements); more is better. Equal levels are one
        level.

    Returns
    -------
    Spearman
        `rho` and `n`.

    Raises
    ------
    InputError
        For infinite scores, or shapes that do not fit.

    Examples
    --------
    Three images, each with a corrupted and an intact caption:

    >>> from metaeval.stats.correlation.correlations import spearman
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> result = spearman(scores, levels=[0, 1])
    >>> round(result.rho, 4), result.n
    (0.6831, 6)
    """
    items = scored_items(scores, levels)
    n = len(items.scores)
    if n < 2:
        return Spearman(float("nan"), n)
    from scipy.stats import rankdata  # slow to import

    # The mean rank is (n + 1) / 2 with and without ties, so centring is exact.
    r, q = (rankdata(values) - (n + 1) / 2 for values in items)
    spread = float((r * r).sum()) * float((q * q).sum())
    if spread == 0:
        return Spearman(float("nan"), n)
    return Spearman(float((r * q).sum()) / spread**0.5, n)


class Pearson(NamedTuple):
    """What `pearson` returns.

    Attributes
    ----------
    r
        In [-1, 1]; NaN where it is undefined: fewer than two items, or one side constant.
    n
        Number of scored items.
    """

    r: float
    n: int


def pearson(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Pearson:
    """Pearson's r: how well a straight line predicts one side from the other.

    Parameters
    ----------
    scores, levels
        As in `spearman`: any shape with NaN = not scored, and
        the same shape or one that broadcasts to it.

    Notes
    -----
    Definition
        cov(x, y) / (σ_x σ_y) over all scored items.
    Ties
        Play no part: values count, not ranks.
    Missing
        An item without a score or without a judgement is left out.
    Interval
        By resampling images (`resampled_correlation`); no random part.
    Source
        K. Pearson (1895), Note on regression and inheritance in the case of two parents,
        Proceedings of the Royal Society of London 58. Equal to `scipy.stats.pearsonr` to 1e-12
        (tested).

    Examples
    --------
    >>> from metaeval.stats.correlation.correlations import pearson
    >>> round(pearson([0.1, 0.2, 0.4, 0.3], [1, 2, 3, 4]).r, 4)
    0.8
    """
    x, y = scored_items(scores, levels)
    n = len(x)
    # A constant has a spread of exactly zero only if its mean comes out exact: compare instead.
    if n < 2 or (x == x[0]).all() or (y == y[0]).all():
        return Pearson(float("nan"), n)
    x, y = centred(x), centred(y)
    r = float((x * y).sum()) / (float((x * x).sum()) ** 0.5 * float((y * y).sum()) ** 0.5)
    return Pearson(max(-1.0, min(1.0, r)), n)


NAMES = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
FEW_LEVELS = 64  # with more, tables of scores by levels grow heavier than sorting


class CorrelationValues(NamedTuple):
    """Four correlations; NaN where one is undefined."""

    pearson: float
    spearman: float
    kendall_tau_b: float
    kendall_tau_c: float


def correlations(scores: npt.ArrayLike, human: npt.ArrayLike) -> CorrelationValues:
    """All four correlations of n scores with n judgements.

    >>> [round(value, 3) for value in correlations([0.1, 0.2, 0.4, 0.3], [1, 2, 2, 3])]
    [0.632, 0.632, 0.548, 0.562]
    """
    return CorrelationValues(
        pearson=pearson(scores, human).r,
        spearman=spearman(scores, human).rho,
        kendall_tau_b=kendall(scores, human, "b").tau,
        kendall_tau_c=kendall(scores, human, "c").tau,
    )


def correlation(statistic: str, scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """One of `NAMES` of n scores with n judgements."""
    return getattr(correlations(scores, human), statistic)


Statistic = Literal["pearson", "spearman", "kendall_tau_b"]


def resampled_correlation(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    unit: Ints,
    weights: npt.NDArray[np.integer],
    threads: int | None = None,
) -> Floats:
    """A correlation of weighted items [r]: that of the items repeated as often as they weigh.

    Parameters
    ----------
    x, y
        float64 [n], without NaN. With more than 64 distinct y, τ-b takes O(n²) time.
    unit
        int [n] in 0 … n_units − 1: the unit (image) that each item's weight comes from.
    weights
        int [r, n_units].
    threads
        As in `map_chunks`; no number depends on it.

    Notes
    -----
    Ties and undefined values as in `pearson`, `spearman`, `kendall`. Rank correlations are made of
    exact sums of whole numbers: of tables of scores by levels (`WeightedOrder`) while there are
    few levels.
    """
    if statistic == "pearson":
        x, y = centred(x), centred(y)
        parts = [np.ones(len(x)), x, y, x * x, y * y, x * y]
        return pearson_of_sums(resampled_sums(sums_by_unit(parts, unit, weights), weights))
    levels, level = encode(y)
    if len(levels) > FEW_LEVELS:
        return _of_many_levels(statistic, x, y, unit, weights, threads)
    order = WeightedOrder(x, unit, level, weights.shape[1], len(levels))
    size = replicates_at_a_time(len(x))

    def chunk(start: int, buffers: Buffers) -> Floats:
        drawn = pad_weights(weights[start : start + size].T, np.float64, buffers)
        ranks = rank_correlations(order.sums(drawn, buffers, prefixes=False))
        return ranks.spearman_rho if statistic == "spearman" else ranks.kendall_tau_b

    return np.concatenate(map_chunks(chunk, range(0, len(weights), size), threads))


def _of_many_levels(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    unit: Ints,
    weights: npt.NDArray[np.integer],
    threads: int | None,
) -> Floats:
    from scipy.sparse import csr_array  # slow to import

    codes = [encode(values)[1] for values in (x, y)]
    each = np.ones(len(unit))
    # [values, n_units]: items of a unit with a value
    tables = [csr_array((each, (c, unit)), (c.max() + 1, weights.shape[1])) for c in codes]
    size = replicates_at_a_time(len(x))

    def tau_denominator(start: int, _: Buffers) -> Floats:
        sizes = [table @ weights[start : start + size].T for table in tables]
        untied = [(s.sum(axis=0) ** 2 - (s * s).sum(axis=0)) / 2 for s in sizes]
        return np.sqrt(untied[0]) * np.sqrt(untied[1])

    def rho(start: int, _: Buffers) -> Floats:
        drawn = weights[start : start + size].T
        sizes = [table @ drawn for table in tables]
        ranks = [centred_midranks(s) for s in sizes]
        spread = [np.einsum("vr,vr,vr->r", s, k, k) for s, k in zip(sizes, ranks, strict=True)]
        first, second = (k[code] for k, code in zip(ranks, codes, strict=True))
        covariance = np.einsum("ir,ir,ir->r", first, second, drawn[unit])
        with np.errstate(invalid="ignore", divide="ignore"):
            return covariance / (np.sqrt(spread[0]) * np.sqrt(spread[1]))

    starts = range(0, len(weights), size)
    if statistic == "spearman":
        return np.concatenate(map_chunks(rho, starts, threads))
    with np.errstate(invalid="ignore", divide="ignore"):
        return surplus_of_pairs(x, y, unit, weights) / np.concatenate(
            map_chunks(tau_denominator, starts, threads)
        )


def pearson_of_sums(sums: Floats) -> Floats:
    """Pearson's r [k] from sums [k, 6] of 1, x, y, x², y² and xy; NaN where one is constant."""
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy, cov = xx - x * x / n, yy - y * y / n, xy - x * y / n
        r = cov / (np.sqrt(np.maximum(vx, 0)) * np.sqrt(np.maximum(vy, 0)))
    # a constant leaves rounding where its variance should be nothing
    r[(vx <= 1e-12 * xx) | (vy <= 1e-12 * yy)] = np.nan
    return np.asarray(np.clip(r, -1, 1))
