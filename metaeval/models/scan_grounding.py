"""Captions grounded in images by a SCAN network: many at a time, each as if it were alone.

Captions of one length are compared together with images of about as many regions. So no padding of
words is computed, and every product has a shape that depends on the caption and its image alone: a
caption gets the same numbers, to the last bit, whatever else is in the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from metaeval.models.device import resolve
from metaeval.models.parallel import together
from metaeval.models.regions import Regions
from metaeval.models.scan import Scan, region_rows
from metaeval.models.scan_attention import attending, by_gram
from metaeval.models.scan_words import PlainWordStates, WordStates
from metaeval.models.vocabulary import Vocabulary

Floats = npt.NDArray[np.float64]

Words = WordStates | PlainWordStates

_NUMBERS = {"cpu": 1 << 19, "cuda": 1 << 28}  # numbers compared at a time
_STEP = 4  # an image's regions are padded to a multiple of this
_REGIONS = 1024  # encoded at a time


@dataclass(frozen=True, slots=True)
class Shelf:
    """The regions of n images that have about as many, in float64, as all behind the encoders.

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
        """[n, r] The cosine of each region with the words [n, w, d] it attends to."""
        products = (words @ self.turned).transpose(1, 2).contiguous()
        if self.turned.shape[2] < words.shape[1]:  # the shorter way to the attended vectors' length
            return attending(products, self.lengths, smooth, lambda e: (e @ words).norm(dim=2))
        gram = by_gram(words @ words.transpose(1, 2))
        return attending(products, self.lengths, smooth, gram)

    def attended_by(self, words: torch.Tensor, smooth: float) -> torch.Tensor:
        """[n, w] The cosine of each word with the regions it attends to."""
        return attending(words @ self.turned, words.norm(dim=2), smooth, by_gram(self.gram))


class Grounder:
    """A network, its words, and the regions of n images.

    Parameters
    ----------
    smooth
        λ of the attention.
    device
        "auto", "cpu", "cuda", "cuda:1". Encoders run in float32, attention in float64.
    """

    def __init__(
        self,
        model: Scan,
        vocabulary: Vocabulary,
        regions: Regions,
        smooth: float,
        device: str = "auto",
    ) -> None:
        self.device = resolve(device)
        self._model, self._vocabulary = model.to(self.device).eval(), vocabulary
        self._smooth = smooth
        self.n_regions = regions.mask.sum(axis=1)
        self.width = int(regions.mask.shape[1])
        self._level = -(-np.maximum(self.n_regions, 1) // _STEP) * _STEP
        vectors = self._encoded_regions(regions)
        self._shelves = {
            int(most): Shelf.of(vectors[torch.from_numpy(self._level == most), :most])
            for most in np.unique(self._level)
        }
        self._place = np.empty(len(self._level), dtype=np.int64)  # on its shelf
        for most in self._shelves:
            mine = np.flatnonzero(self._level == most)
            self._place[mine] = np.arange(len(mine))

    def grounding(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Floats:
        """The grounding vector of each caption in its image: float64 [n, r], 0 behind the last.

        cos(vᵢ, aᵢ) of each region and the words it attends to, `<start>` and `<end>` among them.
        """
        out = np.zeros((len(captions), self.width))

        def work(rows: npt.NDArray[np.intp], regions: Shelf, words: torch.Tensor) -> None:
            found = regions.attending_to(words, self._smooth).cpu().numpy()
            out[rows, : min(found.shape[1], self.width)] = found[:, : self.width]

        self._each(captions, images, work)
        return out

    def similarity(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Floats:
        """SCAN's own similarity of each caption with its image, both ways: float64 [n, 2].

        The mean cosine of regions that attend to words (image → text), and of words that attend to
        regions (text → image).
        """
        out = np.empty((len(captions), 2))

        def work(rows: npt.NDArray[np.intp], regions: Shelf, words: torch.Tensor) -> None:
            ways = (regions.attending_to, self.n_regions[images[rows]]), (
                regions.attended_by, words.shape[1],
            )  # fmt: skip
            for column, (way, n) in enumerate(ways):
                out[rows, column] = way(words, self._smooth).sum(dim=1).cpu().numpy() / n

        self._each(captions, images, work)
        return out

    def _each(
        self,
        captions: Sequence[str],
        images: npt.NDArray[np.intp],
        work: Callable[[npt.NDArray[np.intp], Shelf, torch.Tensor], None],
    ) -> None:
        """Call `work(rows, their images' regions, words [k, w, d] in float64)` for all captions."""
        if not len(captions):
            return
        words = self._encoded_words(self._vocabulary.encode_all(captions))
        level = self._level[images]
        # captions of one length in images of about as many regions, together
        order = np.lexsort((images, level, words.lengths))
        kind = np.stack([words.lengths, level])[:, order]
        cuts = np.flatnonzero((kind[:, 1:] != kind[:, :-1]).any(axis=0)) + 1
        jobs = []
        for rows in np.split(order, cuts):
            length, most = int(words.lengths[rows[0]]), int(level[rows[0]])
            size = max(1, _NUMBERS[self.device.type] // ((most + length) * self._model.shape.embed))
            jobs += [
                partial(self._compared, rows[start : start + size], images, words, most, work)
                for start in range(0, len(rows), size)
            ]
        together(jobs)

    def _compared(
        self,
        rows: npt.NDArray[np.intp],
        images: npt.NDArray[np.intp],
        words: Words,
        most: int,
        work: Callable[[npt.NDArray[np.intp], Shelf, torch.Tensor], None],
    ) -> None:
        """Do the work for captions of one length and images of at most `most` regions."""
        regions = self._shelves[most].of_images(self._place[images[rows]])
        work(rows, regions, words.of(rows, int(words.lengths[rows[0]])))

    def _encoded_words(self, ids: Sequence[Sequence[int]]) -> Words:
        """The word states of captions."""
        if self._model.text.plain:
            return WordStates(self._model.text, ids)
        return PlainWordStates(self._model.text, ids)

    def _encoded_regions(self, regions: Regions) -> torch.Tensor:
        """[n, r, d] The region vectors, r a multiple of `_STEP`; zeros where there is none."""
        features, _, mask = regions.tensors(self.device)
        rows = region_rows(features, mask)
        found = []
        with torch.inference_mode():
            for start in range(0, len(rows[0]), _REGIONS):
                some = [each[start : start + _REGIONS] for each in rows]
                lacking = _REGIONS - len(some[0])
                full = (torch.nn.functional.pad(each, (0, 0, 0, lacking)) for each in some)
                found.append(self._model.image.rows(*full)[: len(some[0])])
            width = self.width + -self.width % _STEP
            out = features.new_zeros(len(mask), width, self._model.shape.embed)
            out[:, : self.width][mask] = torch.cat(found) if found else out[0, :0]
        return out
