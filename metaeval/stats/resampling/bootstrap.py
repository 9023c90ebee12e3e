"""The bootstrap over images: which images each replicate holds, and the percentile interval."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.provenance import core_count
from metaeval.stats.resampling.items import Floats, Ints, as_scores, encode, require_aligned

# Fewer units give neither an interval nor a test: resampling few units understates the spread. With
# a normal quantile, the 95 % interval of a mean of n units holds the truth with the probability
# P(|t(n - 1)| < 1.96 sqrt((n - 1) / n)), which is 90 % from n = 10 on.
# `research.judgments.few_images` prints coverage and level by simulation.
MIN_UNITS = 10
_STREAM = 0xB007  # keeps the resampling apart from the tie-breaking under the same seed

Counts = npt.NDArray[np.integer]


def bootstrap_counts(n_images: int, replicates: int, seed: int) -> Counts:
    """How often each image is drawn into each bootstrap replicate.

    A replicate draws `n_images` images with replacement: its counts are multinomial. Draw them once
    and hand them to every metric: then replicate k holds the same images for all, and the
    difference of two metrics can be resampled too.

    Parameters
    ----------
    n_images, replicates
        Sizes; 0 replicates are allowed and leave intervals undefined.
    seed
        Seeds one generator for all replicates. The first k replicates do not depend on how many
        follow.

    Returns
    -------
    int8 [replicates, n_images]; every row sums up to `n_images`. In memory the replicates of one
    image lie side by side.

    Notes
    -----
    The image is the unit because its captions share references, difficulty and objects: resampling
    captions one by one would give intervals that are too short.

    Source: B. Efron (1979), Bootstrap methods: another look at the jackknife, Annals of Statistics
    7; resampling clusters: A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their
    Application, section 3.8.

    Examples
    --------
    >>> bootstrap_counts(4, 1000, seed=0).sum(axis=1).tolist() == [4] * 1000
    True
    """
    if n_images < 1 or replicates < 0:
        raise InputError(f"cannot resample {n_images} images {replicates} times")
    rng = np.random.default_rng([_STREAM, seed])
    # An image that is drawn more than 127 times has a probability below 10^-200.
    counts = np.empty((n_images, replicates), dtype=np.int8)
    step = 64  # a strided write per replicate would touch every cache line of `counts`
    for start in range(0, replicates, step):
        stop = min(start + step, replicates)
        rows = [
            np.bincount(rng.integers(n_images, size=n_images), minlength=n_images)
            for _ in range(start, stop)
        ]
        counts[:, start:stop] = np.array(rows, dtype=np.int8).T
    return counts.T


def complete_items(
    columns: Mapping[str, npt.ArrayLike],
    image: npt.ArrayLike | None,
    counts: Counts | None = None,
    replicates: int = 1000,
    seed: int = 0,
) -> tuple[list[Floats], Ints, Counts]:
    """The columns [n] of the items that have a value in each, and the unit of each of these items.

    Units are the sorted labels `image` [n], by default each item on its own. The resamples are
    `counts` [replicates, units], or drawn here where there are none.
    """
    values = [as_scores(column) for column in columns.values()]
    labels, unit = encode(np.arange(len(values[0])) if image is None else image)
    require_aligned(**dict(zip(columns, values, strict=True)), image=unit)
    known = ~np.isnan(values).any(axis=0)
    if counts is None:
        counts = bootstrap_counts(max(len(labels), 1), replicates, seed)
    return [column[known] for column in values], unit[known], counts


class IntervalEstimate(NamedTuple):
    """A statistic with the ends of its confidence interval; NaN where one is undefined.

    `n`, where it is reported, is the number of items or pairs that took part.
    """

    value: float
    low: float
    high: float
    n: int | None = None


def interval_estimate(
    value: float,
    replicates: npt.ArrayLike,
    confidence: float,
    n_units: int,
    n: int | None = None,
) -> IntervalEstimate:
    """A statistic with the `percentile_interval` of its replicates.

    >>> interval_estimate(50.0, range(101), 0.5, 30)
    IntervalEstimate(value=50.0, low=25.0, high=75.0, n=None)
    """
    low, high = percentile_interval(replicates, confidence, n_units)
    return IntervalEstimate(value, low, high, n)


def percentile_interval(replicates: npt.ArrayLike, confidence: float, n_units: int) -> list[float]:
    """The central `confidence` share of the `defined_replicates`, [low, high].

    Without any the interval is [NaN, NaN]. Quantiles are interpolated linearly.

    >>> percentile_interval(range(101), 0.5, 30), percentile_interval(range(101), 0.5, 9)
    ([25.0, 75.0], [nan, nan])
    """
    column = np.asarray(replicates, dtype=np.float64)[:, None]
    (interval,) = percentile_intervals(column, confidence, n_units).tolist()
    return interval


def percentile_intervals(columns: Floats, confidence: float, n_units: npt.ArrayLike) -> Floats:
    """The `percentile_interval` of each column of [replicates, k], [k, 2]; `n_units` of each."""
    if not 0 < confidence < 1:
        raise InputError(f"{confidence} is not in (0, 1)", field="confidence")
    tails = [(1 - confidence) / 2, 1 - (1 - confidence) / 2]
    ends = np.full((columns.shape[1], 2), np.nan)
    missing = np.isnan(columns) | (np.asarray(n_units) < MIN_UNITS)
    if len(columns):
        whole = ~missing.any(axis=0)
        ends[whole] = np.quantile(columns[:, whole], tails, axis=0).T
        for k in np.flatnonzero(~whole & ~missing.all(axis=0)):
            ends[k] = np.nanquantile(columns[:, k], tails)
    return ends


def defined_replicates(replicates: npt.ArrayLike, n_units: int) -> Floats:
    """The replicates [r] that intervals and tests are made of.

    Those in which the statistic is defined, not NaN (all scores equal, say); and none at all of
    fewer than `MIN_UNITS` units (images) that have a value.

    >>> defined_replicates([0.5, float("nan")], 10).tolist(), defined_replicates([0.5], 9).tolist()
    ([0.5], [])
    """
    values: Floats = np.asarray(replicates, dtype=np.float64)
    return values[~np.isnan(values)] if n_units >= MIN_UNITS else values[:0]


# Replicates chunk by chunk, on several threads, in arrays that are used again and again.
#
# No result depends on how many threads there are. Fresh arrays of megabytes cost more in page
# faults than in sums.

Array = npt.NDArray[Any]

_BYTES = 2**26  # of an array with a number for each item and replicate: what a cache may hold
_MOST = 128  # replicates at a time: with more, nothing is gained


def replicates_at_a_time(n_items: int) -> int:
    """How many replicates to treat at once, so that time and memory stay in step with the items.

    A multiple of 8 from 8 to 128.
    """
    return max(8, min(_MOST, _BYTES // (8 * max(1, n_items)) // 8 * 8))


class Buffers:
    """Scratch arrays by name. One per thread; what is in one lasts until its name is used again."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def empty(self, name: str, shape: tuple[int, int], dtype: npt.DTypeLike) -> Array:
        """An array of this shape with arbitrary content."""
        size = shape[0] * shape[1]
        array = self._arrays.get(name)
        if array is None or array.size < size or array.dtype != dtype:
            array = self._arrays[name] = np.empty(size, dtype=dtype)
        return array[:size].reshape(shape)

    def take(self, name: str, source: Array, rows: Ints) -> Array:
        """Copies of the given rows of a two-dimensional array."""
        out = self.empty(name, (len(rows), source.shape[1]), source.dtype)
        # "clip" only because "raise" would go through a temporary; no row is out of range.
        return np.take(source, rows, axis=0, out=out, mode="clip")


S = TypeVar("S")
T = TypeVar("T")

_MOST_THREADS = 8  # threads: each has buffers of its own, and memory is what they share


def map_chunks(
    chunk: Callable[[S, Buffers], T], chunks: Sequence[S], threads: int | None = None
) -> list[T]:
    """What `chunk` returns for each of the chunks, in their order.

    NumPy's loops let other threads run: two cores take 0.55 to 0.7 of the time of one.

    Parameters
    ----------
    chunk
        Called with a chunk (where it starts) and its thread's buffers, in which nothing that it
        returns may lie.
    threads
        At most so many; by default one per available core, eight at most, and no more than
        OMP_NUM_THREADS says.
    """
    most, _, _ = os.environ.get("OMP_NUM_THREADS", "").partition(",")  # of nested levels the first
    usual = min(core_count(), _MOST_THREADS, int(most) if most.isdecimal() else _MOST_THREADS)
    workers = max(1, min(threads or usual, len(chunks)))

    def work(worker: int) -> list[T]:
        buffers = Buffers()
        return [chunk(part, buffers) for part in chunks[worker::workers]]

    if workers == 1:
        return work(0)
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(work, range(workers)))
    return [done[i % workers][i // workers] for i in range(len(chunks))]


def sums_by_unit(parts: Sequence[Floats], unit: Ints, counts: Counts) -> Floats:
    """The sums [units, k] of k values [n] over the items of each unit that `counts` has."""
    sums = [np.bincount(unit, part, minlength=counts.shape[1]) for part in parts]
    return np.stack(sums, axis=1).astype(np.float64)


_SCALE = 2.0**30  # sums of whole multiples of 2^-30 are exact in float64, in any order


def resampled_sums(values: Floats, counts: Counts, *, exact: bool = False) -> Floats:
    """The sums [replicates, k] of values [n_images, k] over the images that each replicate drew.

    `counts` is int [replicates, n_images] from `bootstrap_counts`. `exact` says that float64 holds
    every such sum of these values exactly: they may then be added in any order, which is quicker.
    """
    by_image = counts.T  # in memory the replicates of an image lie side by side
    sums = np.empty((len(counts), values.shape[1]))
    size = replicates_at_a_time(len(values))
    for start in range(0, len(counts), size):
        part = slice(start, start + size)
        weights = by_image[:, part].astype(np.float64)
        if exact:
            sums[part] = weights.T @ values
            continue
        for k, column in enumerate(values.T):
            # einsum, not @: the order of its sums does not depend on threads
            sums[part, k] = np.einsum("i,ir->r", column, weights)
    return sums


def resampled_means(values: npt.ArrayLike, counts: Counts) -> Floats:
    """The mean of one value per image over the images that each replicate drew.

    Parameters
    ----------
    values
        float64 [n_images], or [n_images, k] for k means at once, in [-1, 1]; NaN = the image has no
        value and is left out.
    counts
        int [replicates, n_images] from `bootstrap_counts`.

    Returns
    -------
    float64 [replicates], or [replicates, k]; NaN where a replicate drew no image with a value.
    Values are rounded to 2^-30, which makes every sum exact: the result depends on no order of
    additions.

    Examples
    --------
    >>> resampled_means([0.5, -0.5, float("nan")], np.array([[2, 0, 1], [1, 1, 1], [0, 0, 3]]))
    array([0.5, 0. , nan])
    """
    means: Floats = np.asarray(values, dtype=np.float64)
    if counts.ndim != 2 or means.ndim not in (1, 2) or means.shape[:1] != counts.shape[1:]:
        raise InputError(f"{means.shape} values for counts of shape {counts.shape}", field="values")
    table = means.reshape(len(means), -1)
    known = ~np.isnan(table)
    addends = np.hstack([np.rint(np.where(known, table, 0.0) * _SCALE), known])
    total, n = np.hsplit(resampled_sums(addends, counts, exact=True), 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / _SCALE / n).reshape(len(counts), *means.shape[1:])
