"""Which caption a metric prefers, pair by pair: what all statistics of `pairs` count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, Ints

TRUE, PARAPHRASE, BOTH = "true > false", "paraphrase > false", "both"
MEAN = "mean"  # over the kinds


class Outcomes(NamedTuple):
    """What became of each pair under one comparison, float64 [n].

    Attributes
    ----------
    right
        1 where the metric scores the true caption strictly higher, otherwise 0; NaN where a caption
        has no score.
    tied
        1 where neither caption is higher.
    """

    right: Floats
    tied: Floats


def outcomes_of(
    true: Floats, false: Floats, paraphrase: Floats | None = None
) -> dict[str, Outcomes]:
    """Comparison → outcomes, from the scores (more is better) of the true captions, the false ones
    and, where there are such, the true paraphrases.

    "both" is right where both true captions are above the false one, and tied where neither is
    below it but one is no higher.
    """
    first = _compared(true - false)
    if paraphrase is None:
        return {TRUE: first}
    second = _compared(paraphrase - false)
    right = first.right * second.right
    tied = (first.right + first.tied) * (second.right + second.tied) - right
    return {TRUE: first, PARAPHRASE: second, BOTH: Outcomes(right, tied)}


def _compared(gap: Floats) -> Outcomes:
    unscored = np.isnan(gap)
    return Outcomes(np.where(unscored, np.nan, gap > 0), np.where(unscored, np.nan, gap == 0))


class Groups(NamedTuple):
    """What the pairs are grouped by: [n] numbers of their kinds and of their images."""

    kinds: tuple[str, ...]
    kind: Ints
    n_images: int
    image: Ints

    @classmethod
    def of(cls, kinds: Sequence[str], kind: Sequence[str], image: Sequence[str]) -> Groups:
        place = {name: k for k, name in enumerate(kinds)}
        images, number = np.unique(np.array(image, dtype=object), return_inverse=True)
        return cls(
            tuple(kinds), np.array([place[name] for name in kind]), len(images), number.reshape(-1)
        )

    def sums(self, values: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
        """The sum of the values of the chosen rows by image and kind, [n_images, kinds]."""
        cell = self.image[rows] * len(self.kinds) + self.kind[rows]
        total = np.bincount(cell, values[rows], minlength=self.n_images * len(self.kinds))
        return np.asarray(total, np.float64).reshape(self.n_images, len(self.kinds))


class Shares(NamedTuple):
    """The mean of a value by kind and over the kinds, with bootstrap replicates.

    `point` [kinds + 1] and `replicates` [r, kinds + 1] end with the mean over the kinds; `n`
    [kinds] counts the pairs. NaN for a kind without pairs, and then for the mean.
    """

    point: Floats
    replicates: Floats
    n: Ints


def shares_of(
    values: Floats, groups: Groups, weights: Floats, rows: npt.NDArray[np.bool_] | None = None
) -> Shares:
    """The mean of values [n] by kind and over kinds, NaN left out, with whole images resampled.

    Parameters
    ----------
    weights
        float64 [replicates, n_images]: how often each image is in each replicate
        (`bootstrap_counts`).
    rows
        Only these pairs.
    """
    held = ~np.isnan(values) if rows is None else rows & ~np.isnan(values)
    sums, sizes = groups.sums(values, held), groups.sums(np.ones(len(values)), held)
    once = np.ones((1, groups.n_images))
    point, replicates = (_means(w @ sums, w @ sizes) for w in (once, weights))
    return Shares(point[0], replicates, sizes.sum(axis=0).astype(np.int64))


def _means(sums: Floats, sizes: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        means = sums / sizes
    return np.concatenate([means, means.mean(axis=1, keepdims=True)], axis=1)
