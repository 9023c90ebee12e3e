"""VIFIDEL's importance weights: how far a word is from what the references say.

The weight of word k is the mean, over the references of its image, of
max(0, 1 - max_t cos(x_k, x_t)) / 2, t running over the reference's content words. A word that
every reference has weighs 0, one that is unlike all their words up to 1. As the vectors have
length 1, 1 - cos is half the squared distance, and that is what is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.metrics.vifidel.words import Bag, Lexicon


class ImportanceWeights:
    """The importance weights of words, by the bags of each image's references.

    A reference without a word that has a vector is left out of the mean; without
    any other, weights are not a number.
    """

    def __init__(self, lexicon: Lexicon, references: Sequence[Sequence[Bag]]) -> None:
        self._lexicon = lexicon
        usable = [[[word for word, _ in bag] for bag in bags if bag] for bags in references]
        self._starts = [np.cumsum([0, *map(len, bags)])[:-1] for bags in usable]
        self._words = [[word for bag in bags for word in bag] for bags in usable]

    def usable(self, image: int) -> bool:
        """Whether an image has a reference to weigh words by."""
        return bool(self._words[image])

    def of(self, image: int, words: Sequence[int]) -> npt.NDArray[np.float64]:
        """[len(words)] The weights of words in an image, in [0, 1]."""
        if not self._words[image]:
            return np.full(len(words), np.nan)
        distinct, place = np.unique(self._words[image], return_inverse=True)
        squares = self._lexicon.squared_distances(words, distinct.tolist())[:, place]
        nearest = np.minimum.reduceat(squares, self._starts[image], axis=1)
        return np.asarray(nearest.mean(axis=1) / 4)

    def of_pairs(
        self, images: npt.NDArray[np.intp], words: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.float64]:
        """[n] The weight of `words[i]` in `images[i]`."""
        size = len(self._lexicon.words)
        pairs, inverse = np.unique(images * size + words, return_inverse=True)
        image, word = np.divmod(pairs, size)
        starts = np.flatnonzero(np.diff(image, prepend=-1))
        weights = [
            self.of(int(image[start]), group.tolist())
            for start, group in zip(starts, np.split(word, starts[1:]), strict=True)
        ]
        return np.concatenate(weights)[inverse]
