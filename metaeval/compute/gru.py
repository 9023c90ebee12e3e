"""A one-layer GRU over sequences of any lengths, without padding, quick to train on a processor.

torch's own packed GRU spends most of its backward pass there on copies: the gradient of each
step's slice is a whole array of zeros. Here backward is written out, and the gradient of the
weights is one matrix product over all steps. The numbers are those of `torch.nn.GRU` (tested), of
which it also takes the parameters; `direction` is the ending of their names: "" or "_reverse".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch


@dataclass(frozen=True, slots=True)
class Packing:
    """How n sequences are laid out step by step, the longest first.

    Attributes
    ----------
    row, step
        int64 [total]: sequence and place in it of each element; all first elements come first.
    sizes
        Sequences that are still going on at each step.
    order
        int64 [n]: the sequences in order of falling length.
    lengths
        int64 [n], of the sequences as given.
    """

    row: torch.Tensor
    step: torch.Tensor
    sizes: tuple[int, ...]
    order: torch.Tensor
    lengths: torch.Tensor

    @classmethod
    def of(cls, lengths: torch.Tensor) -> Packing:
        """The packing of sequences of these lengths (int64 [n] on the CPU, each at least 1)."""
        order = torch.argsort(lengths, descending=True, stable=True)
        falling = lengths[order]
        steps = torch.arange(int(falling[0]))
        going = falling[None, :] > steps[:, None]  # [steps, n]
        step, place = going.nonzero(as_tuple=True)
        return cls(order[place], step, tuple(going.sum(dim=1).tolist()), order, lengths)

    def turned(self) -> torch.Tensor:
        """int64 [total]: where each element of the reversed sequences is; its own inverse."""
        starts = torch.tensor(self.sizes).cumsum(0) - torch.tensor(self.sizes)
        place = torch.empty_like(self.order)
        place[self.order] = torch.arange(len(self.order))
        return starts[self.lengths[self.row] - 1 - self.step] + place[self.row]


class _Steps(torch.autograd.Function):
    """h_t from h_(t−1) and the inputs' part of the gates, over all steps; and backwards.

    The first step's h_(t−1) is 0: no product is spent on it. The state before a later step is the
    beginning of the step's before, as the longest sequences come first.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        sizes: tuple[int, ...],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        total, d = len(inputs), weight.shape[1]
        last = inputs.new_empty(sizes[0], d)
        after = inputs.new_empty(total, d)
        gates = inputs.new_empty(total, 4 * d)  # r, z, n, and what r is multiplied by
        start, before, transposed = 0, inputs[:0, :d], weight.T
        for size in sizes:
            now = slice(start, start + size)
            hidden = bias.expand(size, -1)
            if start:
                last[size : len(before)] = before[size:]  # these sequences are over
                before = before[:size]
                hidden = torch.addmm(bias, before, transposed)
            advance(inputs[now], hidden, before if start else None, gates[now, : 3 * d], after[now])
            gates[now, 3 * d :] = hidden[:, 2 * d :]
            before = after[now]
            start += size
        last[: len(before)] = before
        ctx.save_for_backward(weight, after, gates)
        ctx.sizes = sizes
        ctx.set_materialize_grads(False)
        return after, last

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        weight, after, gates = ctx.saved_tensors
        d, sizes = weight.shape[1], ctx.sizes
        by_state, d_last = grads
        first, total = sizes[0], len(after)
        d_state = after.new_zeros(first, d) if d_last is None else d_last.clone()
        r, z, n, inner = gates.split(d, dim=1)
        # everything that does not depend on later steps, for all steps at once
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        before = torch.cat([after[s : s + k] for s, k in zip(starts, sizes[1:], strict=False)]
                           or [after[:0]])  # fmt: skip
        keep = 1 - z
        to_n = (n * n).neg_().add_(1).mul_(keep)
        to_z = -n
        to_z[first:] += before
        to_z.mul_(z).mul_(keep)
        to_r = (1 - r).mul_(r).mul_(inner)
        d_inputs = torch.empty(total, 3 * d, dtype=after.dtype, device=after.device)
        d_hidden = torch.empty_like(d_inputs)
        for start, size in zip(reversed(starts), reversed(sizes), strict=True):
            now = slice(start, start + size)
            grad = d_state[:size]
            if by_state is not None:
                grad = grad + by_state[now]
            hidden = d_hidden[now]
            d_n = d_inputs[now, 2 * d :]
            torch.mul(grad, to_n[now], out=d_n)
            torch.mul(d_n, to_r[now], out=hidden[:, :d])
            torch.mul(grad, to_z[now], out=hidden[:, d : 2 * d])
            torch.mul(d_n, r[now], out=hidden[:, 2 * d :])
            if start:
                torch.addmm(grad * z[now], hidden, weight, out=d_state[:size])
        d_inputs[:, : 2 * d] = d_hidden[:, : 2 * d]
        return d_inputs, d_hidden[first:].T @ before, d_hidden.sum(dim=0), None


def advance(
    inputs: torch.Tensor,
    hidden: torch.Tensor,
    before: torch.Tensor | None,
    gates: torch.Tensor,
    after: torch.Tensor,
) -> None:
    """One step of n sequences: fill in the gates r, z, n [n, 3d] and the states after it [n, d].

    `inputs` and `hidden` [n, 3d] are the parts that the step's input and the state before it have
    in the gates; `before` [n, d] is that state, `None` for 0. `gates` may be `inputs` itself.
    """
    d = after.shape[1]
    rz, n = gates[:, : 2 * d], gates[:, 2 * d :]
    torch.add(inputs[:, : 2 * d], hidden[:, : 2 * d], out=rz).sigmoid_()
    torch.addcmul(inputs[:, 2 * d :], rz[:, :d], hidden[:, 2 * d :], out=n).tanh_()
    if before is None:
        torch.addcmul(n, n, rz[:, d:], value=-1, out=after)
    else:
        torch.lerp(n, before, rz[:, d:], out=after)


def recurrent_weights(
    gru: torch.nn.GRU, direction: str = ""
) -> tuple[torch.nn.Parameter, torch.nn.Parameter]:
    """Weight [3d, d] and bias [3d] that turn a state into its part of the next step's gates."""
    return getattr(gru, f"weight_hh_l0{direction}"), getattr(gru, f"bias_hh_l0{direction}")


def project(gru: torch.nn.GRU, inputs: torch.Tensor, direction: str = "") -> torch.Tensor:
    """The part [..., 3d] of inputs [..., d_in] in the gates: the same wherever an input stands."""
    weight, bias = (getattr(gru, f"{kind}_ih_l0{direction}") for kind in ("weight", "bias"))
    return torch.nn.functional.linear(inputs, weight, bias)


def recur(
    gru: torch.nn.GRU, projected: torch.Tensor, packing: Packing, direction: str = ""
) -> tuple[torch.Tensor, torch.Tensor]:
    """States [total, d], packed, of projected inputs [total, 3d], and the last ones [n, d], in the
    order of the sequences as given."""
    states, last = _Steps.apply(projected, *recurrent_weights(gru, direction), packing.sizes)
    order = packing.order.to(last.device)
    return states, torch.empty_like(last).index_copy(0, order, last)


def run(
    gru: torch.nn.GRU, packed: torch.Tensor, packing: Packing, direction: str = ""
) -> tuple[torch.Tensor, torch.Tensor]:
    """One direction of a one-layer GRU over packed inputs [total, d_in]: `project` and `recur`."""
    return recur(gru, project(gru, packed, direction), packing, direction)


class BothWays(NamedTuple):
    """States [total, d] at each element, read forwards and backwards, and the last ones [n, d].

    The last one of those that are read backwards is the one at a sequence's first element.
    """

    forward: torch.Tensor
    backward: torch.Tensor
    ended: torch.Tensor
    began: torch.Tensor


def run_both_ways(gru: torch.nn.GRU, packed: torch.Tensor, packing: Packing) -> BothWays:
    """Both directions of a one-layer GRU over packed inputs [total, d_in]."""
    turned = packing.turned().to(packed.device)
    projected = project(gru, packed), project(gru, packed[turned], "_reverse")
    return recur_both_ways(gru, *projected, turned, packing)


def recur_both_ways(
    gru: torch.nn.GRU,
    projected: torch.Tensor,
    projected_turned: torch.Tensor,
    turned: torch.Tensor,
    packing: Packing,
) -> BothWays:
    """`run_both_ways` of inputs that are projected already, those of the backward direction in the
    order in which it reads: `turned`, which is `packing.turned()` where the inputs are."""
    forward, ended = recur(gru, projected, packing)
    backward, began = recur(gru, projected_turned, packing, "_reverse")
    return BothWays(forward, backward[turned], ended, began)
