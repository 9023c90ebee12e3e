"""Captions grounded in images by a SCAN network: many at a time, each as if it were alone.

Captions of about one length are compared together with images of about as many regions. So every
product has a shape that depends on the caption and its image alone: a caption gets the same
numbers, to the last bit, whatever else is in the call. Words are encoded without repetition: see
`prefix_gru.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from metaeval.compute.device import (
    group_rows_by_keys,
    group_rows_by_length,
    resolve,
    run_on,
    to_device,
)
from metaeval.metrics.prefix_gru import read_both_ways
from metaeval.metrics.scan.network import (
    EPS,
    LEAK,
    WAYS,
    AttendedLengths,
    Scan,
    WordEncoder,
    cosines_of_products,
    lengths_by_gram,
    region_rows,
)
from metaeval.text.vocabulary import Vocabulary, pad_sequences
from metaeval.vision.regions.base import Regions

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class WordStates:
    """The word states of n captions, for any of them at a time; `encode_captions` makes them.

    `states` [k, d] are the GRU's in both directions, zeros first; `place` int64 [n, longest, 2]
    says which two are each word's (0 behind a caption's end), `lengths` int64 [n] how many words a
    caption has. With `unit_length` a word's state is put onto the unit sphere.
    """

    def __init__(self, states: torch.Tensor, place: Ints, lengths: Ints, unit_length: bool) -> None:
        self._states, self.lengths, self._unit_length = states, lengths, unit_length
        self._place = torch.from_numpy(place).to(states.device)

    def of(self, rows: npt.NDArray[np.intp], length: int) -> torch.Tensor:
        """[k, length, d] The states of these captions; zeros behind a caption's end."""
        index = torch.from_numpy(rows).to(self._place.device)
        place = self._place.index_select(0, index)[:, :length]
        place = torch.nn.functional.pad(place, (0, 0, 0, length - place.shape[1])).flatten(0, 1)
        # a bag of two: looks both up and adds them in one go
        states = torch.nn.functional.embedding_bag(place, self._states, mode="sum")
        if self._unit_length:
            # half of the sum, put onto the unit sphere
            states.div_(torch.linalg.vector_norm(states, dim=1, keepdim=True) + 2 * EPS)
        else:
            states.div_(2)
        return states.view(len(rows), length, -1)


def encode_captions(
    encoder: WordEncoder, parts: Sequence[Sequence[Sequence[int]]]
) -> list[WordStates]:
    """The word states of the captions of each part, by an encoder in eval mode; every
    caption has at least one word."""
    sequences = [pad_sequences(ids) for ids in parts]
    read = read_both_ways(encoder.embed, encoder.rnn, sequences)
    return [
        WordStates(states, place, lengths, encoder.unit_length)
        for (states, place), (_, lengths) in zip(read, sequences, strict=True)
    ]


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

    def attend(
        self,
        index: torch.Tensor,
        words: torch.Tensor,
        smooth: float,
        ways: Sequence[str] = WAYS,
        leak: float = LEAK,
    ) -> dict[str, torch.Tensor]:
        """Device section: what images' regions and captions' words have in common, float64, for
        each of the ways.

        "i2t": the cosine of each region with the words it attends to, [k, r]; "t2i": that of each
        word with the regions it attends to, [k, w]. `index` are the images [k], of which one may
        come again, `words` those of a caption each [k, w, d], `smooth` the λ of the attention and
        `leak` the slope of its rectifier.
        """
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


Rows = npt.NDArray[np.int64]
Work = Callable[[Rows, Mapping[str, Floats], Rows], None]

_NUMBERS = {"cpu": 1 << 20, "cuda": 1 << 28}  # numbers compared at a time
_STATES = {"cpu": 1 << 22, "cuda": 1 << 25}  # captions encoded at a time × their dimensions
_STEP = 4  # regions and words are padded to a multiple of this
_REGIONS = 1024  # encoded at a time


class Grounder:
    """A network, its words, and the regions of n images; `smooth` is the λ of the attention, `leak`
    the slope of its rectifier.

    Encoders run in float32, and so do the lengths of what regions attend to; the rest of attention
    in float64.
    """

    def __init__(
        self,
        model: Scan,
        vocabulary: Vocabulary,
        regions: Regions,
        smooth: float,
        device: str = "auto",
        leak: float = LEAK,
    ) -> None:
        self.device = resolve(device)
        self._model, self._vocabulary = model.to(self.device).eval(), vocabulary
        self._smooth, self._leak = smooth, leak
        self.n_regions = regions.mask.sum(axis=1)
        self.width = int(regions.mask.shape[1])
        self._level = -(-np.maximum(self.n_regions, 1) // _STEP) * _STEP
        vectors, mask = self._encoded_regions(regions)
        n_regions = mask.sum(dim=1)
        first = n_regions.cumsum(0) - n_regions
        self._batches = {}
        self._place = np.empty(len(self._level), dtype=np.int64)  # in its batch
        for most, rows in group_rows_by_length(self._level):
            index = torch.from_numpy(rows).to(self.device)
            there = torch.nn.functional.pad(mask[index], (0, most))[:, :most]
            padded = vectors.new_zeros(len(rows), most, vectors.shape[1])
            at = first[index, None] + torch.cumsum(there, 1) - 1
            padded[there] = vectors[at[there]]
            self._batches[most] = RegionBatch.of(padded)
            self._place[rows] = np.arange(len(rows))

    def grounding(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Floats:
        """The grounding vector of each caption in its image: float64 [n, r], 0 behind the last.

        cos(vᵢ, aᵢ) of each region and the words it attends to, `<start>` and `<end>` among them.
        """
        out = np.zeros((len(captions), self.width))

        def work(rows: Rows, cosines: Mapping[str, Floats], _: Rows) -> None:
            vectors = cosines["i2t"]
            out[rows, : min(vectors.shape[1], self.width)] = vectors[:, : self.width]

        self._each(captions, images, ("i2t",), work)
        return out

    def similarity(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Floats:
        """SCAN's own similarity of each caption with its image, both ways: float64 [n, 2].

        The mean cosine of regions that attend to words (image → text), and of words that attend to
        regions (text → image).
        """
        out = np.empty((len(captions), 2))

        def work(rows: Rows, cosines: Mapping[str, Floats], n_words: Rows) -> None:
            out[rows, 0] = cosines["i2t"].sum(axis=1) / self.n_regions[images[rows]]
            out[rows, 1] = cosines["t2i"].sum(axis=1) / n_words

        self._each(captions, images, WAYS, work)
        return out

    def _each(
        self,
        captions: Sequence[str],
        images: npt.NDArray[np.intp],
        ways: Sequence[str],
        work: Work,
    ) -> None:
        """Call `work(rows, their cosines by the way of attending, their numbers of words)` for all.

        Words are padded with zeros, which change no sum.
        """
        ids = self._vocabulary.encode_all(captions)
        # captions of one image are adjacent: they share most
        order = np.argsort(images, kind="stable")
        most = max(1, _STATES[self.device.type] // self._model.shape.embed)
        n_threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        for some in np.array_split(order, max(1, -(-len(order) // most))):
            # two threads for each part, one for each of the GRU's directions
            cut = np.array_split(some, -(-n_threads // 2))
            parts = [part for part in cut if len(part)]
            words = encode_captions(
                self._model.text, [[ids[row] for row in part.tolist()] for part in parts]
            )
            run_on(
                self.device,
                [
                    job
                    for part, states in zip(parts, words, strict=True)
                    for job in self._comparisons(part, states, images, ways, work)
                ],
            )

    def _comparisons(
        self,
        some: Rows,
        words: WordStates,
        images: npt.NDArray[np.intp],
        ways: Sequence[str],
        work: Work,
    ) -> Iterator[Callable[[], None]]:
        """The jobs that do the work for some of the captions."""
        level, long = self._level[images[some]], words.lengths + -words.lengths % _STEP

        def compare(rows: npt.NDArray[np.intp], length: int, most: int) -> None:
            vectors = words.of(rows, length)
            (place,) = to_device(self.device, self._place[images[some[rows]]])
            tensors = self._batches[most].attend(place, vectors, self._smooth, ways, self._leak)
            cosines = {way: tensor.cpu().numpy() for way, tensor in tensors.items()}
            work(some[rows], cosines, words.lengths[rows])

        # captions of about one length in images of about as many regions, together
        for group in group_rows_by_keys(long, level):
            length, most = int(long[group[0]]), int(level[group[0]])
            size = max(1, _NUMBERS[self.device.type] // ((most + length) * self._model.shape.embed))
            for start in range(0, len(group), size):
                yield partial(compare, group[start : start + size], length, most)

    def _encoded_regions(self, regions: Regions) -> tuple[torch.Tensor, torch.Tensor]:
        """[k, d] The vectors of all regions, image by image, and [n, r] where regions are."""
        features, _, mask = regions.tensors(self.device)
        rows = region_rows(features, mask, self._model.shape.wholes)

        def encode(start: int) -> torch.Tensor:
            some = [each[start : start + _REGIONS] for each in rows]
            lacking = _REGIONS - len(some[0])
            full = (torch.nn.functional.pad(each, (0, 0, 0, lacking)) for each in some)
            return self._model.image.rows(*full)[: len(some[0])]

        starts = range(0, len(rows[0]), _REGIONS)
        vectors = run_on(self.device, [partial(encode, start) for start in starts])
        nothing = features.new_zeros(0, self._model.shape.embed)
        return torch.cat([nothing, *vectors]), mask
