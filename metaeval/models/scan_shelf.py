"""The encoded regions of images that have about as many, and their attention with words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.models.scan_attention import attending, by_gram


@dataclass(frozen=True, slots=True)
class Shelf:
    """The regions of n images that have about as many, in float64.

    Attributes
    ----------
    turned
        Their vectors, [n, d, r]: products with words are then quick.
    lengths, gram
        The vectors' lengths [n, r] and their products with each other [n, r, r].
    """

    turned: torch.Tensor
    lengths: torch.Tensor
    gram: torch.Tensor

    @classmethod
    def of(cls, vectors: torch.Tensor) -> Shelf:
        """Of vectors [n, r, d]; zeros where there is no region."""
        own = vectors.double()
        turned = own.transpose(1, 2).contiguous()
        return cls(turned, own.norm(dim=2), own @ turned)

    def of_images(self, rows: npt.NDArray[np.int64]) -> Shelf:
        """The regions of some of the images, in this order; an image may come again."""
        index = torch.from_numpy(rows).to(self.turned.device)
        return Shelf(*(x.index_select(0, index) for x in (self.turned, self.lengths, self.gram)))

    def attending_to(self, words: torch.Tensor, smooth: float) -> torch.Tensor:
        """[n, r] The cosine of each region with the words [n, w, d] it attends to, float64.

        Products with regions are what the softmax magnifies: those are float64. The attended
        vectors' lengths are quicker in float32, and no worse than the words themselves.
        """
        own = words.double()
        products = (own @ self.turned).transpose(1, 2).contiguous()
        if self.turned.shape[2] < words.shape[1]:  # the shorter way to the attended vectors' length
            return attending(products, self.lengths, smooth, lambda e: (e @ own).norm(dim=2))
        gram = by_gram((words @ words.transpose(1, 2)).double())
        return attending(products, self.lengths, smooth, gram)

    def attended_by(self, words: torch.Tensor, smooth: float) -> torch.Tensor:
        """[n, w] The cosine of each word with the regions it attends to, float64."""
        own = words.double()
        return attending(own @ self.turned, own.norm(dim=2), smooth, by_gram(self.gram))
