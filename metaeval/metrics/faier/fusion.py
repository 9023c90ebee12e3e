"""FAIEr's union of an image with any number of references, and the matching against it."""

from __future__ import annotations

import torch
from torch import nn

from metaeval.compute import gru
from metaeval.compute.gru import Packing


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
        self._begin(d)

    def _begin(self, d: int) -> None:
        """First weights, which the paper leaves open: such that z starts as v plus a mean of what
        was attended to. So a caption is compared with the references from the first step on,
        instead of after epochs of learning to pass words through."""
        with torch.no_grad():
            one = torch.eye(d)
            self.attention.weight.fill_(1.0)
            self.union.weight.copy_(torch.cat([one, one], dim=1))
            self.union.bias.zero_()
            ((inputs, *others),) = self.gru.all_weights  # one layer, one direction
            inputs[d:] = torch.cat([0 * one, one])  # update gate, candidate state
            for parameter in others:
                parameter[d:] = 0.0

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

    def join(
        self, regions: torch.Tensor, attended: torch.Tensor, counts: torch.Tensor
    ) -> torch.Tensor:
        """z [t, d] of regions [t, d] and their attended vectors [t, m, d], of which the first
        `counts` [t] (at least 1; on the CPU) are read."""
        packing = Packing.of(counts)
        place = packing.row.to(regions.device), packing.step.to(regions.device)
        _, last = gru.run(self.gru, attended[place], packing)
        united: torch.Tensor = self.union(torch.cat([regions, last], dim=-1))
        return united

    def forward(
        self,
        regions: torch.Tensor,
        region_mask: torch.Tensor,
        nodes: torch.Tensor,
        node_mask: torch.Tensor,
        n_references: torch.Tensor,
    ) -> torch.Tensor:
        """Union vectors z [n, r, d], 0 for regions not there.

        Of the m references the first `n_references` [n] (at least 1) are read.
        """
        attended = self.attended(regions, nodes, node_mask)
        there = region_mask.nonzero(as_tuple=True)  # most images have few: padding is not computed
        counts = n_references.cpu()[there[0].cpu()]
        united = self.join(regions[there], attended[there], counts)
        return torch.zeros_like(regions).index_put(there, united)


def matches(union: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """z_i · h_k for each region and node of the same row: [n, k, r] of [n, r, d] and [n, k, d]."""
    return nodes @ union.transpose(1, 2)


def level_score(
    union: torch.Tensor, region_mask: torch.Tensor, nodes: torch.Tensor, node_mask: torch.Tensor
) -> torch.Tensor:
    """Mean over a caption's nodes of its best match among the regions: [n], row by row."""
    found = matches(union, nodes).masked_fill(~region_mask[:, None, :], float("-inf"))
    best = found.amax(dim=-1).masked_fill(~node_mask, 0.0)
    return best.sum(dim=-1) / node_mask.sum(dim=-1)


def level_matrix(
    union: torch.Tensor,
    region_mask: torch.Tensor,
    nodes: torch.Tensor,
    node_mask: torch.Tensor,
    budget: int = 2**23,
) -> torch.Tensor:
    """`level_score` of every caption with every union: [captions, images], without gradients.

    Captions are taken in slices, so that no intermediate holds more than `budget` numbers
    (if a single caption's matches do not fit, one caption at a time).
    """
    images, r, _ = union.shape
    flat = union[region_mask].T  # [d, all regions there]
    owner, place = region_mask.nonzero(as_tuple=True)
    rows = max(1, budget // max(1, nodes.shape[1] * images * r))
    out = union.new_empty(len(nodes), images)
    for start in range(0, len(nodes), rows):
        part, there = nodes[start : start + rows], node_mask[start : start + rows]
        found = union.new_full((int(there.sum()), images, r), float("-inf"))
        found[:, owner, place] = part[there] @ flat
        best = union.new_zeros(*there.shape, images)
        best[there] = found.amax(dim=-1)
        out[start : start + rows] = best.sum(dim=1) / there.sum(dim=1)[:, None]
    return out
