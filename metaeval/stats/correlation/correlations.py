"""Every correlation with human judgements, for many weightings of the same items at once.

A bootstrap replicate weighs each unit (an image) by how often it was drawn; a permutation weighs
the scores of one metric by 1 where they are kept and those of the other by 1 where they are
swapped in. Both are the same sums, so both go through here.

The docstring of every statistic says the definition, the tie rule, what happens to items without a
score, the resampling unit of its interval, and the source.
"""

import math
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.resampling.bootstrap import Buffers, map_chunks, replicates_at_a_time
from metaeval.stats.resampling.items import (
    Floats,
    Ints,
    as_scores,
    centred,
    centred_midranks,
    encode,
    require_aligned,
    scored_items,
)
from metaeval.stats.resampling.weighted import (
    WeightedOrder,
    pad_weights,
    rank_correlations,
    surplus_of_pairs,
)


def spearman(scores: npt.ArrayLike, levels: npt.ArrayLike) -> float:
    """Spearman's ρ: Pearson's correlation of the ranks of the scores with the ranks of the levels.

    In [-1, 1]; NaN where it is undefined: fewer than two items, all scores or all levels equal.

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

    Raises
    ------
    InputError
        For infinite scores, or shapes that do not fit.

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

    Examples
    --------
    Three images, each with a corrupted and an intact caption:

    >>> from metaeval.stats.correlation.correlations import spearman
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> round(spearman(scores, levels=[0, 1]), 4)
    0.6831
    """
    items = scored_items(scores, levels)
    n = len(items.scores)
    if n < 2:
        return math.nan
    from scipy.stats import rankdata  # slow to import

    # The mean rank is (n + 1) / 2 with and without ties, so centring is exact.
    r, q = (rankdata(values) - (n + 1) / 2 for values in items)
    spread = float((r * r).sum()) * float((q * q).sum())
    if spread == 0:
        return math.nan
    return float((r * q).sum()) / spread**0.5


def pearson(scores: npt.ArrayLike, levels: npt.ArrayLike) -> float:
    """Pearson's r: how well a straight line predicts one side from the other.

    In [-1, 1]; NaN where it is undefined: fewer than two items, or one side constant.

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
        By resampling images (`correlations.WeightedCorrelations`); no random part.
    Source
        K. Pearson (1895), Note on regression and inheritance in the case of two parents,
        Proceedings of the Royal Society of London 58. Equal to `scipy.stats.pearsonr` to 1e-12
        (tested).

    Examples
    --------
    >>> from metaeval.stats.correlation.correlations import pearson
    >>> round(pearson([0.1, 0.2, 0.4, 0.3], [1, 2, 3, 4]), 4)
    0.8
    """
    x, y = scored_items(scores, levels)
    # A constant has a spread of exactly zero only if its mean comes out exact: compare instead.
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return math.nan
    x, y = centred(x), centred(y)
    r = float((x * y).sum()) / (float((x * x).sum()) ** 0.5 * float((y * y).sum()) ** 0.5)
    return max(-1.0, min(1.0, r))


NAMES = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
_CHUNK = 128  # weightings at a time
# items for each pair of levels: with fewer, counts of pairs of levels take longer than all pairs of
# items
PER_PAIR = 10
_COARSE = 1000  # distinct scores; with more, a weighting never holds fewer of them than levels


Value = TypeVar("Value")


class Correlations(NamedTuple, Generic[Value]):
    """Four correlations: numbers, or float64 [r] each; NaN where one is undefined."""

    pearson: Value
    spearman: Value
    kendall_tau_b: Value
    kendall_tau_c: Value


def correlations(scores: npt.ArrayLike, human: npt.ArrayLike) -> Correlations[float]:
    """All four correlations of n scores with n judgements.

    >>> [round(value, 3) for value in correlations([0.1, 0.2, 0.4, 0.3], [1, 2, 2, 3])]
    [0.632, 0.632, 0.548, 0.562]
    """
    return Correlations(
        pearson=pearson(scores, human),
        spearman=spearman(scores, human),
        kendall_tau_b=kendall(scores, human, "b"),
        kendall_tau_c=kendall(scores, human, "c"),
    )


def correlation(statistic: str, scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """One of `NAMES` of n scores with n judgements."""
    return getattr(correlations(scores, human), statistic)


class WeightedCorrelations:
    """Correlations of weighted items, equal to those of the items repeated as often as they weigh.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with a NaN is left out.
    units
        int [n] in 0 … n_units − 1: the unit (image) that each item's weight comes from.
    names
        Which of `NAMES` are needed; what takes long of the others is not paid for, and NaN.

    Notes
    -----
    Ties, missing scores and undefined values as in `pearson`, `spearman`, `kendall`.
    Rank correlations are exact integer sums: of tables of scores by judgements where these have few
    levels, k² ≤ n / 10 (`WeightedOrder`); otherwise of all pairs of items for Kendall's τ, in O(n²)
    time.
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        human: npt.ArrayLike,
        units: npt.ArrayLike,
        n_units: int,
        names: tuple[str, ...] = NAMES,
    ) -> None:
        x, y, unit = as_scores(scores), as_scores(human), np.asarray(units, dtype=np.int64)
        require_aligned(scores=x, judgements=y, units=unit)
        if len(unit) and not 0 <= unit.min() <= unit.max() < n_units:
            raise InputError(f"a unit is not in 0 … {n_units - 1}", field="units")
        complete = ~(np.isnan(x) | np.isnan(y))
        self._x, self._y, self._unit = x[complete], y[complete], unit[complete]
        self._n_units, self._names = n_units, names
        self._ranks = bool(set(names) - {"pearson"})
        levels, level = encode(self._y)
        self._order: WeightedOrder | None = None
        self._items: list[Any] = []  # of x and of y, [values, n_units]: items of a unit by value
        if self._ranks and len(levels) > 1 and PER_PAIR * len(levels) ** 2 <= len(self._y):
            self._order = WeightedOrder(self._x, self._unit, level, n_units, len(levels))
            if self._order.n_values <= _COARSE:  # the scores may be the coarser side
                self._of_scores = self._items_of(encode(self._x)[1])
        elif self._ranks and len(levels) > 1:
            self._codes = [encode(values)[1] for values in (self._x, self._y)]
            self._items = [self._items_of(code) for code in self._codes]
        self._moments = self._unit_moments()

    def _items_of(self, code: Ints) -> Any:
        """[values, n_units]: a unit's items with each of the values that `code` [n] numbers."""
        from scipy.sparse import csr_array  # slow to import

        return csr_array((np.ones(len(code)), (code, self._unit)), (code.max() + 1, self._n_units))

    def _unit_moments(self) -> Floats:
        """float64 [6, n_units]: Σ1, Σx, Σy, Σx², Σy², Σxy of each unit's items, values centred."""
        x, y = centred(self._x), centred(self._y)
        parts = [np.ones(len(x)), x, y, x * x, y * y, x * y]
        return np.array([np.bincount(self._unit, p, minlength=self._n_units) for p in parts])

    def of(
        self, weights: npt.NDArray[np.integer], threads: int | None = None
    ) -> Correlations[Floats]:
        """The correlations for integer weights [r, n_units], float64 [r] each.

        `threads` as in `map_chunks`; no number depends on it.
        """
        if weights.ndim != 2 or weights.shape[1] != self._n_units:
            raise InputError(f"shape {weights.shape} is not [r, {self._n_units}]", field="weights")

        surplus = np.full(len(weights), np.nan)
        if self._items and {"kendall_tau_b", "kendall_tau_c"} & set(self._names):
            surplus = surplus_of_pairs(self._x, self._y, self._unit, weights)

        def chunk(start: int, buffers: Buffers) -> list[Floats]:
            part = slice(start, start + _CHUNK)
            return self._chunk(weights[part], surplus[part], buffers)

        parts = map_chunks(chunk, range(0, len(weights), _CHUNK), threads)
        if not parts:
            return Correlations(*[np.empty(0)] * 4)
        return Correlations(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _chunk(
        self, weights: npt.NDArray[np.integer], surplus: Floats, buffers: Buffers
    ) -> list[Floats]:
        r = len(weights)
        undefined = np.full(r, np.nan)
        linear = self._pearson(weights) if "pearson" in self._names else undefined
        if self._items:
            return [linear, *self._of_many_levels(weights, surplus)]
        if self._order is None:
            return [linear, undefined, undefined, undefined]
        size = replicates_at_a_time(len(self._x))
        parts = [
            self._rank_sums(weights[start : start + size], self._order, buffers)
            for start in range(0, r, size)
        ]
        return [linear, *(np.concatenate(column) for column in zip(*parts, strict=True))]

    def _rank_sums(
        self, weights: npt.NDArray[np.integer], order: WeightedOrder, buffers: Buffers
    ) -> list[Floats]:
        """Spearman's ρ, τ-b and τ-c by sums over the order of the scores."""
        # Twice a product of two sizes is the greatest sum of whole numbers: at most n² / 2. Where
        # uint32 does not hold it, float64 does, exactly, and quicker than an integer of its width.
        heaviest = int((weights @ np.bincount(self._unit, minlength=self._n_units)).max())
        dtype = np.uint32 if heaviest**2 / 2 < np.iinfo(np.uint32).max else np.float64
        sums = order.sums(pad_weights(weights.T, dtype, buffers), buffers, prefixes=False)
        ranks = rank_correlations(sums)
        coarsest = (sums.sizes > 0).sum(axis=0).astype(np.float64)
        if order.n_values <= _COARSE:
            coarsest = np.minimum(coarsest, (self._of_scores @ weights.T > 0).sum(axis=0))
        tau_c = _tau_c(ranks.surplus, sums.sizes.sum(axis=0), coarsest)
        return [ranks.spearman_rho, ranks.kendall_tau_b, tau_c]

    def _pearson(self, weights: npt.NDArray[np.integer]) -> Floats:
        # einsum, not @: the order of its sums does not depend on threads
        sums = np.einsum("ru,mu->mr", weights.astype(np.float64), self._moments)
        return pearson_of_sums(sums.T)

    def _of_many_levels(self, weights: npt.NDArray[np.integer], surplus: Floats) -> list[Floats]:
        """Spearman's ρ, τ-b and τ-c, of concordant less discordant pairs."""
        drawn = weights.T.astype(np.float64)
        sizes = [table @ drawn for table in self._items]  # items with each value
        ranks = [centred_midranks(each) for each in sizes]
        spread = [np.einsum("vr,vr,vr->r", s, k, k) for s, k in zip(sizes, ranks, strict=True)]
        first, second = (k[code] for k, code in zip(ranks, self._codes, strict=True))
        covariance = np.einsum("ir,ir,ir->r", first, second, drawn[self._unit])
        n = sizes[0].sum(axis=0)
        untied = [(n * n - np.einsum("vr,vr->r", s, s)) / 2 for s in sizes]
        coarsest = np.min([(s > 0).sum(axis=0) for s in sizes], axis=0).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = covariance / (np.sqrt(spread[0]) * np.sqrt(spread[1]))
            tau = surplus / (np.sqrt(untied[0]) * np.sqrt(untied[1]))
        return [rho, tau, _tau_c(surplus, n, coarsest)]


def pearson_of_sums(sums: Floats) -> Floats:
    """Pearson's r [k] from sums [k, 6] of 1, x, y, x², y² and xy; NaN where one is constant."""
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy, cov = xx - x * x / n, yy - y * y / n, xy - x * y / n
        r = cov / (np.sqrt(np.maximum(vx, 0)) * np.sqrt(np.maximum(vy, 0)))
    # a constant leaves rounding where its variance should be nothing
    r[(vx <= 1e-12 * xx) | (vy <= 1e-12 * yy)] = np.nan
    return np.asarray(np.clip(r, -1, 1))


def _tau_c(surplus: Floats, n: Floats, coarsest: Floats) -> Floats:
    """τ-c [r] from concordant − discordant pairs, items, and the fewer of the distinct values."""
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = 2 * surplus / n**2 * (coarsest / (coarsest - 1))
    return np.where(coarsest > 1, tau, np.nan)
