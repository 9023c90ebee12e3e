"""Which caption a metric prefers, pair by pair: what all statistics of `pairs` count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, Ints

TRUE, PARAPHRASE, BOTH = "true > false", "paraphrase > false", "both"
_STREAM = 0x4EF1  # keeps the choice of pairs apart from the resampling under the same seed

Ties = Literal["half", "wrong"]


class Outcomes(NamedTuple):
    """The outcome of each pair under one comparison, float64 [n].

    Attributes
    ----------
    right
        1 where the metric scores the true caption strictly higher, otherwise 0; NaN where a caption
        has no score.
    tied
        1 where neither caption is higher.
    credit
        What the pair adds to the accuracy: 1, 0, and for a tie what the tie rule gives.
    """

    right: Floats
    tied: Floats
    credit: Floats


def outcomes_of(
    true: Floats, false: Floats, paraphrase: Floats | None = None, ties: Ties = "wrong"
) -> dict[str, Outcomes]:
    """Comparison → outcomes.

    The arguments are scores (higher is better) of the true captions, the false ones and, where the
    data has them, the true paraphrases. "both" is right where both true captions are above the
    false one, and tied where neither is below it and at least one is equal. With `ties` "half" the
    credit is the chance of being right where a coin decides every tie: 1/2, and for "both" the
    product of the two credits.
    """
    first = _compared(true - false, ties)
    if paraphrase is None:
        return {TRUE: first}
    second = _compared(paraphrase - false, ties)
    right = first.right * second.right
    tied = (first.right + first.tied) * (second.right + second.tied) - right
    both = Outcomes(right, tied, first.credit * second.credit)
    return {TRUE: first, PARAPHRASE: second, BOTH: both}


def _compared(gap: Floats, ties: Ties) -> Outcomes:
    unscored = np.isnan(gap)
    right = np.where(unscored, np.nan, gap > 0)
    tied = np.where(unscored, np.nan, gap == 0)
    return Outcomes(right, tied, right + tied / 2 if ties == "half" else right)


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

    def masks(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Kind → which of the kinds it is, [kinds]."""
        return {kind: np.arange(len(self.kinds)) == k for k, kind in enumerate(self.kinds)}

    def sums(self, values: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
        """The sum of the values of the chosen rows by image and kind, [n_images, kinds]."""
        cell = self.image[rows] * len(self.kinds) + self.kind[rows]
        total = np.bincount(cell, values[rows], minlength=self.n_images * len(self.kinds))
        return np.asarray(total, np.float64).reshape(self.n_images, len(self.kinds))


class Shares(NamedTuple):
    """The mean of a value by kind, with bootstrap replicates.

    `point` [kinds], `replicates` [r, kinds], and `n` and `images` [kinds], the numbers of pairs and
    of their images. NaN for a kind without pairs.
    """

    point: Floats
    replicates: Floats
    n: Ints
    images: Ints

    def mean(self, kinds: npt.NDArray[np.bool_] | None = None) -> tuple[float, Floats]:
        """The mean over the chosen kinds (all by default) and its replicates [r]."""
        chosen = slice(None) if kinds is None else kinds
        return float(self.point[chosen].mean()), self.replicates[:, chosen].mean(axis=1)


def shares_of(
    values: Floats, groups: Groups, weights: Floats, rows: npt.NDArray[np.bool_] | None = None
) -> Shares:
    """The mean of values [n] by kind, NaN left out, with whole images resampled.

    Parameters
    ----------
    weights
        float64 [replicates, n_images]: how often each image is in each replicate
        (`bootstrap_counts`).
    rows
        Only these pairs.
    """
    scored = ~np.isnan(values) if rows is None else rows & ~np.isnan(values)
    sums, sizes = groups.sums(values, scored), groups.sums(np.ones(len(values)), scored)
    once = np.ones((1, groups.n_images))
    with np.errstate(invalid="ignore"):
        point, replicates = ((w @ sums) / (w @ sizes) for w in (once, weights))
    return Shares(point[0], replicates, sizes.sum(axis=0).astype(np.int64), (sizes > 0).sum(axis=0))


def refined(gap: Floats, groups: Groups, bins: int, seed: int) -> npt.NDArray[np.bool_]:
    """Which pairs stay, [n], for a control that gives the true caption `gap` more than the false.

    Notes
    -----
    Definition
        Within each kind the sizes |gap| up to the greatest are cut into equal bins. A bin and its
        mirror image (the pairs in which the control is wrong by as much) keep equally many pairs,
        as many as the smaller of the two has, drawn at random. So the control's gap contains
        no information about the truth, except for what differs within a bin. Pairs that the control
        ties stay all; those that it cannot score go.
    Source
        The adversarial refinement of C.-Y. Hsieh et al. (2023), SugarCrepe, NeurIPS: there by the
        gaps of two models at once, here by that of one control.
    """
    rng = np.random.default_rng([_STREAM, seed])
    stays: npt.NDArray[np.bool_] = gap == 0
    for kind in range(len(groups.kinds)):
        of_kind = (groups.kind == kind) & ~np.isnan(gap) & (gap != 0)
        size = np.abs(gap)
        greatest = size[of_kind].max(initial=0)
        if not greatest:
            continue
        # (0, 1/bins], (1/bins, 2/bins], … of the greatest
        place = np.where(of_kind, np.ceil(size / greatest * bins - 1e-9), 0)
        for number in np.unique(place[of_kind]):
            there = of_kind & (place == number)
            right, wrong = np.flatnonzero(there & (gap > 0)), np.flatnonzero(there & (gap < 0))
            n = min(len(right), len(wrong))
            for side in (right, wrong):
                stays[rng.permutation(side)[:n]] = True
    return stays
