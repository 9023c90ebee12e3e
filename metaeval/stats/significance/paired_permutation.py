"""Paired permutation tests: the difference under random exchange of two metrics."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import NAMES, WeightedCorrelations
from metaeval.stats.correlation.kendall import FEW_LEVELS, concordant_partners
from metaeval.stats.resampling.bootstrap import replicates_at_a_time
from metaeval.stats.resampling.items import (
    Floats,
    Ints,
    as_scores,
    encode,
    require_aligned,
    scaled,
)

_FEW_SCORES = 1000  # with fewer, an arrangement may hold fewer distinct scores than levels


class SwappedKendall:
    """The difference of two metrics' τ-b or τ-c with the judgements, for any swaps of their scores.

    Fast because the difference between the two surpluses of concordant pairs is *linear* in the
    swaps: with σ = ±1 for each unit, S(σ) − S(−σ) keeps only the odd terms of a form of degree two.
    An arrangement is one row of a matrix product, without a sort, however many distinct judgements
    there are. The plain way (`perm_both` for the other correlations) is the oracle of the tests.

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
        self,
        a: Floats,
        b: Floats,
        unit: Ints,
        n_units: int,
        level: Ints,
        n_levels: int,
        variant: str,
    ) -> None:
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
            return self._tau_c(
                odd, alone, 2 * self._alone + self._alone_gain.sum() - alone, shared, swapped
            )
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
        return np.sqrt((self._n**2 - ties2) / 2) * np.sqrt(self._level_pairs)


_STREAM = 0x5A4B  # keeps the swaps apart from the resampling under the same seed
_CHUNK = 128  # arrangements drawn at a time
_SAME = 1e-12  # an arrangement as extreme as the one observed may differ from it by rounding


class Permutation(NamedTuple):
    """What the permutation tests return.

    Attributes
    ----------
    difference
        The statistic of the first minus that of the second, as observed.
    p_greater
        One-sided p-value of "the first is greater".
    p_two_sided
        p-value of "the two differ".
    n_units
        How many units could be swapped.
    """

    difference: float
    p_greater: float
    p_two_sided: float
    n_units: int


def perm_both(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    human: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    *,
    statistic: str = "kendall_tau_c",
    replicates: int = 1000,
    seed: int = 0,
) -> Permutation:
    """Test whether metric a correlates with the judgements as well as metric b does.

    Both metrics' scores are standardised, then swapped unit by unit with probability 1/2, and the
    difference of the two correlations is computed anew: if the metrics were interchangeable, the
    observed difference would be one among these.

    Parameters
    ----------
    a, b, human
        float64 [n]: the two metrics' scores and the judgements of the same items. An item that
        is missing any of the three is left out.
    units
        [n] labels of what is swapped as one. One per caption (the default) is the source's
        PERM-BOTH, where a unit is one output of one system; one per image is its PERM-INPUT, one
        per system its PERM-SYS (`swap_units`). Ratings of the same caption share their unit.
    statistic
        One of `correlations.NAMES`.
    replicates, seed
        How many random arrangements; the same seed gives the same swaps to every pair of metrics.

    Notes
    -----
    Definition
        p = (1 + arrangements at least as extreme) / (1 + arrangements). "Extreme" is a difference
        at least as great (one-sided), or at least as great in size (two-sided). Arrangements that
        leave the statistic undefined are left out.
    Standardised
        (x − mean) / standard deviation over all items, so that the scales of two metrics do not
        matter; a constant metric has nothing to standardise and gives NaN.
    Ties
        Those of the statistic.
    Source
        D. Deutsch, R. Dror, D. Roth (2021), A statistical analysis of summarization evaluation
        metrics using resampling methods, TACL 9, section 5.2; used in the same way by
        mt-metrics-eval, whose p-value is without the two ones.

    Examples
    --------
    >>> from metaeval.stats.significance.paired_permutation import perm_both
    >>> human = [1, 1, 2, 2, 3, 3, 4, 4]
    >>> good, poor = [1, 2, 3, 4, 5, 6, 7, 8], [5, 2, 8, 1, 4, 7, 3, 6]
    >>> result = perm_both(good, poor, human)
    >>> round(result.difference, 4), result.p_greater < 0.05
    (0.9167, True)
    """
    if statistic not in NAMES:
        raise InputError(f"unknown statistic '{statistic}': {', '.join(NAMES)}", field="statistic")
    x, y, z, unit, n_units = _paired(a, b, units, human)
    x, y = _standardised(x), _standardised(y)
    if not len(x) or np.isnan(x).any() or np.isnan(y).any():
        return Permutation(float("nan"), float("nan"), float("nan"), n_units)
    # 2n items: a's score of an item weighs 1 where it is kept, b's where it is swapped in.
    both = WeightedCorrelations(
        np.concatenate([x, y]),
        np.concatenate([z, z]),
        np.concatenate([unit, n_units + unit]),
        2 * n_units,
        names=(statistic,),
    )

    def difference(keep: npt.NDArray[np.int8]) -> Floats:
        first, second = (
            getattr(both.of(np.concatenate(pair, axis=1), threads=1), statistic)
            for pair in ((keep, 1 - keep), (1 - keep, keep))
        )
        return first - second

    observed = float(difference(np.ones((1, n_units), dtype=np.int8))[0])
    fast = _fast(x, y, z, unit, n_units, statistic)

    def compared(packed: npt.NDArray[np.uint8]) -> Floats:
        """The differences of arrangements, as exact as their comparison with the observed needs."""
        keep = np.unpackbits(packed, axis=1, count=n_units).view(np.int8)
        if fast is None or np.isnan(observed):
            return difference(keep)
        gaps, slack = fast.differences(keep)
        margin = slack + 2 * _SAME
        ends = np.array([observed, abs(observed), -abs(observed)])[:, None]
        open_ = (np.abs(gaps - ends) <= margin).any(axis=0) | np.isnan(gaps)
        if open_.any():
            gaps[open_] = difference(keep[open_])
        return gaps

    swapped = [compared(packed) for packed in _packed_swaps(n_units, replicates, seed)]
    return _result(observed, np.concatenate([np.empty(0), *swapped]), n_units)


def _fast(
    x: Floats, y: Floats, z: Floats, unit: Ints, n_units: int, statistic: str
) -> SwappedKendall | None:
    """The fast way to Kendall's τ; `None` for other statistics and constant judgements."""
    levels, level = encode(z)
    if not statistic.startswith("kendall") or len(levels) < 2:
        return None
    return SwappedKendall(x, y, unit, n_units, level, len(levels), statistic[-1])


def permutation_of_means(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    *,
    replicates: int = 10_000,
    seed: int = 0,
) -> Permutation:
    """Test whether two systems' scores on the same items have the same mean.

    Parameters
    ----------
    a, b
        float64 [n], the scores of two systems' captions of the same n images (or n scores of two
        anythings, paired). A pair with a NaN is left out.
    units
        [n] labels of what is swapped as one; by default each pair on its own.
    replicates, seed
        As in `perm_both`.

    Notes
    -----
    Definition
        mean(a) − mean(b), with the two scores of each unit swapped at random; p as in `perm_both`.
    Source
        R. A. Fisher (1935), The Design of Experiments; for comparing systems, E. W. Noreen (1989),
        Computer-Intensive Methods for Testing Hypotheses (approximate randomisation).

    Examples
    --------
    >>> from metaeval.stats.significance.paired_permutation import permutation_of_means
    >>> result = permutation_of_means([0.5, 0.7, 0.9, 0.6], [0.4, 0.7, 0.5, 0.3], replicates=2000)
    >>> round(result.difference, 4), 0.2 < result.p_two_sided < 0.3
    (0.2, True)
    """
    x, y, _, unit, n_units = _paired(a, b, units)
    if not len(x):
        return Permutation(float("nan"), float("nan"), float("nan"), 0)
    gaps = np.bincount(unit, x - y, minlength=n_units) / len(x)
    observed = float(gaps.sum())
    rng = np.random.default_rng([_STREAM, seed])
    swapped = [
        np.einsum("ru,u->r", 2.0 * keep - 1.0, gaps)
        for keep in random_swaps(n_units, replicates, _CHUNK, rng)
    ]
    return _result(observed, np.concatenate([np.empty(0), *swapped]), n_units)


def permutation_of_gaps(
    gaps: npt.ArrayLike, *, replicates: int = 10_000, seed: int = 0
) -> tuple[Floats, Floats]:
    """Test many paired differences at once, each a sum of gaps of units that are swapped as one.

    Parameters
    ----------
    gaps
        float64 [n_units, n_tests]: what each unit (image) adds to each difference. Swapping the two
        sides of a unit turns its gap's sign.
    replicates, seed
        As in `perm_both`; all tests see the same swaps.

    Returns
    -------
    The differences, and the p-values of "the two sides are equal", float64 [n_tests] each.

    Notes
    -----
    Definition
        As in `permutation_of_means`, which is the case gap = sum of (a − b) of the unit over n.

    Examples
    --------
    >>> from metaeval.stats.significance.paired_permutation import permutation_of_gaps
    >>> differences, p = permutation_of_gaps([[0.1, 0.1], [0.2, -0.1], [0.1, 0], [0.3, 0]])
    >>> differences.round(3).tolist(), (p < 0.2).tolist()
    ([0.7, 0.0], [True, False])
    """
    table = np.asarray(gaps, dtype=np.float64)
    observed: Floats = table.sum(axis=0)
    rng = np.random.default_rng([_STREAM, seed])
    swapped = [
        np.abs((2.0 * keep - 1.0) @ table)
        for keep in random_swaps(len(table), replicates, _CHUNK, rng)
    ]
    arrangements = np.concatenate([np.empty((0, table.shape[1])), *swapped])
    p = [
        share_as_extreme(abs(float(value)), arrangements[:, k]) for k, value in enumerate(observed)
    ]
    return observed, np.array(p)


def swap_units(systems: npt.ArrayLike, images: npt.ArrayLike, how: str) -> Ints:
    """Units [n] for `perm_both` from each item's system and image.

    "both" swaps each caption on its own, "image" all captions of an image together, "system" all
    captions of a system together. "system" needs many systems: with k there are 2^k arrangements.

    >>> swap_units(["x", "y", "x"], [1, 1, 2], "image").tolist()
    [0, 0, 1]
    """
    labels = {"system": (systems,), "image": (images,), "both": (systems, images)}
    if how not in labels:
        raise InputError(f"'{how}' is not one of {', '.join(labels)}", field="units")
    unit, *others = [encode(part)[1] for part in labels[how]]
    for code in others:
        unit = unit * (int(code.max(initial=0)) + 1) + code
    return encode(unit)[1]


def _paired(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: npt.ArrayLike | None,
    human: npt.ArrayLike | None = None,
) -> tuple[Floats, Floats, Floats, Ints, int]:
    """The items that have everything, with units numbered from 0, and how many units there are."""
    x, y = as_scores(a), as_scores(b)
    z = np.zeros_like(x) if human is None else as_scores(human)
    labels = np.arange(len(x)) if units is None else np.asarray(units)
    require_aligned(scores=x, others=y, judgements=z, units=labels)
    complete = ~(np.isnan(x) | np.isnan(y) | np.isnan(z))
    distinct, unit = encode(labels[complete])
    return x[complete], y[complete], z[complete], unit, len(distinct)


def _standardised(values: Floats) -> Floats:
    if not len(values) or (values == values[0]).all():
        return np.full_like(values, np.nan)
    values = scaled(values)
    return (values - values.mean()) / values.std()


def random_swaps(
    n_units: int, arrangements: int, chunk: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int8]]:
    """Random arrangements, chunk by chunk: int8 [≤ chunk, n_units], 1 = kept, 0 = swapped."""
    for start in range(0, arrangements, chunk):
        yield rng.integers(2, size=(min(chunk, arrangements - start), n_units), dtype=np.int8)


@lru_cache(maxsize=1)
def _packed_swaps(n_units: int, arrangements: int, seed: int) -> list[npt.NDArray[np.uint8]]:
    """All of `random_swaps`, eight units a byte: every pair of metrics is tested by the same ones,
    and drawing them takes half as long as using them.
    """
    rng = np.random.default_rng([_STREAM, seed])
    return [np.packbits(k, axis=1) for k in random_swaps(n_units, arrangements, _CHUNK, rng)]


def _result(observed: float, swapped: Floats, n_units: int) -> Permutation:
    greater = share_as_extreme(observed, swapped)
    return Permutation(observed, greater, share_as_extreme(abs(observed), abs(swapped)), n_units)


def share_as_extreme(observed: float, swapped: Floats) -> float:
    """The p-value: of the arrangements and the one observed, how many are at least as great.

    Arrangements that are NaN are left out; NaN where the one observed is.
    """
    if np.isnan(observed):
        return float("nan")
    swapped = swapped[~np.isnan(swapped)]
    least = observed - _SAME * max(1.0, abs(observed))
    return (1 + int((swapped >= least).sum())) / (1 + len(swapped))
