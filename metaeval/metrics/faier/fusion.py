"""FAIEr's union of an image with any number of references, and the matching against it."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


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
        self._set_first_weights(d)

    def _set_first_weights(self, d: int) -> None:
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
        self, regions: torch.Tensor, attended: torch.Tensor, counts: torch.Tensor | None = None
    ) -> torch.Tensor:
        """z [t, d] of regions [t, d] and their attended vectors [t, m, d], of which the first
        `counts` [t] (at least 1; on the CPU) are read; without them, all."""
        united: torch.Tensor = self.union(torch.cat([regions, self.last(attended, counts)], dim=-1))
        return united

    def last(self, attended: torch.Tensor, counts: torch.Tensor | None = None) -> torch.Tensor:
        """The GRU's last state m [t, d]; arguments as of `join`."""
        if counts is None:
            _, last = self.gru(attended)
        else:
            _, last = self.gru(
                pack_padded_sequence(attended, counts, batch_first=True, enforce_sorted=False)
            )
        state: torch.Tensor = last[0]
        return state


def said_nodes(d: int) -> nn.Linear:
    """W_u of a network that sees no image: z_k = W_u h_k of the references' nodes, at first h_k."""
    union = nn.Linear(d, d)
    with torch.no_grad():
        union.weight.copy_(torch.eye(d))
        union.bias.zero_()
    return union


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
