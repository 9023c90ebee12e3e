"""FAIEr's loss, and what one training step scores, made cheap: nothing is computed twice.

A batch holds b images with c captions each. Every caption is encoded once, and attended by its own
image's regions once; then each of s *splits* takes one caption of every image as the candidate and
some of the others as its references. Only the fusion GRU's recurrence differs between splits.

Memory: the score matrix of a split (every candidate with every union) is computed without
gradients, image by image reduced, only to find the hardest negatives. Gradients flow through the
pairs that the loss uses, and there through the best region of each node alone, which is all that
the gradient of a maximum is. So a step keeps O(b) scores with their graph, not O(b²).

What FAIEr learns from: batches of images with their captions, and the loss over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import torch
from annotated_types import Ge

from metaeval.errors import ConfigError
from metaeval.metrics.faier.metric import VARIANTS, find_variant
from metaeval.metrics.faier.network import (
    NO_REFERENCE,
    FaierNetwork,
    Fusion,
    ParsedCaptions,
    parse_and_encode,
)
from metaeval.options import Below1, NotNegative, PositiveInt, Share, checked
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.gold import GoldRegions
from research.train import augment
from research.train.caption_similarity import CaptionSimilarity
from research.train.dataset import CaptionedImages
from research.train.networks import Nodes, TextBatch, last_states, read_nodes

Tensor = torch.Tensor

_IMAGES = 8  # attended to at a time


@checked
@dataclass(frozen=True, slots=True)
class FaierSettings:
    """Settings of a variant's training, in addition to `TrainingSettings`.

    Attributes
    ----------
    variant
        One of `VARIANTS`.
    batch
        Images in a batch.
    splits
        In how many splits into candidate and references a batch's captions are used.
    margin
        Of all hinges, except those that `similarity_margin` is for.
    similarity_margin
        The margin, in the loss within images, of a wrong pair that has nothing in common: it is
        given a margin of similarity_margin · (1 - similarity of its caption and the image's own);
        see `research.train.caption_similarity`. 0: the margin is the same for all.
    unreferenced
        For variants that see any number of references: the share of samples that get none, however
        many were drawn.
    across
        Weight of the loss across images, with the hardest negatives as the wrong scores; 0 is the
        paper's loss alone.
    levels
        Weight of the same loss on each level for itself, with its part of the margin and the
        negatives that are hardest for both together; 0 is the paper's loss alone.
    lost_regions, mirrored
        The share of regions that are left out (never an image's first), and of images whose left
        and right are exchanged (gold regions only).
    """

    variant: str = "r"
    batch: Annotated[int, Ge(2)] = 100
    splits: PositiveInt = 5
    margin: NotNegative = 0.2
    similarity_margin: NotNegative = 0.0
    unreferenced: Share = 0.0
    across: NotNegative = 0.0
    levels: NotNegative = 0.0
    lost_regions: Below1 = 0.0
    mirrored: Share = 0.0

    def __post_init__(self) -> None:
        if find_variant(self.variant).corruptions:
            raise ConfigError(f"the variant '{self.variant}' is shipped only; choose another")


@dataclass(frozen=True, slots=True)
class Splits:
    """Which captions are candidates and which references, for b images in s splits.

    Captions are numbered 0 … c − 1 within their image, and c is the empty reference.
    `candidates` int64 [s, b]; `references` int64 [s, b, m], of which the first `counts` [s, b],
    at least 1, are read. All on the CPU.
    """

    candidates: Tensor
    references: Tensor
    counts: Tensor


@dataclass(frozen=True, slots=True)
class RaggedVectors:
    """Vectors of n things with different numbers of them, side by side.

    `vectors` [total, d]; those of thing i are `first[i]` … `first[i] + count[i] − 1`.
    """

    vectors: Tensor
    first: Tensor
    count: Tensor

    @classmethod
    def of(cls, vectors: Tensor, mask: Tensor) -> RaggedVectors:
        """From padded vectors [n, k, d] with a mask [n, k] whose true entries come first."""
        count = mask.sum(dim=1)
        rows = mask.flatten().nonzero(as_tuple=True)[0]
        flat = vectors.reshape(-1, vectors.shape[-1]).index_select(0, rows)
        return cls(flat, count.cumsum(0) - count, count)

    def places(self, things: Tensor) -> tuple[Tensor, Tensor]:
        """For some things, the rows of their vectors [p, most] and which of these are there."""
        count = self.count[things]
        step = torch.arange(int(count.max()), device=count.device)
        there = step < count[:, None]
        return torch.where(there, self.first[things][:, None] + step, 0), there


def unite(
    fusion: Fusion, regions: Tensor, mask: Tensor, nodes: Tensor, node_mask: Tensor, splits: Splits
) -> list[RaggedVectors]:
    """The union vectors of each split: what splits share is computed once.

    Parameters
    ----------
    regions, mask
        [b, r, d], [b, r].
    nodes, node_mask
        Of the c captions of each image and of the empty reference: [b, c + 1, k, d], [b, c + 1, k].
    """
    b, c1 = node_mask.shape[:2]
    there = mask.flatten().nonzero(as_tuple=True)[0]
    attended, at = _attend(fusion, regions, mask, nodes, node_mask)
    vectors = regions.reshape(-1, regions.shape[-1]).index_select(0, there)
    owner = torch.arange(b).repeat_interleave(mask.sum(dim=1).cpu())
    t, s = len(owner), len(splits.counts)
    d, most = vectors.shape[1], splits.references.shape[2]
    rows = (at[:, None] * c1 + splits.references[:, owner]).to(attended.device)  # [s, t, most]
    inputs = attended.reshape(t * c1, d).index_select(0, rows.flatten())
    last = last_states(fusion, inputs.view(s * t, most, d), splits.counts[:, owner].reshape(-1))
    weight = fusion.union.weight  # W_u [v; m] = W_u,left v + W_u,right m: the left part is shared
    left = torch.nn.functional.linear(vectors, weight[:, :d], fusion.union.bias)
    united = torch.nn.functional.linear(last, weight[:, d:]).view(s, t, d) + left
    count = mask.sum(dim=1)
    return [RaggedVectors(z, count.cumsum(0) - count, count) for z in united]


def say(vectors: Tensor, mask: Tensor, c: int, splits: Splits) -> list[RaggedVectors]:
    """The union vectors of each split where no image is seen: those of its references' nodes.

    `vectors` [b · c + 1, k, d] with `mask` [b · c + 1, k]: of the captions image by image, and last
    of the empty reference.
    """
    base = c * torch.arange(splits.references.shape[1])[:, None]
    united = []
    for references, counts in zip(splits.references, splits.counts, strict=True):
        rows = torch.where(references < c, base + references, len(vectors) - 1).to(vectors.device)
        read = torch.arange(rows.shape[1]) < counts[:, None]
        there = mask[rows] & read.to(mask.device)[:, :, None]
        united.append(RaggedVectors.of(vectors[rows].flatten(1, 2), there.flatten(1)))
    return united


def _attend(
    fusion: Fusion, regions: Tensor, mask: Tensor, nodes: Tensor, node_mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Attended vectors [t, c + 1, d] of all t regions that are there, and where each of them is.

    Images with about as many regions are computed together: most have few, some have 36.
    """
    count = mask.sum(dim=1)
    order = count.argsort(stable=True)
    parts, which = [], []
    number = mask.flatten().cumsum(0).view(mask.shape) - 1
    for rows in order.split(_IMAGES):  # type: ignore[no-untyped-call]
        r = max(1, int(count[rows[-1]]))
        there = node_mask[rows]
        k = int(there.sum(dim=2).max())
        mine = mask[rows, :r]
        vectors = fusion.attended(regions[rows, :r], nodes[rows, :, :k], there[:, :, :k])
        parts.append(vectors[mine])
        which.append(number[rows, :r][mine])
    where = torch.cat(which).cpu()
    at = torch.empty_like(where)
    at[where] = torch.arange(len(where))
    return torch.cat(parts), at


@torch.no_grad()
def score_matrix(images: RaggedVectors, captions: RaggedVectors, budget: int = 2**24) -> Tensor:
    """One level's score of every caption with every image: [captions, images].

    Regions are reduced to images in slices of nodes, none with more than `budget` matches.
    """
    step = max(1, budget // max(1, len(images.vectors)))
    best = torch.cat(
        [
            torch.segment_reduce(
                images.vectors @ nodes.T, "max", lengths=images.count, axis=0, unsafe=True
            )
            for nodes in captions.vectors.split(step)  # type: ignore[no-untyped-call]
        ],
        dim=1,
    ).T.contiguous()
    total = torch.segment_reduce(best, "sum", lengths=captions.count, axis=0, unsafe=True)
    return total / captions.count[:, None]


def score_pairs(
    images: RaggedVectors, captions: RaggedVectors, image: Tensor, caption: Tensor
) -> Tensor:
    """One level's score of image `image[k]` with caption `caption[k]`: [p], with gradients."""
    nodes, node_there = captions.places(caption)
    regions, region_there = images.places(image)
    with torch.no_grad():
        matches = captions.vectors[nodes] @ images.vectors[regions].transpose(1, 2)
        matches = matches.masked_fill(~region_there[:, None, :], float("-inf"))
        best = regions.gather(1, matches.argmax(dim=-1))
    count = captions.count[caption]
    pair = torch.arange(len(image), device=count.device).repeat_interleave(count)
    z = images.vectors.index_select(0, best[node_there])
    h = captions.vectors.index_select(0, nodes[node_there])
    match = (z * h).sum(dim=1)
    return match.new_zeros(len(image)).index_add(0, pair, match) / count


@dataclass(frozen=True, slots=True)
class Level:
    """One level of one split: unions of the b images, and the candidates (or other captions)."""

    images: RaggedVectors
    captions: RaggedVectors


def make_levels(
    model: FaierNetwork,
    see: tuple[Tensor, Tensor, Tensor] | None,
    nodes: Nodes,
    c: int,
    splits: Splits,
) -> list[list[Level]]:
    """Per split its levels: the object level and, where the model has it, the relation level.

    Parameters
    ----------
    see
        Features, boxes and mask of b images; `None` where the network sees none.
    nodes
        Of their b · c captions, image by image, and last of the empty reference.
    """
    seen = None if see is None else model.see(*see)
    b = splits.candidates.shape[1]
    rows = torch.cat([torch.arange(b * c).view(b, c), torch.full((b, 1), b * c)], dim=1)
    rows = rows.to(nodes.objects.device)
    kinds = [("objects", nodes.objects, nodes.object_mask)]
    if model.shape.relations:
        kinds.append(("relations", nodes.relations, nodes.relation_mask))
    by_split: list[list[Level]] = [[] for _ in splits.counts]
    base = torch.arange(b) * c
    for kind, vectors, mask in kinds:
        if seen is None:
            united = say(model.said_by(kind, vectors), mask, c, splits)
        elif model.shape.fused:
            read = vectors.index_select(0, rows.flatten()).view(b, c + 1, *vectors.shape[1:])
            regions: Tensor = getattr(seen, kind)
            united = unite(model.fuse(kind), regions, seen.mask, read, mask[rows], splits)
        else:
            united = [RaggedVectors.of(getattr(seen, kind), seen.mask)] * len(splits.counts)
        for split, (images, slots) in enumerate(zip(united, splits.candidates, strict=True)):
            chosen = (base + slots).to(vectors.device)
            captions = RaggedVectors.of(vectors.index_select(0, chosen), mask[chosen])
            by_split[split].append(Level(images, captions))
    return by_split


def by_level(levels: list[Level], image: Tensor, caption: Tensor) -> Tensor:
    """FAIEr of image `image[k]` with caption `caption[k]` on each level: [levels, p]."""
    scores = [score_pairs(level.images, level.captions, image, caption) for level in levels]
    return torch.stack(scores)


@dataclass(frozen=True, slots=True)
class HardestNegatives:
    """For each candidate a wrong image, and for each image a wrong candidate.

    `image`, `caption` int64 [b]; `image_margin`, `caption_margin`: the margins of these, [b] or
    one number.
    """

    image: Tensor
    caption: Tensor
    image_margin: Tensor | float
    caption_margin: Tensor | float

    def triplet_loss(self, scores: Tensor, share: float = 1.0) -> Tensor:
        """The paper's: [margin − S(I, c) + S(I', c)]₊ + [margin − S(I, c) + S(I, c')]₊, summed.

        `scores` [3, b] are S of the right pairs, with the wrong images I', and with the wrong
        candidates c'; an image goes with its references. `share` is the part of the margins that is
        used.
        """
        right, image, caption = scores
        by_image: Tensor = (share * self.image_margin + image - right).relu().sum()
        by_caption: Tensor = (share * self.caption_margin + caption - right).relu().sum()
        return by_image + by_caption


def hardest_negatives(levels: list[Level], margin: Tensor | float) -> HardestNegatives:
    """The wrong partners that cost most: those of the highest score, or of score and margin.

    `margin` is one for all, or each image's with each candidate [b, b]. Candidate i belongs to
    image i.
    """
    table = torch.stack([score_matrix(level.images, level.captions) for level in levels])
    cost = table.sum(dim=0).T  # [images, candidates]
    cost = (cost + margin).fill_diagonal_(float("-inf"))
    image, caption = cost.argmax(dim=0), cost.argmax(dim=1)
    if not isinstance(margin, Tensor):
        return HardestNegatives(image, caption, margin, margin)
    here = torch.arange(len(image), device=image.device)
    return HardestNegatives(image, caption, margin[image, here], margin[here, caption])


def across_loss(right: Tensor, wrong: Tensor, margin: float) -> Tensor:
    """[margin − S + S']₊ of every right score S [n] with every wrong one S' [m] of the batch.

    Mean over the wrong ones, sum over the right ones. It needs one scale of scores for all
    images, which a loss within images never does.
    """
    return (margin + wrong[None, :] - right[:, None]).relu().mean(dim=1).sum()


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SplitBatch:
    """b images by row, and how their captions are split."""

    images: Ints
    splits: Splits


class FaierTask:
    """Batches and loss of one training, for `research.train.loop.fit`.

    Parameters
    ----------
    model
        On the device that it is to be trained on.
    images
        What is learned from. Every image lends as many captions as the one with the fewest has,
        at least two.
    parser, vocabulary
        How captions are read.
    settings
        The variant and its options.
    similarity
        Of the images' captions, for `settings.similarity_margin`.
    """

    def __init__(
        self,
        model: FaierNetwork,
        images: CaptionedImages,
        parser: TripletParser,
        vocabulary: Vocabulary,
        settings: FaierSettings,
        similarity: CaptionSimilarity | None = None,
    ) -> None:
        self.model, self.settings = model, settings
        self.device = next(model.parameters()).device
        self.c = min(len(texts) for texts in images.captions)
        if self.c < 2:
            raise ConfigError(
                f"FAIEr learns from two captions per image; '{images.name}' has fewer"
            )
        if settings.mirrored and images.regions.dim != GoldRegions.dim:
            raise ConfigError("task.model.mirrored is for gold regions only")
        if len(images) < settings.batch:
            raise ConfigError(f"task.model.batch is above the {len(images):,} training images")
        if settings.similarity_margin and similarity is None:
            raise ConfigError(
                "task.model.similarity_margin needs word vectors: vectors=minilm, or 0"
            )
        self._similarity = similarity if settings.similarity_margin else None
        texts = [text for captions in images.captions for text in captions[: self.c]]
        self.captions: ParsedCaptions = parse_and_encode([*texts, NO_REFERENCE], parser, vocabulary)
        self.n = len(images)
        self._regions = images.regions.tensors()
        self._counts = images.regions.mask.sum(axis=1)

    def batches(self, epoch: int, rng: np.random.Generator) -> list[SplitBatch]:
        """One pass over the images; in each batch `splits` candidates of every image."""
        order, size = rng.permutation(self.n), self.settings.batch
        cut = [np.sort(order[i : i + size]) for i in range(0, self.n, size)]
        return [
            SplitBatch(images, self._splits(len(images), rng))
            for images in cut
            if len(images) == size
        ]

    def _splits(self, b: int, rng: np.random.Generator) -> Splits:
        s, c = self.settings.splits, self.c
        order = rng.random((b, c)).argsort(axis=1)
        # split k: caption k of the shuffled ones is the candidate, those after it the references
        turned = [np.roll(order, -(k % c), axis=1) for k in range(s)]
        fewest, most = (min(x, c - 1) for x in VARIANTS[self.settings.variant].references)
        counts = rng.integers(fewest, most + 1, size=(s, b))
        if self.settings.unreferenced and fewest == 0 < most:
            counts[rng.random((s, b)) < self.settings.unreferenced] = 0
        references = np.stack([slots[:, 1:] for slots in turned])
        references[counts == 0] = c  # the empty reference
        rng.integers(2**31)  # drawn for corrupted copies once: a seed still gives the same splits
        return Splits(
            torch.from_numpy(np.stack([slots[:, 0] for slots in turned])),
            torch.from_numpy(references),
            torch.from_numpy(np.maximum(counts, 1)),
        )

    def loss(self, batch: SplitBatch, epoch: int) -> torch.Tensor:
        """The loss of a batch, a candidate's mean share."""
        settings, b = self.settings, len(batch.images)
        rows = (batch.images[:, None] * self.c + np.arange(self.c)).ravel()
        nodes = self._read(self.captions, np.append(rows, len(self.captions) - 1))
        by_split = make_levels(self.model, self._see(batch), nodes, self.c, batch.splits)
        here = torch.arange(b, device=self.device)
        total = torch.zeros((), device=self.device)
        right, wrong = [], []
        for split, levels in enumerate(by_split):
            negatives = hardest_negatives(levels, self._margin(batch, split))
            parts = by_level(
                levels,
                torch.cat([here, negatives.image, here]),
                torch.cat([here, here, negatives.caption]),
            ).view(len(levels), 3, b)
            scores = parts.sum(dim=0)
            total = total + negatives.triplet_loss(scores)
            if settings.levels and len(levels) > 1:
                for part in parts:
                    of_level = negatives.triplet_loss(part, 1 / len(parts))
                    total = total + settings.levels * of_level
            right.append(scores[0])
            wrong += [scores[1], scores[2]]
        if settings.across:
            term = across_loss(torch.cat(right), torch.cat(wrong), settings.margin)
            total = total + settings.across * term
        return total / (b * len(by_split))

    def _margin(self, batch: SplitBatch, split: int) -> float | torch.Tensor:
        """The margin, or that of each image with each candidate of a split, [b, b]."""
        if self._similarity is None:
            return self.settings.margin
        rows = self._similarity.of_image[batch.images, batch.splits.candidates[split].numpy()]
        return self._similarity.margins(rows, self.settings.similarity_margin).to(self.device)

    def _see(self, batch: SplitBatch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
        """Features, boxes and mask of a batch's images, changed as the settings say."""
        if not self.model.shape.seen:
            return None
        most = int(self._counts[batch.images].max())
        features, boxes, mask = (
            part[batch.images, :most].to(self.device) for part in self._regions
        )
        if self.settings.lost_regions:
            features, boxes, mask = augment.without_some(
                features, boxes, mask, self.settings.lost_regions
            )
        if self.settings.mirrored:
            features, boxes, mask = augment.mirrored(features, boxes, mask, self.settings.mirrored)
        return features, boxes, mask

    def _read(self, captions: ParsedCaptions, rows: Ints) -> Nodes:
        return read_nodes(self.model.text, TextBatch.of(captions, rows).to(self.device))
