"""Kendall's τ of two metrics after swapping their scores, for thousands of arrangements at once.

Fast because the difference between the two surpluses of concordant pairs is *linear* in the swaps:
with σ = ±1 for each unit, S(σ) − S(−σ) keeps only the odd terms of a form of degree two. An
arrangement is one row of a matrix product, without a sort, however many distinct judgements there
are. The plain way (`perm_both` for the other correlations) is the oracle of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metaeval.stats.correlation.concordance import concordant_partners
from metaeval.stats.correlation.kendall import FEW_LEVELS
from metaeval.stats.resampling.buffers import replicates_at_a_time
from metaeval.stats.resampling.items import Floats, Ints, encode

_FEW_SCORES = 1000  # with fewer, an arrangement may hold fewer distinct scores than levels


class SwappedKendall:
    """The difference of two metrics' τ-b or τ-c with the judgements, for any swaps of their scores.

    Parameters
    ----------
    a, b
        float64 [n], without NaN: two metrics' scores on one scale.
    unit
        int [n] in 0 … n_units − 1: what is swapped as one.
    level, n_levels
        The place of each item's judgement among the distinct ones, int [n], and their number.
    variant
        "b" or "c".
    """

    def __init__(
        self, a: Floats, b: Floats, unit: Ints, n_units: int, level: Ints, n_levels: int,
        variant: str,
    ) -> None:  # fmt: skip
        n = len(a)
        values, code = encode(np.concatenate([a, b]))
        # concordant minus discordant partners of each score among all 2n
        surplus = concordant_partners(code, np.concatenate([level, level]))
        gap = (surplus[:n] - surplus[n:]).astype(np.float64)
        # S(σ) − S(−σ) = Σ σ · gap / 2: exact, for all sums are integers below 2^53
        self._gap = np.bincount(unit, gap, minlength=n_units) / 2
        self._n, self._levels, self._variant = n, n_levels, variant
        sizes = np.bincount(level, minlength=n_levels).astype(np.float64)
        self._level_pairs = (n * n - float((sizes * sizes).sum())) / 2
        # with few levels and many scores, τ-c's number of distinct values is that of the levels
        self._constant = variant == "c" and n_levels <= FEW_LEVELS and len(values) > _FEW_SCORES
        shared = np.bincount(code, minlength=len(values)) > 1
        row = (np.cumsum(shared) - 1)[code]
        there = shared[code]
        sign = np.where(np.arange(2 * n) < n, 1.0, -1.0)
        both = np.concatenate([unit, unit])
        shape = (int(shared.sum()), n_units)
        # float32 holds these sums exactly, as whole numbers up to 2^24, in half the time
        exact = np.float32 if n < 2**23 else np.float64
        cells = (sign[there].astype(exact), (row[there], both[there]))
        self._ties = sparse.csr_matrix(cells, shape=shape)
        of_b = there & (sign < 0)
        self._swapped = np.bincount(row[of_b], minlength=shape[0]).astype(np.float64)
        self._total = np.bincount(row[there], minlength=shape[0]).astype(np.float64)
        # scores that occur once: how many there are if nothing is kept, and what keeping adds
        alone = ~there
        self._alone = float((alone & (sign < 0)).sum())
        self._alone_gain = np.bincount(both, alone * sign, minlength=n_units)

    def differences(self, keep: npt.NDArray[np.int8]) -> tuple[Floats, Floats]:
        """The difference of each arrangement [r, n_units] (1 = kept), and how far it may be off.

        Both [r]. τ-b divides by a size that the swaps change a little, and τ-c depends on how many
        distinct scores they leave: what is not linear in them is only bounded.
        """
        size = replicates_at_a_time(self._n)
        parts = [self._few(keep[start : start + size]) for start in range(0, len(keep), size)]
        gaps, slacks = (np.concatenate(part) for part in zip(*parts, strict=True))
        return gaps, slacks

    def _few(self, keep: npt.NDArray[np.int8]) -> tuple[Floats, Floats]:
        odd = 2 * (keep.astype(np.float64) @ self._gap) - self._gap.sum()
        if self._constant:
            m = self._levels
            return 2 * odd / self._n**2 * (m / (m - 1)), np.zeros(len(keep))
        # turned while they are bytes, of which there is least to move
        unswapped = np.ascontiguousarray(keep.T).astype(self._ties.dtype)
        shared = self._ties @ unswapped + self._swapped[:, None]
        swapped = self._total[:, None] - shared  # all swaps the other way round
        if self._variant == "c":
            alone = self._alone + keep.astype(np.float64) @ self._alone_gain
            return self._tau_c(odd, alone, 2 * self._alone + self._alone_gain.sum() - alone,
                               shared, swapped)  # fmt: skip
        size, other = self._size(shared), self._size(swapped)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = odd / 2 * (1 / size + 1 / other)
            # half the sum of both surpluses is at most half the sum of both sizes
            slack = (size + other) / 2 * np.abs(1 / size - 1 / other)
        return middle, slack

    def _tau_c(
        self, odd: Floats, alone: Floats, other_alone: Floats, shared: Any, swapped: Any
    ) -> tuple[Floats, Floats]:
        """With m the fewer of the distinct scores and levels of each side, τ-c = 2 S m / (n² (m −
        1)); only S(σ) − S(−σ) is known."""
        factors = []
        for number, counts in ((alone, shared), (other_alone, swapped)):
            m = np.minimum(self._levels, number + (counts > 0.5).sum(axis=0))
            factors.append(np.where(m > 1, m / np.maximum(m - 1, 1), np.nan))
        first, second = factors
        # |S(σ) + S(−σ)| is at most n (n − 1)
        return (first + second) / self._n**2 * odd, np.abs(first - second)

    def _size(self, shared: Floats) -> Floats:
        """What S is divided by for τ-b: √(pairs not tied in score) · √(pairs not tied in level).

        `shared` [values, r]: how many items have each score that more than one may have.
        """
        ties2 = np.einsum("vr,vr->r", shared, shared) + (self._n - shared.sum(axis=0))
        size: Floats = np.sqrt((self._n**2 - ties2) / 2) * np.sqrt(self._level_pairs)
        return size
