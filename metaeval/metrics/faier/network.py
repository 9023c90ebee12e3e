"""FAIEr (Wang et al., CVPR 2021): fidelity and adequacy of a caption by matching it with the union
of an image and its references.

The authors published no code. This follows the paper's section 3; where that leaves a choice,
`docs/metrics/faier.md` says what was chosen. The union vectors of an image depend on the image and
its references alone: they are computed once and serve every caption.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from metaeval.errors import InputError
from metaeval.metrics.faier.fusion import Fusion, said_nodes
from metaeval.metrics.faier.text import NodeReader, Nodes, TextBatch
from metaeval.options import Below1, PositiveInt
from metaeval.readers.checkpoints import load_weights
from metaeval.readers.files import one_line
from metaeval.weights.cards import CARD, WEIGHTS
from metaeval.weights.pretrained import PretrainedWeights


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
        objects: torch.Tensor = self.outer(torch.tanh(self.inner(features)))
        return objects

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
        related: torch.Tensor = self.attention(boxes, mask) @ self.relation(objects)
        return related


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
    """The network: it can `see` images, `read` texts, and `fuse` regions with references.

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
        self.said = nn.ModuleDict({level: said_nodes(shape.d) for level in said})

    def see(self, features: torch.Tensor, boxes: torch.Tensor, mask: torch.Tensor) -> Seen:
        """Visual objects and relations of images: [n, r, d_u], [n, r, 4], [n, r]."""
        objects = self.visual.objects(features) * mask[:, :, None]
        relations = (
            self.visual.relations(objects, boxes, mask)
            if self.shape.relations
            else objects[:, :, :0]
        )
        return Seen(objects, relations, mask)

    def read(self, texts: TextBatch) -> Nodes:
        """Text objects and relations of captions."""
        nodes: Nodes = self.text(texts)
        return nodes

    def fuse(self, level: str) -> Fusion:
        """What makes union vectors of regions and references on a level."""
        fusion: Fusion = self.fusion[level]  # type: ignore[assignment]
        return fusion

    def said_by(self, level: str, nodes: torch.Tensor) -> torch.Tensor:
        """z [t, d] of references' nodes [t, d] on a level, where no image is seen: W_u h."""
        united: torch.Tensor = self.said[level](nodes)
        return united


def load_network(weights: PretrainedWeights) -> FaierNetwork:
    """A trained network, on the CPU and in eval mode; InputError where its file is damaged."""
    try:
        model = FaierNetwork(FaierShape(**weights.card["shape"]))
    except (TypeError, RuntimeError, ZeroDivisionError, ValueError) as error:
        problem = f"is not the shape of such a network ({one_line(error)})"
        raise InputError(problem, file=weights.folder / CARD, field="shape") from None
    load_weights(model, weights.state(), weights.folder / WEIGHTS)
    return model.eval()
