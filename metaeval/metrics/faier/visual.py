"""FAIEr's visual side: objects from region features, relations from positions of boxes."""

from __future__ import annotations

import torch
from torch import nn


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
