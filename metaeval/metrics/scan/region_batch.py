"""The encoded regions of images that have about as many, and their attention with words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.metrics.scan.attention import (
    LEAK,
    WAYS,
    AttendedLengths,
    cosines_of_products,
    lengths_by_gram,
)

# from this number of regions per word, Gram matrices give attended vectors' lengths faster
_WIDE = 2
# the greatest λ at which float32 holds the squares of weights, which reach exp(±λ)
_SMOOTH = 30.0


@dataclass(frozen=True, slots=True)
class RegionBatch:
    """The regions of n images that have about as many, in float64: their vectors, `turned` to
    [n, d, r] (products with words are then quick), the vectors' lengths [n, r] and their products
    with each other, `gram` [n, r, r]."""

    turned: torch.Tensor
    lengths: torch.Tensor
    gram: torch.Tensor

    @classmethod
    def of(cls, vectors: torch.Tensor) -> RegionBatch:
        """Of vectors [n, r, d]; zeros for missing regions."""
        exact = vectors.double()
        turned = exact.transpose(1, 2).contiguous()
        return cls(turned, exact.norm(dim=2), exact @ turned)

    def cosines(
        self,
        rows: npt.NDArray[np.int64],
        words: torch.Tensor,
        smooth: float,
        ways: Sequence[str] = WAYS,
        leak: float = LEAK,
    ) -> dict[str, torch.Tensor]:
        """What images' regions and captions' words have in common, float64, for each of the ways.

        "i2t": the cosine of each region with the words it attends to, [k, r]; "t2i": that of each
        word with the regions it attends to, [k, w]. `rows` are the images [k], of which one may
        come again, `words` those of a caption each [k, w, d], `smooth` the λ of the attention and
        `leak` the slope of its rectifier.
        """
        index = torch.from_numpy(rows).to(self.turned.device)
        return self.attend(index, words, smooth, ways, leak)

    def attend(
        self,
        index: torch.Tensor,
        words: torch.Tensor,
        smooth: float,
        ways: Sequence[str] = WAYS,
        leak: float = LEAK,
    ) -> dict[str, torch.Tensor]:
        """Device section of `cosines`, with the images' numbers on the device."""
        exact, turned = words.double(), self.turned.index_select(0, index)
        # products with regions are what the softmax magnifies: in float64, therefore
        products = exact @ turned
        cosines = {}
        if "i2t" in ways:
            lengths = self.lengths.index_select(0, index)
            attended = _lengths_in_words(words, turned.shape[2], smooth)
            turned_products = products.transpose(1, 2).contiguous()
            cosines["i2t"] = cosines_of_products(turned_products, lengths, smooth, attended, leak)
        if "t2i" in ways:
            attended = lengths_by_gram(self.gram.index_select(0, index))
            lengths = exact.norm(dim=2)
            cosines["t2i"] = cosines_of_products(products, lengths, smooth, attended, leak)
        return cosines


def _lengths_in_words(words: torch.Tensor, n_regions: int, smooth: float) -> AttendedLengths:
    """Lengths of what regions attend to: of all words, by their weights.

    They are quicker in float32, and no worse than the words themselves.
    """
    if n_regions < _WIDE * words.shape[1] and smooth <= _SMOOTH:
        return lambda weights: (weights.float() @ words).norm(dim=2)
    return lengths_by_gram((words @ words.transpose(1, 2).contiguous()).double())
