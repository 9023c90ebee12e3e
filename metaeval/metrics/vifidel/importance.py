"""VIFIDEL's importance weights: how far a word is from what the references say.

The weight of word k is the mean, over the references of its image, of
max(0, 1 - max_t cos(x_k, x_t)) / 2, t running over the reference's content words. A word that
every reference has weighs 0, one that is unlike all their words up to 1. As the vectors have
length 1, 1 - cos is half the squared distance, and that is what is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import fitting_batch, in_batches, to_device, to_host
from metaeval.metrics.vifidel.words import Bag, Lexicon

if TYPE_CHECKING:
    import torch

Indices = npt.NDArray[np.intp]


class ImportanceWeights:
    """The importance weights of words, by the bags of each image's references.

    A reference without a word that has a vector is left out of the mean; without
    any other, weights are not a number. With a GPU (`device`) they are computed there.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        references: Sequence[Sequence[Bag]],
        device: torch.device | None = None,
    ) -> None:
        self._lexicon, self._device = lexicon, device
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

    def of_pairs(self, images: Indices, words: Indices) -> npt.NDArray[np.float64]:
        """[n] The weight of `words[i]` in `images[i]`."""
        size = len(self._lexicon.words)
        pairs, inverse = np.unique(images * size + words, return_inverse=True)
        image, word = np.divmod(pairs, size)
        starts = np.flatnonzero(np.diff(image, prepend=-1))
        groups = np.split(word, starts[1:])
        if self._device is not None:
            weights = self._on_device(self._device, image[starts], groups)
        else:
            weights = [
                self.of(int(image[start]), group.tolist())
                for start, group in zip(starts, groups, strict=True)
            ]
        return np.concatenate(weights)[inverse]

    def _on_device(
        self, device: torch.device, images: Indices, groups: Sequence[Indices]
    ) -> list[npt.NDArray[np.float64]]:
        """The weights of each image's group of words, images padded to one size."""
        from metaeval.metrics.vifidel.device_sections import importance

        others = [self._words[i] for i in images.tolist()]
        w, t = max(map(len, groups)), max(1, *map(len, others))
        r = max(1, *(len(self._starts[i]) for i in images.tolist()))
        words = np.zeros((len(images), w), dtype=np.intp)
        references = np.zeros((len(images), t), dtype=np.intp)
        member = np.zeros((len(images), r, t), dtype=np.bool_)
        for k, (i, group) in enumerate(zip(images.tolist(), groups, strict=True)):
            words[k, : len(group)] = group
            references[k, : len(others[k])] = others[k]
            ends = [*self._starts[i][1:], len(others[k])] if len(others[k]) else []
            for reference, (start, end) in enumerate(zip(self._starts[i], ends, strict=True)):
                member[k, reference, start:end] = True
        weights = np.empty((len(images), w))
        (vectors,) = to_device(device, self._lexicon.rows)

        def work(start: int, stop: int, size: int) -> None:
            part = slice(start, stop)
            own, their, has = to_device(device, words[part], references[part], member[part])
            weights[part] = to_host(importance(vectors[own], vectors[their], has))

        an_image = 8 * ((w + t) * vectors.shape[1] + 3 * w * r * t)
        in_batches(len(images), fitting_batch(device, len(images), an_image), work)
        return [row[: len(group)] for row, group in zip(weights, groups, strict=True)]
