"""FAIEr (Wang et al., CVPR 2021): fidelity and adequacy of a caption by matching it with the union
of an image and its references.

This follows the paper's section 3; where that leaves a choice, `docs/metrics/faier.md` says what
was chosen. The union vectors of an image depend on the image and its references alone: they are
computed once and serve every caption.

Captions as the numbers that FAIEr reads: words and triplets, encoded once, picked by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from metaeval.options import Below1, PositiveInt
from metaeval.text.scene_graphs.parse import Triplet, TripletParser, triplet_words
from metaeval.text.vocabulary import Vocabulary, pad_sequences
from metaeval.weights.pretrained import PretrainedWeights


class BiGru(nn.Module):
    """A bidirectional GRU whose two directions are averaged, so that its width is d."""

    def __init__(self, d_in: int, d: int) -> None:
        super().__init__()
        self.gru = nn.GRU(d_in, d, batch_first=True, bidirectional=True)


class NodeReader(nn.Module):
    """Captions → text objects h° (one per word) and text relations h^r (sentence and triplets).

    Words share one embedding. A triplet is read as one sequence, subject, predicate, object, by a
    GRU of its own, and is its last state. The sentence, read by the words' GRU, is one more
    relation, so that a caption without any triplet has one. The parameters are those of
    `FaierShape`.
    """

    def __init__(
        self, n_words: int, width: int, d: int, relations: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, width, padding_idx=0)
        self.words = BiGru(width, d)
        self.dropout = nn.Dropout(dropout)
        if relations:
            self.triplets: BiGru | None = BiGru(width, d)
            self.sentence = nn.Linear(d, d)
        else:
            self.triplets = None


class Fusion(nn.Module):
    """Regions and references → one union vector z a region, for one of the two levels.

    For region i and the nodes h_1 … h_m of one reference: a_k = softmax over k of
    W_a (v_i ⊙ h_k), attended vector Σ_k a_k h_k. A GRU reads the attended vectors of all
    references, in order; its last state is m_i, and z_i = W_u [v_i; m_i].
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.attention = nn.Linear(d, 1, bias=False)  # softmax does not see a bias
        self.gru = nn.GRU(d, d, batch_first=True)
        self.union = nn.Linear(2 * d, d)

    def attended(
        self, regions: torch.Tensor, nodes: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Attended vectors [n, r, m, d]: of regions [n, r, d] over nodes [n, m, k, d] of m
        references, `mask` [n, m, k] saying which nodes are there."""
        n, r, d = regions.shape
        m, k = mask.shape[1:]
        queries = regions * self.attention.weight[0]
        logits = (queries @ nodes.reshape(n, m * k, d).transpose(1, 2)).view(n, r, m, k)
        logits = logits.masked_fill(~mask[:, None], torch.finfo(logits.dtype).min)
        weights = logits.softmax(dim=-1)
        return (weights.transpose(1, 2) @ nodes).transpose(1, 2)

    def join(self, regions: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """z [t, d] of regions [t, d] and their attended vectors [t, m, d]."""
        _, last = self.gru(attended)
        return self.union(torch.cat([regions, last[0]], dim=-1))


def matches(union: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """z_i · h_k for each region and node of the same row: [n, k, r] of [n, r, d] and [n, k, d]."""
    return nodes @ union.transpose(1, 2)


def level_score(
    union: torch.Tensor, region_mask: torch.Tensor, nodes: torch.Tensor
) -> torch.Tensor:
    """Mean over a caption's nodes [n, k, d] of their best matches among the regions: [n]."""
    table = matches(union, nodes).masked_fill(~region_mask[:, None, :], float("-inf"))
    best = table.amax(dim=-1)
    # divided by a tensor: a GPU would multiply by the reciprocal of a number
    return best.sum(dim=-1) / torch.full_like(best[:, 0], best.shape[1])


class Visual(nn.Module):
    """Regions → visual objects v° and visual relations v^r, two vectors per region.

    v°_i = W2 · tanh(W1 · u_i + b1) + b2
    γ_ij = softmax over j of tanh(W_Δ · (b_i − b_j)), j running over all regions and i itself
    v^r_i = Σ_j γ_ij · W_r · v°_j
    """

    def __init__(self, d_u: int, d: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_u, d)
        self.outer = nn.Linear(d, d)
        self.offset = nn.Linear(4, 1, bias=False)  # b_i − b_i is 0: a bias would only shift tanh
        self.relation = nn.Linear(d, d, bias=False)

    def objects(self, features: torch.Tensor) -> torch.Tensor:
        """v° [n, r, d] of region features [n, r, d_u]."""
        return self.outer(torch.tanh(self.inner(features)))

    def attention(self, boxes: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """γ [n, r, r] of boxes [n, r, 4] (x1 y1 x2 y2 in [0, 1]); 0 for regions not there."""
        along = self.offset(boxes)  # W_Δ is linear: W_Δ(b_i − b_j) = W_Δ b_i − W_Δ b_j
        logits = torch.tanh(along - along.transpose(1, 2))
        gamma = logits.masked_fill(~mask[:, None, :], float("-inf")).softmax(dim=-1)
        return gamma * mask[:, :, None]

    def relations(
        self, objects: torch.Tensor, boxes: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """v^r [n, r, d] of visual objects [n, r, d]."""
        return self.attention(boxes, mask) @ self.relation(objects)


@dataclass(frozen=True, slots=True)
class FaierShape:
    """All that determines the network's parameters.

    Attributes
    ----------
    d_u
        Width of the region features.
    n_words, width
        Size of the vocabulary and width of its embedding.
    d
        Width of the common space.
    relations
        False: the object level alone (the paper's FAIEr\\rel).
    fused
        False: no references enter at all (the paper's FIEr).
    seen
        False: no image enters at all (the paper's AIEr).
    dropout
        On the word embeddings, in training.
    """

    d_u: int
    n_words: int
    width: PositiveInt = 300
    d: PositiveInt = 512
    relations: bool = True
    fused: bool = True
    seen: bool = True
    dropout: Below1 = 0.0


class Seen(NamedTuple):
    """Visual objects and relations v [n, r, d] of n images, `mask` [n, r].

    `relations` has width 0 without a relation level.
    """

    objects: torch.Tensor
    relations: torch.Tensor
    mask: torch.Tensor


class FaierNetwork(nn.Module):
    """The network: it can `see` images and `fuse` regions with references.

    `levels` are those on which it matches: "objects" and, where it has them, "relations".
    """

    def __init__(self, shape: FaierShape) -> None:
        super().__init__()
        self.shape = shape
        self.levels = ("objects", "relations") if shape.relations else ("objects",)
        if shape.seen:
            self.visual = Visual(shape.d_u, shape.d)
        self.text = NodeReader(shape.n_words, shape.width, shape.d, shape.relations, shape.dropout)
        fused = self.levels if shape.fused and shape.seen else ()
        self.fusion = nn.ModuleDict({level: Fusion(shape.d) for level in fused})
        said = () if shape.seen else self.levels
        # W_u of a network that sees no image: z_k = W_u h_k of the references' nodes
        self.said = nn.ModuleDict({level: nn.Linear(shape.d, shape.d) for level in said})

    def see(self, features: torch.Tensor, boxes: torch.Tensor, mask: torch.Tensor) -> Seen:
        """Visual objects and relations of images: [n, r, d_u], [n, r, 4], [n, r]."""
        objects = self.visual.objects(features) * mask[:, :, None]
        relations = (
            self.visual.relations(objects, boxes, mask)
            if self.shape.relations
            else objects[:, :, :0]
        )
        return Seen(objects, relations, mask)

    def fuse(self, level: str) -> Fusion:
        """What makes union vectors of regions and references on a level."""
        return self.fusion[level]  # type: ignore[return-value]

    def said_by(self, level: str, nodes: torch.Tensor) -> torch.Tensor:
        """z [t, d] of references' nodes [t, d] on a level, where no image is seen: W_u h."""
        return self.said[level](nodes)


def load_network(weights: PretrainedWeights) -> FaierNetwork:
    """A trained network, on the CPU and in eval mode; InputError where its file is damaged."""
    return weights.network(FaierNetwork, FaierShape, "FAIEr's network")


Ints = npt.NDArray[np.int64]

NO_REFERENCE = "."  # the paper's empty reference; the tokeniser leaves no word of it


@dataclass(frozen=True, slots=True, eq=False)
class ParsedCaptions:
    """n captions as word ids.

    Attributes
    ----------
    words, lengths
        int64 [n, l], beginning and end tokens included, padded with 0; int64 [n].
    triplets, triplet_lengths
        Those of all captions, one caption after the other: int64 [t, m], int64 [t].
    first, count
        int64 [n]: each caption's first triplet and how many it has.
    """

    words: Ints
    lengths: Ints
    triplets: Ints
    triplet_lengths: Ints
    first: Ints
    count: Ints

    @classmethod
    def of(
        cls, captions: Sequence[str], triplets: Sequence[Sequence[Triplet]], vocabulary: Vocabulary
    ) -> ParsedCaptions:
        """Encode captions with their triplets."""
        words = vocabulary.encode_all(captions)
        flat = [
            [vocabulary.number(word) for word in triplet_words(triplet)]
            for of_caption in triplets
            for triplet in of_caption
        ]
        count = np.array([len(of_caption) for of_caption in triplets], dtype=np.int64)
        table, lengths = pad_sequences(words)
        inner, inner_lengths = pad_sequences(flat)
        return cls(table, lengths, inner, inner_lengths, np.cumsum(count) - count, count)

    def __len__(self) -> int:
        return len(self.lengths)


def parse_and_encode(
    captions: Sequence[str], parser: TripletParser, vocabulary: Vocabulary
) -> ParsedCaptions:
    """Parse and encode captions."""
    return ParsedCaptions.of(captions, parser(captions), vocabulary)
