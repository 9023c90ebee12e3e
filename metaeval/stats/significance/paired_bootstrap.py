"""The paired bootstrap: the difference of two metrics, or systems, over the same resampled images.

A system's score is a function of sums over images: the mean of its captions' scores is a sum over
a number, corpus BLEU and METEOR come from the sums of their statistics. So one description serves
all: per image some parts that add up, and what their sums make (`metaeval/metrics/base.py`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import (
    Counts,
    defined_replicates,
    percentile_interval,
    resampled_sums,
)
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import PairTest, smallest_p


def difference_of(
    a: float,
    b: float,
    a_replicates: npt.ArrayLike,
    b_replicates: npt.ArrayLike,
    confidence: float,
    n_units: int,
) -> PairTest:
    """The bootstrap test of two statistics and their replicates over the same `n_units` images.

    The interval is the percentile interval of the difference; p is twice the smaller share of
    replicates on one side. Replicates that differ by the rounding of their sums alone (1e-12 of the
    greatest) are equal.

    >>> test = difference_of(0.5, 0.4, [0.4, 0.5, 0.6], [0.3, 0.5, 0.3], 0.5, 30)
    >>> round(test.difference, 3), round(test.low, 3), round(test.high, 3), test.p
    (0.1, 0.05, 0.2, 1.0)
    """
    replicates = np.array([a_replicates, b_replicates], np.float64)
    gaps = defined_replicates(replicates[0] - replicates[1], n_units)
    low, high = percentile_interval(gaps, confidence, n_units)
    p = float("nan")
    if not np.isnan(a - b) and len(gaps):
        gaps = gaps / (float(np.nanmax(np.abs(replicates))) or 1.0)
        p = min(1.0, 2 * min(share_as_extreme(0.0, sign * gaps) for sign in (-1, 1)))
    least = smallest_p(replicates.shape[1], sides=2)
    return PairTest(a - b, low, high, p, "bootstrap", n_units, least)


_STREAM = 0x5359  # keeps the swaps apart from the resampling under the same seed
_CHUNK = 512  # arrangements at a time

OfSums = Callable[[Floats], Floats]


class SystemDifference(NamedTuple):
    """The permutation test of two systems, and the p-value of their paired bootstrap test.

    The interval and `n`, the images that both have a score for, are those of the bootstrap.

    Notes
    -----
    Bootstrap
        The difference in each replicate of the images; p and interval as in `difference_of`.
    Permutation
        The two captions of each image change places with probability 1/2, and both scores are
        computed anew (approximate randomisation): p = (1 + arrangements with a difference at least
        as great in size) / (1 + arrangements).
    Unit
        The image.
    Source
        P. Koehn (2004), Statistical significance tests for machine translation evaluation, EMNLP;
        E. W. Noreen (1989), Computer-Intensive Methods for Testing Hypotheses; for scores of sums,
        S. Riezler and J. T. Maxwell (2005), On some pitfalls in automatic evaluation and
        significance testing for MT, ACL workshop.
    """

    permutation: PairTest
    p_bootstrap: float


def mean_of_sums(sums: Floats) -> Floats:
    """Means [r, c] from sums [r, 2c] of c scores and of c ones; see `parts_of_means`.

    >>> mean_of_sums(np.array([[3.0, 4.0]])).tolist()
    [[0.75]]
    """
    scores, ones = np.split(sums, 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = scores / ones
    return means


def parts_of_means(scores: Floats) -> Floats:
    """Parts [n, 2c] of the means of scores [n, c]: the score and a 1, both NaN where there is none.

    >>> parts_of_means(np.array([[0.5], [np.nan]])).tolist()
    [[0.5, 1.0], [nan, nan]]
    """
    return np.concatenate([scores, np.where(np.isnan(scores), np.nan, 1.0)], axis=1)


def system_score(parts: Floats, of_sums: OfSums) -> Floats:
    """The scores [c] of a system from its parts [n, k]; NaN parts are left out.

    The sums are exact except for one rounding each, so no order of images changes them.

    >>> system_score(parts_of_means(np.array([[0.5], [0.7], [np.nan]])), mean_of_sums).tolist()
    [0.6]
    """
    sums = [math.fsum(column[~np.isnan(column)].tolist()) for column in parts.T]
    return of_sums(np.array([sums]))[0]


def resampled_scores(parts: Floats, of_sums: OfSums, counts: Counts) -> Floats:
    """The scores [replicates, c] of a system in each bootstrap replicate of the images.

    Parameters
    ----------
    parts
        float64 [n_images, k]; NaN = the system has nothing there.
    of_sums
        Sums [r, k] → scores [r, c].
    counts
        int [replicates, n_images] from `bootstrap_counts`.

    Notes
    -----
    Parts are rounded to whole multiples of a power of two at which all sums are exact in float64
    (a relative error below 1e-10 for any number of images in use), so that the result is the same
    to the last bit however a matrix product orders its additions.
    """
    exact = _fixed_point(np.nan_to_num(parts, nan=0.0))
    return of_sums(resampled_sums(exact, counts, exact=True))


def compare_systems(
    pairs: Sequence[tuple[Floats, Floats]],
    of_sums: OfSums,
    counts: Counts,
    *,
    permutations: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[list[SystemDifference]]:
    """Do two systems differ, on the images that both have? For any number of pairs of systems.

    Parameters
    ----------
    pairs
        Per pair, the parts of its two systems, float64 [n_images, k] each. A part that either
        misses counts for neither.
    of_sums, counts
        As in `resampled_scores`; the same counts for all pairs.
    permutations, seed
        Random arrangements of the permutation test; all pairs get the same swaps.

    Returns
    -------
    Per pair, one result per score (column of `of_sums`). No pair's results depend on the others.

    Examples
    --------
    >>> from metaeval.stats.resampling.bootstrap import bootstrap_counts
    >>> a = parts_of_means(np.array([[0.5], [0.7], [0.9], [0.6]]))
    >>> b = parts_of_means(np.array([[0.4], [0.7], [0.5], [0.3]]))
    >>> [[result]] = compare_systems([(a, b)], mean_of_sums, bootstrap_counts(4, 500, 0))
    >>> round(result.permutation.difference, 4), 0.2 < result.permutation.p < 0.3
    (0.2, True)
    """
    for a, b in pairs:
        if a.shape != b.shape or counts.shape[1] != len(a):
            raise InputError(
                f"shapes {a.shape}, {b.shape} and counts {counts.shape} do not fit", field="parts"
            )
    if not pairs:
        return []
    missing = [np.isnan(a) | np.isnan(b) for a, b in pairs]
    exact = [
        _fixed_point(np.where(lacking, 0.0, np.stack(pair)))
        for pair, lacking in zip(pairs, missing, strict=True)
    ]
    sides = [np.concatenate([both[side] for both in exact], axis=1) for side in (0, 1)]
    width = exact[0].shape[2]
    drawn = [_of_all(of_sums, resampled_sums(side, counts, exact=True), width) for side in sides]
    swapped = _swapped(sides, of_sums, width, permutations, seed)
    return [
        _differences(
            of_sums(both.sum(axis=1)),
            (drawn[0][p], drawn[1][p]),
            swapped[0][p] - swapped[1][p],
            _images_of_each(~missing[p], of_sums, swapped[0][p].shape[1]),
            confidence,
        )
        for p, both in enumerate(exact)
    ]


def _images_of_each(known: npt.NDArray[np.bool_], of_sums: OfSums, n_scores: int) -> list[int]:
    """How many images each score is of, from the parts [n_images, k] that both systems have: a mean
    has its own, scores that share their sums share their images."""
    if of_sums is mean_of_sums:
        return [int(n) for n in known[:, :n_scores].sum(axis=0)]
    return [int(known.all(axis=1).sum())] * n_scores


def _swapped(
    sides: Sequence[Floats], of_sums: OfSums, width: int, permutations: int, seed: int
) -> list[list[Floats]]:
    """The scores of the first and the second systems of all pairs in random arrangements."""
    rng = np.random.default_rng([_STREAM, seed])
    # what moves from the second system to the first: the gaps of the images that stay in place
    moved = np.concatenate(
        [
            resampled_sums(sides[0] - sides[1], keep, exact=True)
            for keep in random_swaps(len(sides[0]), permutations, _CHUNK, rng)
        ]
    )
    return [
        _of_all(of_sums, side.sum(axis=0) + sign * moved, width)
        for side, sign in ((sides[1], 1.0), (sides[0], -1.0))
    ]


def _differences(
    observed: Floats,
    drawn: tuple[Floats, Floats],
    gaps: Floats,
    n_images: Sequence[int],
    confidence: float,
) -> list[SystemDifference]:
    """The results of all scores of a pair."""
    of_scores = zip(observed.T, drawn[0].T, drawn[1].T, gaps.T, n_images, strict=True)
    return [_difference(both, (a, b), gap, n, confidence) for both, a, b, gap, n in of_scores]


def _difference(
    observed: Floats, drawn: tuple[Floats, Floats], gaps: Floats, n_images: int, confidence: float
) -> SystemDifference:
    """The result of one pair and score from two scores, their replicates, and permuted gaps."""
    a, b = (float(score) for score in observed)
    bootstrap = difference_of(a, b, *drawn, confidence, n_images)
    permutation = bootstrap._replace(
        p=share_as_extreme(abs(a - b), abs(gaps)),
        method="permutation by image",
        smallest_p=smallest_p(len(gaps)),
    )
    return SystemDifference(permutation, bootstrap.p)


def _of_all(of_sums: OfSums, sums: Floats, width: int) -> list[Floats]:
    """The scores [r, c] of each system from the sums [r, systems · width] of all."""
    return [of_sums(sums[:, k : k + width]) for k in range(0, sums.shape[1], width)]


def _fixed_point(values: Floats) -> Floats:
    """Values [..., n, k] rounded to multiples of 2^-q, q such that any sum of n of them, however
    weighted by at most n in all, is exact. Whole numbers stay what they are."""
    largest = max(1.0, float(np.abs(values).max(initial=0.0)))
    bits = 50 - math.ceil(math.log2(largest * max(2, values.shape[-2])))
    scale = 2.0**bits
    return np.round(values * scale) / scale


def random_swaps(
    n_units: int, arrangements: int, chunk: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int8]]:
    """Random arrangements, chunk by chunk: int8 [≤ chunk, n_units], 1 = kept, 0 = swapped."""
    for start in range(0, arrangements, chunk):
        yield rng.integers(2, size=(min(chunk, arrangements - start), n_units), dtype=np.int8)


_SAME_SIZE = 1e-12  # an arrangement as extreme as the one observed may differ from it by rounding


def share_as_extreme(observed: float, swapped: Floats) -> float:
    """The p-value: of the arrangements and the one observed, how many are at least as great.

    Arrangements that are NaN are left out; NaN where the one observed is.
    """
    if np.isnan(observed):
        return float("nan")
    swapped = swapped[~np.isnan(swapped)]
    least = observed - _SAME_SIZE * max(1.0, abs(observed))
    return (1 + int((swapped >= least).sum())) / (1 + len(swapped))
