"""FAIEr (Wang et al., CVPR 2021): fidelity and adequacy of a caption by matching it with the union
of an image and its references.

There is no public code; this follows the paper's section 3, and where that leaves something open,
`docs/faier.md` says what was chosen. The union vectors of an image depend on the image and its
references alone: they are computed once and serve every caption.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from metaeval.metrics.faier.fusion import Fusion, level_matrix, level_score
from metaeval.metrics.faier.text import Nodes, Text, Texts
from metaeval.metrics.faier.visual import Visual


@dataclass(frozen=True, slots=True)
class Shape:
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
    dropout
        On the word embeddings, in training.
    """

    d_u: int
    n_words: int
    width: int = 300
    d: int = 512
    relations: bool = True
    fused: bool = True
    dropout: float = 0.0

    def record(self) -> dict[str, Any]:
        """For a card."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Unions:
    """What captions are matched with: z° and z^r [n, r, d] of n images, `mask` [n, r].

    `relations` has width 0 where there is no relation level.
    """

    objects: torch.Tensor
    relations: torch.Tensor
    mask: torch.Tensor

    def __getitem__(self, rows: torch.Tensor) -> Unions:
        return Unions(self.objects[rows], self.relations[rows], self.mask[rows])


class Faier(nn.Module):
    """The network: `see` images, `read` texts, `unite` images with references, then score."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.visual = Visual(shape.d_u, shape.d)
        self.text = Text(shape.n_words, shape.width, shape.d, shape.relations, shape.dropout)
        levels = (["objects"] + ["relations"] * shape.relations) if shape.fused else []
        self.fusion = nn.ModuleDict({level: Fusion(shape.d) for level in levels})

    def see(self, features: torch.Tensor, boxes: torch.Tensor, mask: torch.Tensor) -> Unions:
        """Visual objects and relations of images: [n, r, d_u], [n, r, 4], [n, r]."""
        objects = self.visual.objects(features) * mask[:, :, None]
        relations = (
            self.visual.relations(objects, boxes, mask)
            if self.shape.relations
            else objects[:, :, :0]
        )
        return Unions(objects, relations, mask)

    def read(self, texts: Texts) -> Nodes:
        """Text objects and relations of captions."""
        found: Nodes = self.text(texts)
        return found

    def unite(
        self, seen: Unions, nodes: Nodes, rows: torch.Tensor, n_references: torch.Tensor
    ) -> Unions:
        """Union vectors of images with their references.

        Parameters
        ----------
        seen
            n images.
        nodes, rows
            References, and which of them belong to each image: int64 [n, m], in the order in which
            they are read.
        n_references
            int64 [n], from 1 to m: how many of an image's m count. Without any reference the paper
            gives ".", the empty caption.
        """
        if not self.shape.fused:
            return seen
        mask = seen.mask
        objects = self.fusion["objects"](
            seen.objects, mask, nodes.objects[rows], nodes.object_mask[rows], n_references
        )
        if not self.shape.relations:
            return Unions(objects, seen.relations, mask)
        relations = self.fusion["relations"](
            seen.relations, mask, nodes.relations[rows], nodes.relation_mask[rows], n_references
        )
        return Unions(objects, relations, mask)

    def score(self, unions: Unions, nodes: Nodes) -> torch.Tensor:
        """Object-level and relation-level score of caption k with union k: [n, 2] (or [n, 1])."""
        levels = [level_score(unions.objects, unions.mask, nodes.objects, nodes.object_mask)]
        if self.shape.relations:
            levels.append(
                level_score(unions.relations, unions.mask, nodes.relations, nodes.relation_mask)
            )
        return torch.stack(levels, dim=1)

    @torch.no_grad()
    def matrix(self, unions: Unions, nodes: Nodes, budget: int = 2**23) -> torch.Tensor:
        """FAIEr of every caption with every union, [captions, images], without gradients."""
        total = level_matrix(unions.objects, unions.mask, nodes.objects, nodes.object_mask, budget)
        if self.shape.relations:
            total += level_matrix(
                unions.relations, unions.mask, nodes.relations, nodes.relation_mask, budget
            )
        return total
