"""Exact transport of many small problems at once, in torch on any device.

Successive shortest paths (Ahuja, Magnanti and Orlin, Network Flows, 1993, section 9.7): begin with
the flow that lets every receiver take from its nearest supplier what that has left; then, as long
as a receiver's demand is not met, find the cheapest ways from suppliers with a rest to all
receivers, where a way may take back what was sent before, and send along the cheapest as much as it
carries. Neither step can leave a cycle of negative cost, so the last flow is optimal.

Costs are int64 [m, n, P], masses and flows float64, and the problem is the last axis. A minimum and
its place are found in one operation by packing the place into the `shift` lowest bits, so that ties
go to the lowest place. Additions of masses happen in one order for each problem. So the flows are
the same to the bit on every device, and whatever other problems are in the call.

All functions except `solve` are device sections: tensors in, tensors out, no shape that depends on
data. `solve` reads one bool from the device after `begin` and after each `augment`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

_FAR = 1 << 61  # above any packed cost of a path


class Problems(NamedTuple):
    """Problems under way."""

    cost: torch.Tensor  # int64 [m, n, P]
    flow: torch.Tensor  # float64 [m, n, P] what is sent so far
    supply: torch.Tensor  # float64 [m, P] what suppliers have left
    demand: torch.Tensor  # float64 [n, P] what receivers lack
    tiny: torch.Tensor  # float64 [P] masses up to this are what rounding has left of none

    def unfinished(self) -> torch.Tensor:
        """bool [P] Where demand is left that could be met."""
        offers = (self.supply > self.tiny).any(dim=0)
        return offers & (self.demand > self.tiny).any(dim=0)


def whole_costs(
    cost: torch.Tensor, supply: torch.Tensor, demand: torch.Tensor, bits: int
) -> torch.Tensor:
    """Device section: int64 [m, n, P] costs, in 2^-bits of each problem's greatest cost.

    A row or column without mass costs as much as the dearest, so that it is never the nearest.
    """
    carries = (supply > 0)[:, None] & (demand > 0)[None]
    greatest = torch.where(carries, cost, 0.0).amax(dim=(0, 1))
    steps = 2.0**bits / torch.where(greatest > 0, greatest, 1.0)
    return (torch.where(carries, cost, greatest) * steps).round().to(torch.int64)


def unit_costs(cost: torch.Tensor, flow: torch.Tensor) -> torch.Tensor:
    """Device section: [P] the flows' cost per unit of mass, in an order that padding does not
    change."""
    total, mass = (_sum_in_order(_sum_in_order(each)) for each in (cost * flow, flow))
    return total / mass


def _sum_in_order(values: torch.Tensor) -> torch.Tensor:
    """The sum over the first axis, one row after another."""
    total = values[0].clone()
    for row in values[1:]:
        total += row
    return total


def solve(
    cost: torch.Tensor, supply: torch.Tensor, demand: torch.Tensor, shift: int
) -> torch.Tensor:
    """The optimal flows [m, n, P], on the device of the arguments."""
    problems = begin(cost, supply, demand, shift)
    while bool(problems.unfinished().any()):
        problems = augment(problems, shift)
    return problems.flow


def begin(cost: torch.Tensor, supply: torch.Tensor, demand: torch.Tensor, shift: int) -> Problems:
    """Device section: every receiver in turn takes what its nearest supplier has left."""
    m, n, _ = cost.shape
    flow, supply, demand = (
        torch.zeros_like(cost, dtype=supply.dtype),
        supply.clone(),
        demand.clone(),
    )
    tiny = 1e-14 * supply.sum(dim=0)  # 0 is reached exactly by masses that are whole numbers
    places = torch.arange(m, device=cost.device)[:, None]
    for j in range(n):
        nearest = ((cost[:, j] << shift) | places).amin(dim=0, keepdim=True) & ((1 << shift) - 1)
        amount = torch.minimum(supply.gather(0, nearest), demand[j : j + 1])
        flow[:, j].scatter_add_(0, nearest, amount)
        supply.scatter_add_(0, nearest, -amount)
        demand[j] -= amount[0]
    return Problems(cost, flow, supply, demand, tiny)


def augment(problems: Problems, shift: int) -> Problems:
    """Device section: send what can be sent along the cheapest way to a receiver that needs
    something; one way of each problem."""
    cost, flow, supply, demand, tiny = problems
    m, n, count = cost.shape
    to_column, before_column, before_row = _paths(problems, shift)
    flow, supply, demand = flow.reshape(m * n, count).clone(), supply.clone(), demand.clone()
    alive = problems.unfinished()[None]
    places = torch.arange(n, device=cost.device)[:, None]
    far = _FAR >> shift
    packed = (torch.where(demand > tiny, to_column, far) << shift) | places
    receiver = packed.amin(dim=0, keepdim=True) & ((1 << shift) - 1)
    amount = torch.where(alive, demand.gather(0, receiver), 0.0)
    column, steps = receiver, []
    for _ in range(min(m, n)):  # from the receiver back to where the way begins
        row = before_column.gather(0, column)
        back = before_row.gather(0, row)
        more = back >= 0
        taken = row * n + back.clamp(min=0)
        carried = torch.where(more, flow.gather(0, taken), supply.gather(0, row))
        amount = torch.where(alive, torch.minimum(amount, carried), amount)
        steps.append((row * n + column, taken, row, alive, more))
        column, alive = torch.where(more, back, column), alive & more
    for given, taken, row, used, more in steps:
        flow.scatter_add_(0, given, torch.where(used, amount, 0.0))
        flow.scatter_add_(0, taken, torch.where(used & more, -amount, 0.0))
        supply.scatter_add_(0, row, torch.where(used & ~more, -amount, 0.0))
    demand.scatter_add_(0, receiver, -amount)
    return Problems(cost, flow.reshape(m, n, count), supply, demand, tiny)


def _paths(problems: Problems, shift: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The cheapest ways from suppliers with something left to all receivers (Bellman and Ford).

    Returns [n, P] the cost of the way to each receiver, and the supplier before it; [m, P] the
    receiver before each supplier, -1 where the way begins. A predecessor changes for something
    cheaper only, or a way could run in a circle of cost 0. A cheapest way visits no node twice, so
    min(m, n) rounds find all of them.
    """
    cost, used = problems.cost, problems.flow > 0
    m, n, _ = cost.shape
    mask, far = (1 << shift) - 1, _FAR >> shift
    rows = torch.arange(m, device=cost.device)[:, None, None]
    columns = torch.arange(n, device=cost.device)[None, :, None]
    to_row = torch.where(problems.supply > problems.tiny, 0, far)
    before_row = torch.full_like(to_row, -1)
    to_column = torch.full_like(cost[0], far)
    before_column = torch.zeros_like(cost[0])
    for _ in range(min(m, n)):
        packed = (((to_row[:, None] + cost) << shift) | rows).amin(dim=0)
        nearer = (packed >> shift) < to_column
        to_column = torch.where(nearer, packed >> shift, to_column)
        before_column = torch.where(nearer, packed & mask, before_column)
        taken_back = ((to_column[None] - cost) << shift) | columns
        packed = torch.where(used, taken_back, _FAR).amin(dim=1)
        nearer = (packed >> shift) < to_row
        to_row = torch.where(nearer, packed >> shift, to_row)
        before_row = torch.where(nearer, packed & mask, before_row)
    return to_column, before_column, before_row
