"""FAIEr in batches: union vectors once an image, then any number of captions.

Every matrix product has a shape that depends on the caption (or the image) alone: batches hold
captions of one length and always the same number of them, the last one filled up; texts are read as
in `prefix_gru.py`. Matrix libraries choose their kernels by shape, so a caption scores the same, to
the last bit, whatever else is scored with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from metaeval.compute.device import (
    fill_rows,
    group_rows_by_keys,
    inference,
    map_ordered,
    run_on,
    to_device,
)
from metaeval.metrics.faier.network import BiGru, FaierNetwork, ParsedCaptions, level_score, matches
from metaeval.metrics.prefix_gru import read_both_ways
from metaeval.text.scene_graphs.parse import Triplet, TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ROWS = {"cpu": 128, "cuda": 4096}  # captions, triplets or regions in a batch
_IMAGES = {"cpu": 32, "cuda": 512}
_STATES = 1 << 22  # captions read at a time × their dimensions
_STEPS = {"objects": 8, "relations": 4}  # a reference's nodes are padded to a multiple of this
_REGIONS = 4  # and an image's regions to one of this


@dataclass(frozen=True, slots=True)
class NodeVectors:
    """Node vectors of n captions on one level, those of a caption side by side.

    Caption i has `counts[i]` of the `vectors` [sum of counts, d], from `starts[i]` on.
    """

    vectors: torch.Tensor
    starts: Ints
    counts: Ints


CaptionNodes = Mapping[str, NodeVectors]  # by level: "objects", "relations"


def nodes_of(nodes: CaptionNodes, rows: Ints) -> CaptionNodes:
    """The nodes of these captions, each as often as it is named; vectors are not copied."""
    return {
        level: NodeVectors(of.vectors, of.starts[rows], of.counts[rows])
        for level, of in nodes.items()
    }


class UnionMatcher:
    """A trained network with the union vectors of a dataset's images.

    The network is in eval mode, on the device it is to compute on; its weights must not change any
    more. By level, `unions` holds the union vectors of all images [total + 1, d], the last of them
    a zero, and `places` int64 [images, most] which are each image's, `total` behind them. There is
    one per region; where the network sees no image, one per node of its references.
    """

    def __init__(self, model: FaierNetwork) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        self._rows, self._n_images = _ROWS[self.device.type], _IMAGES[self.device.type]
        self.unions: dict[str, torch.Tensor] = {}
        self.places: dict[str, torch.Tensor] = {}
        self._widths: dict[str, Ints] = {}

    def prepare(
        self,
        regions: Regions | None,
        references: ParsedCaptions | CaptionNodes,
        rows: Sequence[Sequence[int]],
    ) -> None:
        """Compute the union vectors of n images.

        `None` for regions is for a network that sees none. `rows` says which of all references (or
        of what `read` made of them) each image has, in their order, at least one.
        """
        with inference(self.device):
            nodes: CaptionNodes = {}
            if self.model.shape.fused:
                nodes = (
                    self.read(references) if isinstance(references, ParsedCaptions) else references
                )
            if not self.model.shape.seen:
                self._unions_from_references(nodes, rows)
            elif regions is None:
                raise ValueError("this network sees regions")
            else:
                self._unite(regions, nodes, rows)

    def _unions_from_references(self, nodes: CaptionNodes, rows: Sequence[Sequence[int]]) -> None:
        """Union vectors of the references' nodes alone."""
        for level, of_level in nodes.items():
            total = len(of_level.vectors)
            united = self._in_pieces(partial(self.model.said_by, level), of_level.vectors)
            self.unions[level] = torch.cat([united, united.new_zeros(1, united.shape[1])])
            nodes_of_image = [
                np.concatenate(
                    [
                        np.arange(of_level.starts[k], of_level.starts[k] + of_level.counts[k])
                        for k in group
                    ]
                )
                for group in rows
            ]
            step = _STEPS[level]
            widths = np.array([_pad(len(each), step) for each in nodes_of_image], dtype=np.int64)
            places = np.full(
                (len(nodes_of_image), int(widths.max(initial=0))), total, dtype=np.int64
            )
            for place, each in zip(places, nodes_of_image, strict=True):
                place[: len(each)] = each
            self.places[level] = torch.from_numpy(places).to(self.device)
            self._widths[level] = widths

    def _unite(self, regions: Regions, nodes: CaptionNodes, rows: Sequence[Sequence[int]]) -> None:
        """Union vectors of the regions, fused with the references' nodes if there are any."""
        model, d = self.model, self.model.shape.d
        counts = regions.mask.sum(axis=1)
        widths = _pad(np.maximum(counts, 1), _REGIONS)
        first, total = _starts(counts), int(counts.sum())
        slots = np.arange(int(widths.max(initial=0)))
        places = np.where(slots < counts[:, None], first[:, None] + slots, total)
        at_regions = torch.from_numpy(places).to(self.device)
        for level in model.levels:
            self.unions[level] = torch.zeros(total + 1, d, device=self.device)
            self.places[level], self._widths[level] = at_regions, widths

        def unite(images: Ints, size: int) -> None:
            filled = fill_rows(images, size)
            width = int(widths[images[0]])
            seen = model.see(*_tensors(regions, filled, width, self.device))
            owner, place = (np.arange(width) < counts[images][:, None]).nonzero()
            target = torch.from_numpy(first[filled][owner] + place).to(self.device)
            at = torch.from_numpy(owner).to(self.device), torch.from_numpy(place).to(self.device)
            for level, out in self.unions.items():
                vectors: torch.Tensor = getattr(seen, level)
                if not nodes:
                    out[target] = vectors[at]
                    continue
                texts = _reference_nodes(nodes[level], _STEPS[level], [rows[i] for i in filled])
                attended = model.fuse(level).attended(vectors, *texts)[at]
                out[target] = self._in_pieces(model.fuse(level).join, vectors[at], attended)

        self._each(unite, self._n_images, widths, *_image_keys(rows, nodes))

    def score(
        self, captions: ParsedCaptions | CaptionNodes, image_index: npt.NDArray[np.intp]
    ) -> Floats:
        """Object-level and relation-level scores of n captions, float64 [n, 2] (or [n, 1])."""
        with inference(self.device):
            nodes = self.read(captions) if isinstance(captions, ParsedCaptions) else captions
            index = np.asarray(image_index, dtype=np.int64)
            levels = [self._score_level(level, nodes[level], index) for level in self.model.levels]
            return np.stack(levels, axis=1)

    def unions_of(self, index: int) -> dict[str, torch.Tensor]:
        """By level, the union vectors of one image, without padding: [r, d]."""
        places = {level: of_level[index] for level, of_level in self.places.items()}
        return {
            level: z[places[level][places[level] < len(z) - 1]] for level, z in self.unions.items()
        }

    def _score_level(self, level: str, nodes: NodeVectors, index: Ints) -> Floats:
        """One level's score of each caption."""
        unions, scores = self.unions[level], np.empty(len(nodes.starts))
        widths = self._widths[level][index]

        def match(rows: Ints, size: int) -> None:
            filled = fill_rows(rows, size)
            k = int(nodes.counts[filled[0]])
            at = torch.from_numpy(nodes.starts[filled][:, None] + np.arange(k)).to(self.device)
            places = self.places[level][torch.from_numpy(index[filled]).to(self.device)]
            places = places[:, : int(widths[filled[0]])]
            batch = level_score(unions[places], places < len(unions) - 1, nodes.vectors[at])
            scores[rows] = batch[: len(rows)].double().cpu().numpy()

        self._each(match, self._rows, nodes.counts, widths)
        return scores

    def _each(self, work: Callable[[Ints, int], None], size: int, *keys: Ints) -> None:
        """Call `work(rows, size)` for the rows of equal keys, at most `size` at a time; on the
        processor several at a time: each has its own part of what is written."""
        groups = group_rows_by_keys(*keys, most=size)
        run_on(self.device, [partial(work, rows, size) for rows in groups])

    def read(self, captions: ParsedCaptions) -> CaptionNodes:
        """The node vectors of captions, which do not depend on images or references."""
        with inference(self.device):
            text = self.model.text
            read = self._read(text.words, captions.words, captions.lengths)
            words, ends = zip(*read, strict=True)
            objects = NodeVectors(torch.cat(words), _starts(captions.lengths), captions.lengths)
            if text.triplets is None:
                return {"objects": objects}
            read = self._read(text.triplets, captions.triplets, captions.triplet_lengths)
            last = [ended for _, ended in read]
            # a job, as all that is computed: it does not wait for other threads
            sentences = run_on(
                self.device, [partial(self._in_pieces, text.sentence, torch.cat(ends))]
            )
            vectors = torch.cat([*sentences, *last])
            # a caption's relations side by side: the sentence, then its triplets
            counts = captions.count + 1
            owner = np.repeat(np.arange(len(captions)), counts)
            slot = np.arange(len(owner)) - _starts(counts)[owner]
            place = np.where(slot, len(captions) + captions.first[owner] + slot - 1, owner)
            vectors = vectors[torch.from_numpy(place).to(self.device)]
            relations = NodeVectors(vectors, _starts(counts), counts)
            return {"objects": objects, "relations": relations}

    def _read(
        self, gru: BiGru, tokens: Ints, lengths: Ints
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Part by part of texts [n, longest], states [sum of lengths, d], one text after the other,
        and last states [n, d]; see `BiGru`."""
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        most = max(1, _STATES // self.model.shape.d)
        for some in np.array_split(np.arange(len(tokens)), max(1, -(-len(tokens) // most))):
            # two threads for each part, one for each of the GRU's directions
            cut = np.array_split(some, -(-threads // 2))
            texts = [(tokens[rows], lengths[rows]) for rows in cut]
            read = read_both_ways(self.model.text.embedding, gru.gru, texts)
            pairs = zip(read, texts, strict=True)
            yield from run_on(
                self.device, [partial(_averaged, *states, own) for states, (_, own) in pairs]
            )

    def _in_pieces(
        self, compute: Callable[..., torch.Tensor], *tensors: torch.Tensor
    ) -> torch.Tensor:
        """[t, d] What is computed of tensors [t, …], in pieces of one size."""
        total, pieces = len(tensors[0]), [tensors[0][:0]]
        for start in range(0, total, self._rows):
            filled = torch.arange(start, start + self._rows, device=self.device)
            filled = torch.where(filled < total, filled, start)
            pieces.append(compute(*(tensor[filled] for tensor in tensors)))
        return torch.cat(pieces)[:total]


def _image_keys(rows: Sequence[Sequence[int]], nodes: CaptionNodes) -> list[Ints]:
    """What the shapes of an image's matrix products depend on, [n] each."""
    longest = [
        np.array([_pad(int(of.counts[list(own)].max()), _STEPS[level]) for own in rows])
        for level, of in nodes.items()
    ]
    return [np.array([len(own) for own in rows], dtype=np.int64), *longest]


def _reference_nodes(
    nodes: NodeVectors, step: int, rows: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Nodes [n, m, k, d] and mask [n, m, k] of n images' references, m each."""
    references = np.array([list(group) for group in rows])
    counts, starts = nodes.counts[references], nodes.starts[references]
    slots = np.arange(_pad(int(counts.max()), step))
    there = slots < counts[..., None]
    at = torch.from_numpy(np.where(there, starts[..., None] + slots, 0))
    mask = torch.from_numpy(there).to(nodes.vectors.device)
    return nodes.vectors[at.to(mask.device)] * mask[..., None], mask


def _starts(counts: Ints) -> Ints:
    """Where each of so many begins."""
    return np.cumsum(counts) - counts


def _means(vectors: torch.Tensor, pairs: Ints) -> torch.Tensor:
    """[m, d] The means of pairs [m, 2] of vectors."""
    at = torch.from_numpy(pairs).to(vectors.device)
    return torch.nn.functional.embedding_bag(at, vectors, mode="mean")


def _averaged(
    states: torch.Tensor, place: Ints, lengths: Ints
) -> tuple[torch.Tensor, torch.Tensor]:
    """The means of a GRU's states ahead and back: of each word, and of each text's last ones."""
    rows, words = np.arange(len(lengths)), np.arange(place.shape[1]) < lengths[:, None]
    ends = place[rows, lengths - 1, 0], place[rows, 0 * lengths, 1]
    return _means(states, place[words]), _means(states, np.stack(ends, axis=1))


def _pad(n: Any, step: int) -> Any:
    """A number or an array of them, filled up to multiples of the step."""
    return -(-n // step) * step


def _tensors(
    regions: Regions, rows: Ints, width: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features, boxes and mask of some images, always `width` regions wide."""
    more = max(0, width - regions.mask.shape[1])
    arrays = (each[rows, :width] for each in (regions.features, regions.boxes, regions.mask))
    padded = (np.pad(each, [(0, 0), (0, more), (0, 0)][: each.ndim]) for each in arrays)
    return to_device(device, *padded)  # type: ignore[return-value]


SENTENCE = "(sentence)"


class Explainer:
    """Matches of captions with the union vectors of the images that the matcher is prepared on.

    `references` are, per image, those that its union is made of; none where the network reads none.
    """

    def __init__(
        self,
        matcher: UnionMatcher,
        parser: TripletParser,
        vocabulary: Vocabulary,
        references: Sequence[Sequence[str]],
        regions: Regions,
    ) -> None:
        self._matcher, self._parser, self._vocabulary = matcher, parser, vocabulary
        self._references, self._regions = references, regions
        self._triplets: dict[str, list[Triplet]] = {}
        self._reference_matches = cache(self._match_references)  # they serve many captions

    def explain(
        self, captions: Sequence[str], images: Sequence[int]
    ) -> list[tuple[dict[str, object], list[float]]]:
        """What each caption finds in its image, and its score on each level.

        Each is computed by itself. The first of a pair is {"kind": "matches", "regions":
        [{"label", "box"}], "words", "matches" (a row of r numbers per word), "relations",
        "relation_matches", "references": [{"words", "matches"}]}.
        """
        texts = [*captions, *(text for i in set(images) for text in self._references[i])]
        new = [text for text in texts if text not in self._triplets]
        self._triplets.update(zip(new, self._parser(new), strict=True))
        device, pairs = self._matcher.device, zip(captions, images, strict=True)
        list(map_ordered(device, self._reference_matches, set(images)))
        return list(map_ordered(device, lambda pair: self._explain(*pair), pairs))

    def _match_references(self, index: int) -> list[dict[str, object]]:
        return [
            {key: texts[key] for key in ("words", "matches")}
            for texts, _ in self._match(self._references[index], index)
        ]

    def _explain(self, caption: str, index: int) -> tuple[dict[str, object], list[float]]:
        ((matches_of_caption, levels),) = self._match([caption], index)
        boxes = self._regions.boxes[index][self._regions.mask[index]]
        labels = self._regions.labels[index]
        return {
            "kind": "matches",
            "regions": [
                {"label": label, "box": [round(float(x), 4) for x in box]}
                for label, box in zip(labels, boxes, strict=True)
            ],
            **matches_of_caption,
            "references": self._reference_matches(index),
        }, levels

    def _match(
        self, texts: Sequence[str], index: int
    ) -> list[tuple[dict[str, object], list[float]]]:
        """Words, triplets and their matches of some texts, each with the scores of its levels."""
        unions = self._matcher.unions_of(index)
        pairs = []
        for text in texts:
            own = self._triplets[text]
            nodes = self._matcher.read(ParsedCaptions.of([text], [own], self._vocabulary))
            tables = [matches(z[None], nodes[k].vectors[None])[0] for k, z in unions.items()]
            several = len(tables) > 1
            explanation = {
                "words": ["<start>", *self._vocabulary.tokenise([text])[0], "<end>"],
                "matches": _round(tables[0]),
                "relations": [SENTENCE, *(" ".join(t) for t in own)] if several else [],
                "relation_matches": _round(tables[1]) if several else [],
            }
            levels = [float(table.amax(dim=1).double().mean()) for table in tables]
            pairs.append((explanation, levels))
        return pairs


def _round(table: torch.Tensor) -> list[list[float]]:
    return [[round(x, 4) for x in row] for row in table.double().tolist()]
