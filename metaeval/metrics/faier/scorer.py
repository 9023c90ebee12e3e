"""FAIEr at work: union vectors once an image, then any number of captions, in batches.

Every matrix product has a shape that depends on the caption (or the image) alone: batches hold
captions of one length and always the same number of them, the last one filled up. Matrix libraries
choose their kernels by shape, so a caption scores the same, to the last bit, whatever else is
scored with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import torch

from metaeval.compute.batching import fill_rows, group_rows_by_keys
from metaeval.compute.threads import run_parallel
from metaeval.metrics.faier.captions import Captions
from metaeval.metrics.faier.fusion import Fusion, level_score
from metaeval.metrics.faier.network import Faier, Unions
from metaeval.metrics.faier.text import BiGru, Projected
from metaeval.metrics.faier.training.step import Ragged, score_matrix
from metaeval.vision.regions.base import MOST, Regions

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ROWS = {"cpu": 128, "cuda": 4096}  # captions, triplets or regions in a batch
_IMAGES = {"cpu": 32, "cuda": 512}


@dataclass(frozen=True, slots=True)
class Read:
    """Node vectors of many captions, those of one caption side by side.

    `words` [sum of lengths, d] begin at `starts` [n]; `relations` [sum, d], the sentence and then
    the triplets, begin at `relation_starts` [n], `relation_counts` [n] of them.
    """

    words: torch.Tensor
    starts: Ints
    lengths: Ints
    relations: torch.Tensor
    relation_starts: Ints
    relation_counts: Ints


class FaierScorer:
    """A trained model with the union vectors of a dataset's images.

    Parameters
    ----------
    model
        In eval mode, on the device it is to compute on; its weights must not change any more.
    """

    def __init__(self, model: Faier) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        self._rows, self._n_images = _ROWS[self.device.type], _IMAGES[self.device.type]
        self._objects = self._relations = torch.empty(0, 0, device=self.device)
        self._places = torch.empty(0, 0, dtype=torch.int64, device=self.device)

    @cached_property
    def _tables(self) -> tuple[Projected, Projected | None]:
        """What each word of the vocabulary adds to the gates of the two GRUs."""
        text = self.model.text
        with torch.inference_mode():
            words = text.words.projected(text.embedding.weight)
            triplets = text.triplets
            return words, triplets.projected(text.embedding.weight) if triplets else None

    @torch.inference_mode()
    def prepare(
        self, regions: Regions, references: Captions | Read, rows: Sequence[Sequence[int]]
    ) -> None:
        """Compute the union vectors of n images.

        Parameters
        ----------
        regions
            Of n images; r must not be above 36 (or all images have the same number).
        references, rows
            All references (or what `read` made of them), and which of them each image has, in
            their order, at least one.
        """
        model, d = self.model, self.model.shape.d
        counts = regions.mask.sum(axis=1)
        width = max(MOST, regions.mask.shape[1])
        first = np.cumsum(counts) - counts
        total = int(counts.sum())
        places = np.full((len(regions), width), total, dtype=np.int64)  # the last row is of zeros
        places[:, : regions.mask.shape[1]][regions.mask] = np.arange(total)
        self._places = torch.from_numpy(places).to(self.device)
        self._objects = torch.zeros(total + 1, d, device=self.device)
        self._relations = torch.zeros(total + 1, d, device=self.device)
        read: Read | None = None
        if model.shape.fused:
            read = references if isinstance(references, Read) else self.read(references)

        def unite(mine: Ints, size: int) -> None:
            filled = fill_rows(mine, size)
            seen = model.see(*_tensors(regions, filled, width, self.device))
            real = np.arange(size) < len(mine)
            there = seen.mask.cpu().numpy() & real[:, None]
            owner, place = there.nonzero()
            target = torch.from_numpy(first[filled][owner] + place).to(self.device)
            at = torch.from_numpy(owner).to(self.device), torch.from_numpy(place).to(self.device)
            levels = [("objects", self._objects, seen.objects)]
            if model.shape.relations:
                levels.append(("relations", self._relations, seen.relations))
            for level, out, vectors in levels:
                if read is None:
                    out[target] = vectors[at]
                    continue
                nodes, mask = self._reference_nodes(read, level, [rows[i] for i in filled])
                attended = self._fusion(level).attended(vectors, nodes, mask)[at]
                out[target] = self._joined(level, vectors[at], attended)

        self._each(unite, self._n_images, *self._image_keys(rows, read))

    @torch.inference_mode()
    def score(self, captions: Captions | Read, image_index: npt.NDArray[np.intp]) -> Floats:
        """Object-level and relation-level scores of n captions, float64 [n, 2] (or [n, 1])."""
        read = captions if isinstance(captions, Read) else self.read(captions)
        index = np.asarray(image_index, dtype=np.int64)
        levels = [self._level(self._objects, read.words, read.starts, read.lengths, index)]
        if self.model.shape.relations:
            levels.append(
                self._level(
                    self._relations,
                    read.relations,
                    read.relation_starts,
                    read.relation_counts,
                    index,
                )
            )
        return np.stack(levels, axis=1)

    @torch.inference_mode()
    def matrix(
        self, captions: Captions | Read, rows: Ints, images: Ints, budget: int = 2**24
    ) -> npt.NDArray[np.float32]:
        """FAIEr of some of the captions with the unions of some images: [captions, images]."""
        read = captions if isinstance(captions, Read) else self.read(captions)
        total = np.zeros((len(rows), len(images)), np.float32)
        places = self._places[torch.from_numpy(images).to(self.device)]
        kinds = [(self._objects, read.words, read.starts, read.lengths)]
        if self.model.shape.relations:
            kinds.append(
                (self._relations, read.relations, read.relation_starts, read.relation_counts)
            )
        for unions, nodes, starts, counts in kinds:
            there = places < len(unions) - 1
            own = Ragged.of(unions[places], there)
            at = np.concatenate([np.arange(starts[r], starts[r] + counts[r]) for r in rows])
            count = torch.from_numpy(counts[rows]).to(self.device)
            texts = Ragged(nodes[torch.from_numpy(at).to(self.device)], count.cumsum(0), count)
            total += score_matrix(own, texts, budget).cpu().numpy()
        return total

    def unions(self, index: int) -> Unions:
        """The union vectors of one image, without padding: [1, r, d]."""
        rows = self._places[index][self._places[index] < len(self._objects) - 1]
        mask = torch.ones(1, len(rows), dtype=torch.bool, device=self.device)
        relations = self._relations if self.model.shape.relations else self._relations[:, :0]
        return Unions(self._objects[rows][None], relations[rows][None], mask)

    def _level(
        self, unions: torch.Tensor, nodes: torch.Tensor, starts: Ints, counts: Ints, index: Ints
    ) -> Floats:
        """One level's score of each caption, whose nodes lie side by side."""
        out = np.empty(len(starts))

        def match(mine: Ints, size: int) -> None:
            filled = fill_rows(mine, size)
            k = int(counts[filled[0]])
            at = torch.from_numpy(starts[filled][:, None] + np.arange(k)).to(self.device)
            places = self._places[torch.from_numpy(index[filled]).to(self.device)]
            there = torch.ones(size, k, dtype=torch.bool, device=self.device)
            found = level_score(unions[places], places < len(unions) - 1, nodes[at], there)
            out[mine] = found[: len(mine)].double().cpu().numpy()

        self._each(match, self._rows, counts)
        return out

    def _each(self, work: Callable[[Ints, int], None], size: int, *keys: Ints) -> None:
        """Call `work(rows, size)` for the rows of equal keys, at most `size` at a time; on the
        processor several at a time: each has its own part of what is written."""
        jobs = [partial(work, rows, size) for rows in group_rows_by_keys(*keys, most=size)]
        if self.device.type == "cpu":
            run_parallel(jobs)
        else:
            for job in jobs:
                job()

    @torch.inference_mode()
    def read(self, captions: Captions) -> Read:
        """The node vectors of captions, which do not depend on images or references."""
        text, d = self.model.text, self.model.shape.d
        words_table, triplets_table = self._tables
        starts = np.cumsum(captions.lengths) - captions.lengths
        words = torch.empty(int(captions.lengths.sum()), d, device=self.device)
        counts = captions.count + 1 if text.triplets is not None else 0 * captions.count
        relation_starts = np.cumsum(counts) - counts
        relations = torch.empty(int(counts.sum()), d, device=self.device)

        def read_words(mine: Ints, size: int) -> None:
            states, last = text.read(
                text.words,
                *self._batch(captions.words, captions.lengths, mine, size),
                words_table,
            )
            at = starts[mine][:, None] + np.arange(states.shape[1])
            words[torch.from_numpy(at).to(self.device)] = states[: len(mine)]
            if text.triplets is not None:
                first = torch.from_numpy(relation_starts[mine]).to(self.device)
                relations[first] = text.sentence(last)[: len(mine)]

        self._each(read_words, self._rows, captions.lengths)
        if text.triplets is not None:
            gru: BiGru = text.triplets
            owner = np.repeat(np.arange(len(captions)), captions.count)
            slot = np.arange(len(owner)) - captions.first[owner]
            where = relation_starts[owner] + 1 + slot

            def read_triplets(mine: Ints, size: int) -> None:
                batch = self._batch(captions.triplets, captions.triplet_lengths, mine, size)
                _, last = text.read(gru, *batch, triplets_table)
                relations[torch.from_numpy(where[mine]).to(self.device)] = last[: len(mine)]

            self._each(read_triplets, self._rows, captions.triplet_lengths)
        return Read(words, starts, captions.lengths, relations, relation_starts, counts)

    def _batch(
        self, table: Ints, lengths: Ints, mine: Ints, size: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Word ids [size, l] of sequences of one length l, filled up, and their lengths."""
        filled = fill_rows(mine, size)
        words = torch.from_numpy(table[filled, : lengths[filled[0]]])
        return words.to(self.device), torch.from_numpy(lengths[filled])

    def _joined(self, level: str, regions: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """z [t, d] of regions and attended vectors, in pieces of one size."""
        size, found = self._rows, [regions[:0]]
        counts = torch.full((size,), attended.shape[1])
        for start in range(0, len(regions), size):
            filled = torch.arange(start, start + size, device=self.device)
            filled = torch.where(filled < len(regions), filled, start)
            found.append(self._fusion(level).join(regions[filled], attended[filled], counts))
        return torch.cat(found)[: len(regions)]

    def _fusion(self, level: str) -> Fusion:
        found: Fusion = self.model.fusion[level]  # type: ignore[assignment]
        return found

    def _image_keys(self, rows: Sequence[Sequence[int]], read: Read | None) -> list[Ints]:
        """What the shapes of an image's matrix products depend on, [n] each."""
        if read is None:
            return [np.zeros(len(rows), dtype=np.int64)]
        return [
            np.array([len(own) for own in rows], dtype=np.int64),
            np.array([_padded_to(int(read.lengths[list(own)].max()), 8) for own in rows]),
            np.array([_padded_to(int(read.relation_counts[list(own)].max()), 4) for own in rows]),
        ]

    def _reference_nodes(
        self, read: Read, level: str, rows: Sequence[Sequence[int]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Nodes [n, m, k, d] and mask [n, m, k] of n images' references, m each."""
        own = np.array([list(each) for each in rows])
        vectors, starts, counts, step = (
            (read.words, read.starts, read.lengths, 8)
            if level == "objects"
            else (read.relations, read.relation_starts, read.relation_counts, 4)
        )
        k = _padded_to(int(counts[own].max()), step)
        there = np.arange(k) < counts[own][..., None]
        at = torch.from_numpy(np.where(there, starts[own][..., None] + np.arange(k), 0))
        mask = torch.from_numpy(there).to(self.device)
        return vectors[at.to(self.device)] * mask[..., None], mask


def _padded_to(n: int, step: int) -> int:
    return -(-n // step) * step


def _tensors(
    regions: Regions, rows: Ints, width: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features, boxes and mask of some images, always `width` regions wide."""
    more = width - regions.mask.shape[1]
    features = np.pad(regions.features[rows], ((0, 0), (0, more), (0, 0)))
    boxes = np.pad(regions.boxes[rows], ((0, 0), (0, more), (0, 0)))
    mask = np.pad(regions.mask[rows], ((0, 0), (0, more)))
    return tuple(torch.from_numpy(a).to(device) for a in (features, boxes, mask))  # type: ignore[return-value]
