"""Captions without each of their words, and what the changes of a score say about wrong words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats

Bools = npt.NDArray[np.bool_]


class MarkedCaption(NamedTuple):
    """A caption whose words people marked: its words, which of them are wrong, its image, and
    the position in the dataset of what it is compared with."""

    words: tuple[str, ...]
    wrong: tuple[bool, ...]
    image: str
    item: int

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def without(self) -> list[str]:
        """The caption without each of its words, in their order.

        >>> MarkedCaption(("a", "dog", "runs"), (False, True, False), "1", 0).without()
        ['dog runs', 'a runs', 'a dog']
        """
        return [" ".join(self.words[:k] + self.words[k + 1 :]) for k in range(len(self.words))]


class CaptionOutcome(NamedTuple):
    """`auc` and `first` of one caption, as `LocalisationStatistics` defines them."""

    auc: float
    first: float


def outcome(score: float, without: Floats, wrong: Bools) -> CaptionOutcome:
    """How well the changes of a score find the wrong words of a caption.

    Parameters
    ----------
    score
        The caption's, more is better.
    without
        float64 [n], its score without each word. NaN: could not be scored; the word is left out.
    wrong
        bool [n].

    Returns
    -------
    NaN in both where the caption has no score, or no wrong or no right word with one.

    Examples
    --------
    >>> outcome(0.5, np.array([0.4, 0.8, 0.5]), np.array([False, True, False]))
    CaptionOutcome(auc=1.0, first=1.0)
    >>> outcome(0.5, np.array([0.4, 0.4]), np.array([False, True]))
    CaptionOutcome(auc=0.5, first=0.5)
    """
    known = ~np.isnan(without)
    rise, marked = without[known] - score, wrong[known]
    if np.isnan(score) or not marked.any() or marked.all():
        return CaptionOutcome(float("nan"), float("nan"))
    first = float(marked[rise == rise.max()].mean())
    return CaptionOutcome(area_under_curve(rise, marked), first)


def area_under_curve(values: Floats, wrong: Bools) -> float:
    """The chance that a wrong word has a higher value than a right one; ties count one half.

    NaN without a wrong or without a right word.

    >>> area_under_curve(np.array([0.0, 0.5, 0.5]), np.array([False, True, False]))
    0.75
    """
    if not wrong.any() or wrong.all():
        return float("nan")
    pairs = values[wrong][:, None] - values[~wrong][None, :]
    return float((pairs > 0).mean() + 0.5 * (pairs == 0).mean())


def outcomes(captions: Sequence[MarkedCaption], scores: Floats) -> tuple[Floats, Floats]:
    """`auc` and `first` [n] of all captions, from the scores of each caption and of the caption
    without each word, one after another."""
    found, start = [], 0
    for caption in captions:
        end = start + 1 + len(caption.words)
        found.append(outcome(scores[start], scores[start + 1 : end], np.array(caption.wrong)))
        start = end
    auc, first = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return auc, first
