"""Texts as numbers: the words of many captions, and of all images' references, in flat arrays.

What counts words for many captions at once (n-gram metrics, the longest copy) starts from these.
References differ in number from image to image, so nothing here has a side as long as the most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Texts(NamedTuple):
    """n texts as numbers: `words` [all words], one text after the other, and `lengths` [n]."""

    words: Ints
    lengths: Ints


class FlatReferences(NamedTuple):
    """The references of all images in one list: `texts` [r], the `image` [r] that each belongs to,
    its place (`slot` [r]) among that image's references, and their number per image, `sizes` [n].
    """

    texts: list[str]
    image: Ints
    slot: Ints
    sizes: Ints


def flatten_references(references: Sequence[Sequence[str]]) -> FlatReferences:
    """Put the references of all images into one list."""
    sizes = np.array([len(group) for group in references], dtype=np.int64)
    image = np.repeat(np.arange(len(sizes)), sizes)
    return FlatReferences(list(chain.from_iterable(references)), image, places_of(sizes), sizes)


def places_of(sizes: Ints) -> Ints:
    """The place, from 0, of each member of groups of these sizes, group after group."""
    places: Ints = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def runs_of_cost(cost: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Begin and end of runs of n texts, one after the other, that together cost about `most`: less
    than `most` and the costliest of them.

    >>> list(runs_of_cost(np.array([1, 1, 1, 9, 1]), 3))
    [(0, 2), (2, 3), (3, 5)]
    """
    run = np.cumsum(cost) // most
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    return pairwise([*starts.tolist(), len(cost)])


class WordIndex:
    """The words of the references, numbered from 0 in the order of their appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def words(self) -> list[str]:
        """The words that were learnt, by their numbers."""
        return list(self._numbers)

    def learn(self, texts: Sequence[Sequence[str]]) -> Texts:
        """Number the words of the texts, new ones too, and keep the numbers."""
        encoded, self._numbers = self._encoded(texts)
        return encoded

    def encode(self, texts: Sequence[Sequence[str]]) -> Texts:
        """Number the words of the texts. A word that was never learnt gets a number of its own
        beyond the learnt ones, good for this call only."""
        return self._encoded(texts)[0]

    def _encoded(self, texts: Sequence[Sequence[str]]) -> tuple[Texts, dict[str, int]]:
        numbers = defaultdict(count(len(self._numbers)).__next__, self._numbers)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        words = map(numbers.__getitem__, chain.from_iterable(texts))
        return Texts(np.fromiter(words, np.int64, int(lengths.sum())), lengths), dict(numbers)
