"""Captions grounded in images by a SCAN network: many at a time, each as if it were alone.

Captions of about one length are compared together with images of about as many regions. So every
product has a shape that depends on the caption and its image alone: a caption gets the same
numbers, to the last bit, whatever else is in the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from metaeval.compute.batching import group_rows_by_keys, group_rows_by_length
from metaeval.compute.device import inference, resolve
from metaeval.compute.threads import run_parallel
from metaeval.metrics.scan.attention import LEAK, WAYS
from metaeval.metrics.scan.network import Scan, region_rows
from metaeval.metrics.scan.region_batch import RegionBatch
from metaeval.metrics.scan.word_states import PlainWordStates, WordStates, encode_captions
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions

Floats = npt.NDArray[np.float64]

T = TypeVar("T")
Rows = npt.NDArray[np.int64]
Words = WordStates | PlainWordStates
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
        for some in np.array_split(order, max(1, -(-len(order) // most))):
            # two threads for each part, one for each of the GRU's directions
            cut = np.array_split(some, -(-self._threads() // 2))
            parts = [part for part in cut if len(part)]
            words = self._encoded_words([[ids[row] for row in part.tolist()] for part in parts])
            self._run([
                job
                for part, states in zip(parts, words, strict=True)
                for job in self._comparisons(part, states, images, ways, work)
            ])  # fmt: skip

    def _threads(self) -> int:
        return torch.get_num_threads() if self.device.type == "cpu" else 1

    def _run(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """What the jobs return: on all threads of a processor, one after the other on a GPU."""
        if self.device.type == "cpu":
            return run_parallel(jobs)
        with inference(self.device):
            return [job() for job in jobs]

    def _comparisons(
        self,
        some: Rows,
        words: Words,
        images: npt.NDArray[np.intp],
        ways: Sequence[str],
        work: Work,
    ) -> Iterator[Callable[[], None]]:
        """The jobs that do the work for some of the captions."""
        level, long = self._level[images[some]], words.lengths + -words.lengths % _STEP

        def compare(rows: npt.NDArray[np.intp], length: int, most: int) -> None:
            vectors = words.of(rows, length)
            place = self._place[images[some[rows]]]
            tensors = self._batches[most].cosines(place, vectors, self._smooth, ways, self._leak)
            cosines = {way: tensor.cpu().numpy() for way, tensor in tensors.items()}
            work(some[rows], cosines, words.lengths[rows])

        # captions of about one length in images of about as many regions, together
        for group in group_rows_by_keys(long, level):
            length, most = int(long[group[0]]), int(level[group[0]])
            size = max(1, _NUMBERS[self.device.type] // ((most + length) * self._model.shape.embed))
            for start in range(0, len(group), size):
                yield partial(compare, group[start : start + size], length, most)

    def _encoded_words(self, parts: Sequence[Sequence[Sequence[int]]]) -> Sequence[Words]:
        """The word states of the captions of each part."""
        if self._model.text.plain:
            return encode_captions(self._model.text, parts, self._run)
        return [PlainWordStates(self._model.text, ids) for ids in parts]

    def _encoded_regions(self, regions: Regions) -> tuple[torch.Tensor, torch.Tensor]:
        """[k, d] The vectors of all regions, image by image, and [n, r] where regions are."""
        features, _, mask = regions.tensors(self.device)
        rows = region_rows(features, mask, self._model.shape.wholes)
        vectors = []
        with inference(self.device):
            for start in range(0, len(rows[0]), _REGIONS):
                some = [each[start : start + _REGIONS] for each in rows]
                lacking = _REGIONS - len(some[0])
                full = (torch.nn.functional.pad(each, (0, 0, 0, lacking)) for each in some)
                vectors.append(self._model.image.rows(*full)[: len(some[0])])
            nothing = features.new_zeros(0, self._model.shape.embed)
            return torch.cat([nothing, *vectors]), mask
