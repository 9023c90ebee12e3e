"""Similarities of matched pairs of images and captions, with a gradient and little padding."""

from __future__ import annotations

import torch

from metaeval.metrics.scan.attention import cosines
from metaeval.metrics.scan.training.loss import Similarity

_LEVELS = (4, 8, 12, 20)  # pairs are compared by their image's number of regions


class Pairs:
    """Similarities of matched pairs, with a gradient, by rows of encoded images and captions."""

    def __init__(
        self,
        regions: torch.Tensor,
        n_regions: torch.Tensor,
        words: torch.Tensor,
        n_words: torch.Tensor,
        smooth: float,
    ) -> None:
        self._regions, self._images = _packed(regions, n_regions)
        self._words, self._captions = _packed(words, n_words)
        self._n_regions, self._n_words, self._smooth = n_regions, n_words, smooth

    def of(self, way: str) -> Similarity:
        """A function (image rows [k], caption rows [k]) → similarities [k]."""

        def similar(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
            dtype = torch.promote_types(self._regions.dtype, torch.float32)  # under bfloat16
            out = self._regions.new_zeros(len(images), dtype=dtype)
            n, m = self._n_regions[images], self._n_words[captions]
            least = 0
            for most in (*_LEVELS, self._images.shape[1]):
                rows = ((n > least) & (n <= most)).nonzero()[:, 0]
                least = max(least, most)
                if len(rows):
                    # little padding is compared where images have few regions
                    regions = _picked(self._regions, self._images[images[rows], :most])
                    longest = int(m[rows].max())
                    words = _picked(self._words, self._captions[captions[rows], :longest])
                    if way == "i2t":
                        total, count = cosines(regions, words, self._smooth).sum(dim=1), n
                    else:
                        total, count = cosines(words, regions, self._smooth).sum(dim=1), m
                    out = out.index_copy(0, rows, (total / count[rows]).to(dtype))
            return out

        return similar


def _packed(vectors: torch.Tensor, counts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Without padding, [total + 1, d], the first a zero; and where each was, [n, most], 0 for none.

    So the gradients that are added up hold no padding either.
    """
    n, most, d = vectors.shape
    there = torch.arange(most, device=counts.device)[None, :] < counts[:, None]
    rows = there.flatten().nonzero()[:, 0]
    place = torch.zeros(n * most, dtype=torch.int64, device=counts.device)
    place[rows] = torch.arange(1, len(rows) + 1, device=counts.device)
    flat = vectors.reshape(n * most, d).index_select(0, rows)
    return torch.cat([flat.new_zeros(1, d), flat]), place.view(n, most)


def _picked(packed: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """[k, r, d] The vectors at these places [k, r]."""
    return packed.index_select(0, place.flatten()).view(*place.shape, packed.shape[1])
