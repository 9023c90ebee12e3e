"""Every correlation with human judgements, for many weightings of the same items at once.

A bootstrap replicate weighs each unit (an image) by how often it was drawn; a permutation weighs
the scores of one metric by 1 where they are kept and those of the other by 1 where they are
swapped in. Both are the same sums, so both go through here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.correlation.pearson import pearson
from metaeval.stats.correlation.spearman import spearman
from metaeval.stats.correlation.tau_c import kendall_c
from metaeval.stats.resampling.buffers import Buffers
from metaeval.stats.resampling.items import Floats, as_scores
from metaeval.stats.resampling.weighted import Sums, WeightedOrder

NAMES = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
_FEW = 64  # levels of judgement; with more, each weighting is sorted on its own
_CHUNK = 128  # weightings at a time
_COARSE = 1000  # distinct scores; with more, a weighting never holds fewer of them than levels


class Correlations(NamedTuple):
    """Four correlations, float64 [r] each (or floats); NaN where one is undefined."""

    pearson: Floats
    spearman: Floats
    kendall_tau_b: Floats
    kendall_tau_c: Floats


def correlations(scores: npt.ArrayLike, human: npt.ArrayLike) -> dict[str, float]:
    """All four correlations of n scores with n judgements, by name.

    >>> {k: round(v, 3) for k, v in correlations([0.1, 0.2, 0.4, 0.3], [1, 2, 2, 3]).items()}
    {'pearson': 0.632, 'spearman': 0.632, 'kendall_tau_b': 0.548, 'kendall_tau_c': 0.562}
    """
    return {
        "pearson": pearson(scores, human).r,
        "spearman": spearman(scores, human).rho,
        "kendall_tau_b": kendall(scores, human).tau_b,
        "kendall_tau_c": kendall_c(scores, human).tau_c,
    }


class WeightedCorrelations:
    """Correlations of weighted items, equal to those of the items repeated as often as they weigh.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with a NaN is left out.
    units
        int [n] in 0 … n_units − 1: the unit (image) that each item's weight comes from.
    names
        Which of `NAMES` are needed; the others come out as NaN, and are not paid for.

    Notes
    -----
    Ties, missing scores and undefined values as in `pearson`, `spearman`, `kendall`, `kendall_c`.
    Rank correlations are exact integer sums while there are at most 64 distinct judgements; with
    more, every weighting is computed on repeated items, which takes a sort each.
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
        if x.ndim != 1 or not x.shape == y.shape == unit.shape:
            raise InputError(
                f"scores {x.shape}, judgements {y.shape} and units {unit.shape} are not all [n]",
                field="scores",
            )
        if len(unit) and not 0 <= unit.min() <= unit.max() < n_units:
            raise InputError(f"a unit is not in 0 … {n_units - 1}", field="units")
        there = ~(np.isnan(x) | np.isnan(y))
        self._x, self._y, self._unit = x[there], y[there], unit[there]
        self._n_units, self._names = n_units, names
        self._ranks = bool(set(names) - {"pearson"})
        levels, level = np.unique(self._y, return_inverse=True)
        self._order: WeightedOrder | None = None
        if self._ranks and 1 < len(levels) <= _FEW:
            self._order = WeightedOrder.of_items(
                self._x, self._unit, level.reshape(-1), n_units, len(levels)
            )
        self._moments = self._unit_moments()

    def _unit_moments(self) -> Floats:
        """float64 [6, n_units]: Σ1, Σx, Σy, Σx², Σy², Σxy of each unit's items, values centred."""
        x, y = _scaled(self._x), _scaled(self._y)
        parts = [np.ones(len(x)), x, y, x * x, y * y, x * y]
        return np.array([np.bincount(self._unit, p, minlength=self._n_units) for p in parts])

    def of(self, weights: npt.NDArray[np.integer]) -> Correlations:
        """The correlations for integer weights [r, n_units], float64 [r] each."""
        if weights.ndim != 2 or weights.shape[1] != self._n_units:
            raise InputError(f"shape {weights.shape} is not [r, {self._n_units}]", field="weights")
        buffers = Buffers()
        parts = [
            self._chunk(weights[start : start + _CHUNK], buffers)
            for start in range(0, len(weights), _CHUNK)
        ]
        if not parts:
            return Correlations(*[np.empty(0)] * 4)
        return Correlations(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _chunk(self, weights: npt.NDArray[np.integer], buffers: Buffers) -> list[Floats]:
        r = len(weights)
        undefined = np.full(r, np.nan)
        linear = self._pearson(weights) if "pearson" in self._names else undefined
        if not self._ranks or len(self._x) == 0 or (self._y == self._y[0]).all():
            return [linear, undefined, undefined, undefined]
        if self._order is None:
            return [linear, *self._by_sorting(weights)]
        # A product of two sizes is the greatest sum of whole numbers: at most (n / 2)².
        heaviest = int((weights @ np.bincount(self._unit, minlength=self._n_units)).max())
        dtype = np.int32 if heaviest**2 / 4 < np.iinfo(np.int32).max else np.int64
        full = buffers.empty("weights", (self._n_units + 1, r), dtype)
        full[:-1], full[-1] = weights.T, 0
        ranks = _of_sums(self._order.sums(full, buffers, prefixes=False))
        if self._order.n_values <= _COARSE:  # the scores may be the coarser side
            ranks = ranks._replace(coarsest=self._coarsest(weights, ranks.levels))
        return [linear, ranks.spearman, ranks.tau_b, ranks.tau_c]

    def _pearson(self, weights: npt.NDArray[np.integer]) -> Floats:
        # einsum, not @: the order of its sums does not depend on threads
        n, x, y, xx, yy, xy = np.einsum("ru,mu->mr", weights.astype(np.float64), self._moments)
        with np.errstate(invalid="ignore", divide="ignore"):
            vx, vy, cov = xx - x * x / n, yy - y * y / n, xy - x * y / n
            found = cov / (np.sqrt(np.maximum(vx, 0)) * np.sqrt(np.maximum(vy, 0)))
        # a constant leaves rounding where its variance should be nothing
        found[(vx <= 1e-12 * xx) | (vy <= 1e-12 * yy)] = np.nan
        return np.asarray(np.clip(found, -1, 1))

    def _coarsest(self, weights: npt.NDArray[np.integer], levels: Floats) -> Floats:
        """The smaller number of distinct values with weight, [r]."""
        _, code = np.unique(self._x, return_inverse=True)
        code = code.reshape(-1)
        held = [np.count_nonzero(np.bincount(code, row[self._unit])) for row in weights]
        return np.minimum(levels, held)

    def _by_sorting(self, weights: npt.NDArray[np.integer]) -> list[Floats]:
        found = np.full((3, len(weights)), np.nan)
        for row, weight in enumerate(weights):
            times = weight[self._unit]
            x, y = np.repeat(self._x, times), np.repeat(self._y, times)
            if "spearman" in self._names:
                found[0, row] = spearman(x, y).rho
            if "kendall_tau_b" in self._names:
                found[1, row] = kendall(x, y).tau_b
            if "kendall_tau_c" in self._names:
                found[2, row] = kendall_c(x, y).tau_c
        return list(found)


class _Ranks(NamedTuple):
    """Rank correlations [r] and what τ-c is made of."""

    spearman: Floats
    tau_b: Floats
    surplus: Floats
    n: Floats
    levels: Floats
    coarsest: Floats

    @property
    def tau_c(self) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = 2 * self.surplus / self.n**2 * (self.coarsest / (self.coarsest - 1))
        return np.where(self.coarsest > 1, found, np.nan)


def _of_sums(sums: Sums) -> _Ranks:
    """Spearman's ρ, τ-b and C − D from the sums of weighted items."""
    w, wins = sums.sizes, sums.wins
    n = w.sum(axis=0)
    rank = np.cumsum(w, axis=0) - (w - 1) / 2 - (n + 1) / 2  # centred midrank of each level
    covariance, surplus = np.zeros_like(n), np.zeros_like(n)
    for h in range(len(w)):
        for g in range(h):
            excess = wins[h, g] - w[h] * w[g] / 2  # half of concordant − discordant pairs
            covariance += (rank[h] - rank[g]) * excess
            surplus += 2 * excess
    with np.errstate(invalid="ignore", divide="ignore"):
        spearman_rho = covariance / (
            np.sqrt((n**3 - sums.ties3) / 12) * np.sqrt((n**3 - (w**3).sum(axis=0)) / 12)
        )
        tau_b = surplus / (
            np.sqrt((n * n - sums.ties2) / 2) * np.sqrt((n * n - (w * w).sum(axis=0)) / 2)
        )
    held = (w > 0).sum(axis=0).astype(np.float64)
    return _Ranks(spearman_rho, tau_b, surplus, n, held, held)


def _scaled(values: Floats) -> Floats:
    """Centred and brought to at most 1, which changes no correlation, only roundings."""
    if not len(values):
        return values
    centred: Floats = values - values.mean()
    size = float(np.abs(centred).max())
    return centred / size if size else centred
