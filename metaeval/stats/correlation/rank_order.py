"""The paper's rank-order ρ: sort all captions by score, and compare the levels with the ideal."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import (
    Floats,
    Ints,
    as_table,
    centred_midranks,
    encode,
    scored_items,
)

_STREAM = 0x71E5  # keeps tie-breaking apart from the resampling under the same seed


class RankOrder(NamedTuple):
    """What `rank_order` returns; all NaN with fewer than two levels that have scored items.

    Attributes
    ----------
    rho
        Expectation under random tie-breaking, exact; in [-1, 1]. 0 if all scores are equal.
    worst, best
        ρ under the worst and the best way of breaking the ties, exact.
    draws
        ρ under the random tie-breaking of each seed.
    n
        Number of scored items.
    """

    rho: float
    worst: float
    best: float
    draws: tuple[float, ...]
    n: int

    @property
    def tie_mean(self) -> float:
        """Mean of the draws; NaN without draws."""
        return float(np.mean(self.draws)) if self.draws else float("nan")

    @property
    def tie_std(self) -> float:
        """Standard deviation of the draws (n − 1 in the denominator); NaN below two draws."""
        return float(np.std(self.draws, ddof=1)) if len(self.draws) > 1 else float("nan")


def rank_order(
    scores: npt.ArrayLike, levels: npt.ArrayLike, tie_seeds: Sequence[int] = ()
) -> RankOrder:
    """Spearman's ρ between the levels read off in order of score and the levels in ideal order.

    Parameters
    ----------
    scores, levels
        As in `metaeval.stats.correlation.correlations.spearman`: [n_images, n_sets] with NaN = not
        scored, and [n_sets] or the same shape. Equal levels are one level.
    tie_seeds
        One random tie-breaking is drawn for each seed.

    Notes
    -----
    Definition
        Put the n scored items in ascending order of score; L_p is the level at position p and I_p
        the p-th smallest level. ρ is Pearson's correlation of the midranks of L with those of I.
        With levels of equal size this is 1 − Σd²/(2·n·var), d = L − I, var the variance of the
        levels. Perfectly separated levels give 1, whatever the order inside a level.
    The paper
        This form is not printed there. It was chosen because it gives the steps in which the
        published values move: multiples of 0.00004 for four levels of 5,000 captions, of 0.0004
        for two. Eq. 12 of the paper, 1 − 6Σd²/(n(n² − 1)), taken literally on the midranks of the
        levels is nearer to 1: with k equal levels 1 − (1 − ρ)(n² − (n/k)²)/(n² − 1).
    Ties
        An order has to put equal scores one after the other, and ρ depends on how. Reported are
        the expectation over all ways, the two extremes, and some random ways. Only a block of ties
        across the boundary between two levels of the ideal order can change ρ.
    Missing
        An item without a score is left out; the other versions of its image stay.
    Interval
        `graded_statistics` resamples images and takes the expectation in every replicate.
    Seed
        Each entry of `tie_seeds` seeds a generator of its own.
    Source
        O. González-Chávez, G. Ruiz, D. Moctezuma, T. Ramirez-delReal (2022), Are metrics measuring
        what they should? An evaluation of image captioning task metrics. The tie rule is not in the
        paper; random tie-breaking is what reproduces its numbers.

    Examples
    --------
    >>> from metaeval.stats.correlation.rank_order import rank_order
    >>> result = rank_order([[0.0, 0.5], [0.0, 0.6], [0.0, 0.0]], [0, 1])
    >>> result.rho, result.worst, result.best
    (0.5, 0.3333333333333333, 1.0)
    """
    items = scored_items(scores, levels)
    (values, rows), (distinct, columns) = map(encode, items)
    shape = len(values), len(distinct)
    counts = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)
    return _of_counts(counts, tie_seeds)


def _of_counts(counts: Ints, tie_seeds: Sequence[int]) -> RankOrder:
    """The same of `counts` [scores, levels], how many items of a level have a score."""
    sizes = counts.sum(axis=0)
    n = int(sizes.sum())
    if (sizes > 0).sum() < 2:
        nan = float("nan")
        return RankOrder(nan, nan, nan, (nan,) * len(tie_seeds), n)
    # Position p belongs to the first boundary's level if p < boundaries[0], and so on. All that ρ
    # needs to know is how many items of each level come before each boundary.
    boundaries = np.cumsum(sizes)[:-1]
    blocks = counts.sum(axis=1)
    starts = np.cumsum(blocks) - blocks
    at = np.minimum(np.searchsorted(starts, boundaries, side="right") - 1, len(blocks) - 1)
    before = np.array([counts[:row].sum(axis=0) for row in at])  # [boundary, level], whole blocks
    split, taken = counts[at], boundaries - starts[at]  # the block a boundary cuts; items before it

    def filled(order: Ints) -> Ints:
        """How many of each level come first if a block puts its levels in the given order."""
        ahead = np.cumsum(order, axis=1) - order
        return np.asarray(np.clip(taken[:, None] - ahead, 0, order))

    expected = split * (taken / blocks[at])[:, None]
    worst, best = filled(split[:, ::-1])[:, ::-1], filled(split)
    drawn = [_drawn(at, split, taken, seed) for seed in tie_seeds]
    prefixes = before + np.array([expected, worst, best, *drawn], dtype=np.float64)
    rhos = [float(rho) for rho in rho_of_prefixes(prefixes.T, sizes)]
    return RankOrder(rhos[0], rhos[1], rhos[2], tuple(rhos[3:]), n)


def _drawn(at: Ints, split: Ints, taken: Ints, seed: int) -> Ints:
    """Shuffle each block that a boundary cuts, and count the levels before the boundary."""
    rng = np.random.default_rng([_STREAM, seed])
    prefix = np.zeros_like(split)
    for block in np.unique(at[taken > 0]):
        cuts = np.flatnonzero(at == block)
        order = rng.permutation(np.repeat(np.arange(split.shape[1]), split[cuts[0]]))
        for cut in cuts:
            prefix[cut] = np.bincount(order[: taken[cut]], minlength=split.shape[1])
    return prefix


def rho_of_prefixes(prefixes: Floats, sizes: npt.ArrayLike) -> Floats:
    """Rank-order ρ from the number of items of each level before each boundary.

    Parameters
    ----------
    prefixes
        float64 [n_levels, n_levels − 1, r]: items of a level among the first b positions, b the
        number of items at the lowest one, two, … levels; for r orders (replicates) at once.
    sizes
        [n_levels] or [n_levels, r]: items at each level.

    Returns
    -------
    float64 [r]; NaN where fewer than two levels have items.
    """
    w = np.asarray(sizes, dtype=np.float64).reshape(len(prefixes), -1)
    rank = centred_midranks(w)
    r = prefixes.shape[2]
    edges = np.concatenate([np.zeros((len(w), 1, r)), prefixes], axis=1)
    total = np.zeros(r)
    for level in range(len(w)):
        # Items of `level` in the stretch of positions that is ideally level z.
        stretch = np.diff(edges[level], axis=0, append=np.broadcast_to(w[level], (1, r)))
        total += rank[level] * (stretch * rank).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = total / (w * rank * rank).sum(axis=0)
    return result


def tie_breaking_seeds(count: int, seed: int) -> list[int]:
    """The `count` tie-breaking seeds of a run; runs of different seeds share none of them."""
    return [seed * count + k for k in range(count)]


def rank_orders_within(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Floats:
    """The rank-order ρ among the versions of each image, float64 [n_images].

    Differences in difficulty between images, which the pooled `rank_order` pays for, play no part
    here.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], NaN = not scored.
    levels
        int [n_sets], more is better.

    Notes
    -----
    Definition
        For one image: its scored versions in order of score, their levels against the ideal order
        of these levels; Pearson's correlation of the midranks.
    Ties
        Midranks, which is the expectation under random tie-breaking: an image whose versions all
        score the same counts 0 (Spearman's ρ would be undefined and drop it).
    Missing
        An image counts with the versions that are scored, if these are of at least two levels;
        otherwise it has NaN.
    Seed
        None: no random part.

    Examples
    --------
    >>> from metaeval.stats.correlation.rank_order import rank_orders_within
    >>> rank_orders_within([[0.1, 0.5, 0.9], [0.2, 0.2, 0.8], [0.3, 0.3, 0.3]], [0, 1, 2]).tolist()
    [1.0, 0.75, 0.0]
    """
    values, grades = as_table(scores, levels)
    scored = ~np.isnan(values)
    # Images with the same versions missing share their ideal order; usually that is all of them.
    members = np.zeros(len(values), dtype=np.int64)
    for column in scored.T:
        members = encode(2 * members + column)[1]
    rhos = np.full(len(values), np.nan)
    for k in range(int(members.max(initial=-1)) + 1):
        mine = members == k
        pattern = scored[np.argmax(mine)]
        if len(np.unique(grades[pattern])) > 1:
            rhos[mine] = _rhos(values[mine][:, pattern], grades[pattern])
    return rhos


def _rhos(values: Floats, levels: Ints) -> Floats:
    """The ρ of every row of a table without gaps, float64 [n_images]."""
    from scipy.stats import rankdata  # slow to import

    rank = rankdata(levels) - (len(levels) + 1) / 2
    ideal = np.concatenate([[0.0], np.cumsum(np.sort(rank))])  # ideal ranks summed up to a position
    columns = np.ascontiguousarray(values.T)
    covariance = np.zeros(len(values))
    for column, level_rank in zip(columns, rank, strict=True):
        # A version's block of ties takes positions first … last − 1; on average each of them is
        # given the mean ideal rank of the block.
        first = (columns < column).sum(axis=0)
        last = (columns <= column).sum(axis=0)
        covariance += level_rank * (ideal[last] - ideal[first]) / (last - first)
    return covariance / float(rank @ rank)
