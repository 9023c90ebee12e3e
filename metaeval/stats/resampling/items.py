"""What every statistic takes: scores with gaps, the level of each score, and their ties."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class ScoredItems(NamedTuple):
    """The scored items of a table, flattened.

    Attributes
    ----------
    scores
        float64 [n], finite.
    levels
        float64 [n]: the level of each item; more is better.
    """

    scores: Floats
    levels: Floats


def scored_items(scores: npt.ArrayLike, levels: npt.ArrayLike) -> ScoredItems:
    """Flatten a table of scores to its scored items; across-item statistics start here.

    Parameters
    ----------
    scores
        float64 of any shape, [n_images, n_sets] in the experiments. NaN = not scored: the item is
        left out, the other items of its image stay.
    levels
        Numbers that broadcast to the shape of `scores`: one per set, or (for human judgements) one
        per item. NaN leaves the item out as well.

    Raises
    ------
    InputError
        For an infinite score or level, or shapes that do not fit.
    """
    values = as_scores(scores)
    grades = np.asarray(levels, dtype=np.float64)
    if np.isinf(grades).any():
        raise InputError("a level is infinite", field="levels")
    try:
        grades = np.broadcast_to(grades, values.shape)
    except ValueError:
        raise InputError(
            f"shape {grades.shape} does not fit scores of shape {values.shape}", field="levels"
        ) from None
    scored = ~(np.isnan(values) | np.isnan(grades))
    return ScoredItems(values[scored], grades[scored])


def as_scores(scores: npt.ArrayLike) -> Floats:
    """Scores as float64, refusing infinities: they have no place in a mean or on an axis."""
    values = np.asarray(scores, dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        where = ", ".join(str(int(i)) for i in np.argwhere(infinite)[0])
        raise InputError("the score is infinite", record=f"item [{where}]", field="scores")
    return values


def without_rounding(values: npt.ArrayLike) -> Floats:
    """Values of which those that differ by rounding alone are one, the least of them.

    The mean of .1, .2 and .3 is not that of .3, .2 and .1 in float64. Neighbours that differ by at
    most 1e-12 of the greatest value are the same; NaN stays.

    >>> without_rounding([(0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3, float("nan")])
    array([0.2, 0.2, nan])
    """
    table: Floats = np.array(values, dtype=np.float64)
    known = ~np.isnan(table)
    distinct, place = np.unique(table[known], return_inverse=True)
    apart = np.diff(distinct, prepend=-np.inf) > 1e-12 * np.abs(distinct).max(initial=0.0)
    table[known] = distinct[apart][np.cumsum(apart)[place] - 1]
    return table


def scaled(values: Floats) -> Floats:
    """Values divided by the power of two that brings the greatest below 1, along the last axis.

    Their squares are then representable, whatever the unit. The division is exact, so that no bit
    of a correlation changes.

    >>> scaled(np.array([-3e200, 0.0])).round(3).tolist(), scaled(np.array([12.0])).tolist()
    ([-0.98, 0.0], [0.75])
    """
    size = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(values, -np.frexp(size)[1]))


def centred(values: Floats) -> Floats:
    """Values [n] minus their mean, brought to at most 1, which changes no correlation, only
    roundings; the squares of very small and very large values are then representable.

    >>> centred(np.array([1.0, 2.0, 3.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    if not len(values):
        return values
    shifted: Floats = scaled(values)
    shifted = shifted - shifted.mean()
    size = float(np.abs(shifted).max())
    return shifted / size if size else shifted


def encode(labels: npt.ArrayLike) -> tuple[npt.NDArray[Any], Ints]:
    """The distinct labels, ascending, and the place of each label among them, flattened to [n].

    >>> [part.tolist() for part in encode(["b", "a", "b"])]
    [['a', 'b'], [1, 0, 1]]
    """
    distinct, place = np.unique(np.asarray(labels), return_inverse=True)
    return distinct, place.reshape(-1).astype(np.int64, copy=False)


def require_aligned(**columns: npt.NDArray[Any]) -> None:
    """Raise InputError unless all columns are one-dimensional and of one length."""
    shapes = {column.shape for column in columns.values()}
    if len(shapes) > 1 or len(shapes.pop()) != 1:
        listed = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise InputError(f"{listed} are not all [n]", field=next(iter(columns)))


def as_table(scores: npt.ArrayLike, levels: npt.ArrayLike) -> tuple[Floats, Ints]:
    """Scores [n_images, n_sets] and levels [n_sets]; within-image statistics start here.

    Raises InputError where the two do not have these shapes, or a score is infinite.
    """
    values, grades = as_scores(scores), np.asarray(levels, dtype=np.int64)
    if values.ndim != 2 or grades.shape != values.shape[1:]:
        raise InputError(
            f"scores of shape {values.shape} and levels of shape {grades.shape} are not "
            "[n_images, n_sets] and [n_sets]",
            field="scores",
        )
    return values, grades


def mean_of_known(values: Floats, fewest: int = 1) -> float:
    """The mean without NaN; NaN of fewer than `fewest` values."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) >= fewest else float("nan")


def random_folds(n: int, folds: int, stream: int, seed: int) -> Ints:
    """The fold, 0 … folds − 1, of each of n groups: folds of equal sizes, at random.

    >>> sorted(random_folds(4, 2, 1, 0).tolist())
    [0, 0, 1, 1]
    """
    fold = np.empty(n, dtype=np.int64)
    fold[np.random.default_rng([stream, seed]).permutation(n)] = np.arange(n) % folds
    return fold


def places(values: Floats) -> Floats:
    """The share of the values [n] below each one, ties counting half: float64 [n] in (0, 1)."""
    from scipy.stats import rankdata  # slow to import

    ranks: Floats = rankdata(values)
    return (ranks - 0.5) / len(values)


def centred_midranks(sizes: Floats) -> Floats:
    """The midrank of each block of ties less the mean of all ranks.

    `sizes` is [n_blocks] or [n_blocks, r], the items of each block in ascending order of the
    blocks, for r tables at once; so is the result.

    >>> centred_midranks(np.array([1.0, 2.0, 1.0])).tolist()
    [-1.5, 0.0, 1.5]
    """
    return np.cumsum(sizes, axis=0) - (sizes - 1) / 2 - (sizes.sum(axis=0) + 1) / 2


def tied_pairs(blocks: Ints) -> int:
    """Pairs of items in the same block, for blocks of the given sizes."""
    return int((blocks * (blocks - 1) // 2).sum())


class Ties(NamedTuple):
    """What `ties` returns.

    Attributes
    ----------
    items
        Share of scored items that have their score in common with at least one other item, in
        [0, 1]; NaN without items.
    pairs
        Share of tied pairs among all pairs of scored items; NaN with fewer than two items.
    """

    items: float
    pairs: float


def ties(scores: npt.ArrayLike) -> Ties:
    """The tie fraction of scores of any shape; NaN = not scored, left out.

    Two scores are tied if they are the same float64: no tolerance. Resampling images would itself
    create ties, so the tie fraction has no bootstrap interval.

    Examples
    --------
    >>> from metaeval.stats.resampling.items import ties
    >>> ties([[0.0, 0.0], [0.0, 0.7]])
    Ties(items=0.75, pairs=0.5)
    """
    blocks = np.unique(scored_items(scores, 0).scores, return_counts=True)[1]
    n = int(blocks.sum())
    nan = float("nan")
    return Ties(
        int(blocks[blocks > 1].sum()) / n if n else nan,
        tied_pairs(blocks) / (n * (n - 1) // 2) if n > 1 else nan,
    )
