"""Successive shortest paths over many transport problems side by side (see `transport.py`).

Begin with the flow that lets every receiver take from its nearest supplier what that has left.
Then, as long as a receiver lacks something: find the cheapest ways from suppliers with something
left to all receivers, where a way may take back what was sent before, and send along them as much
as they carry. Neither step can leave a cycle of negative cost, so the last flow is optimal (Ahuja,
Magnanti and Orlin, Network Flows, 1993, section 9.7).

Costs are int64 [m, n, P], masses and flows float64; the problem is the last axis. A minimum and its
place are found in one operation by packing the place into the `shift` lowest bits, so that ties go
to the lowest place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_FAR = 1 << 61  # above any packed cost of a path


class _Problems(NamedTuple):
    """Problems under way; the arrays are changed in place, but for the costs."""

    cost: Integers  # [m, n, P]
    flow: Floats  # [m, n, P] what is sent so far
    supply: Floats  # [m, P] what suppliers have left
    demand: Floats  # [n, P] what receivers lack
    tiny: Floats  # [P] masses up to this are what rounding has left of none

    def take(self, which: npt.NDArray[np.bool_]) -> _Problems:
        """Some of the problems, in arrays of their own."""
        cost, flow = self.cost[..., which], self.flow[..., which]
        return _Problems(cost, flow, self.supply[:, which], self.demand[:, which], self.tiny[which])


def solve(cost: Integers, supply: Floats, demand: Floats, shift: int) -> Floats:
    """The optimal flows [m, n, P]; problems that are done leave the arrays."""
    tiny = 1e-14 * supply.sum(axis=0)  # 0 is reached exactly by masses that are whole numbers
    problems = _Problems(cost, np.zeros(cost.shape), supply.copy(), demand.copy(), tiny)
    _begin(problems, shift)
    flows = np.zeros(cost.shape)
    where = np.arange(cost.shape[2])
    while True:
        offers = (problems.supply > problems.tiny).any(axis=0)
        active = np.logical_and(offers, (problems.demand > problems.tiny).any(axis=0))
        left = int(active.sum())
        if left <= 0.8 * len(where):
            flows[..., where[~active]] = problems.flow[..., ~active]
            if not left:
                return flows
            problems = problems.take(active)
            where = where[active]
        _augment(problems, shift)


def _begin(problems: _Problems, shift: int) -> None:
    """Every receiver in turn takes what its nearest supplier has left."""
    cost, flow, supply, demand, _ = problems
    where = np.arange(cost.shape[2])
    places = np.arange(cost.shape[0])[:, None]
    for j in range(cost.shape[1]):
        nearest = ((cost[:, j] << shift) | places).min(axis=0) & ((1 << shift) - 1)
        amount = np.minimum(supply[nearest, where], demand[j])
        flow[nearest, j, where] = amount
        supply[nearest, where] -= amount
        demand[j] -= amount


def _augment(problems: _Problems, shift: int) -> None:
    """Send what can be sent along the cheapest paths, to one receiver after another.

    Once the cheapest ways to all nodes are known, what is sent along any of them, and not only
    along the cheapest of all, leaves no cycle of negative cost.
    """
    cost, flow, supply, demand, tiny = problems
    before_column, before_row = _paths(cost, flow, supply > tiny, shift)
    numbers = np.arange(cost.shape[2])
    for j in range(cost.shape[1]):
        lacking = numbers[demand[j] > tiny]
        amount, steps = demand[j, lacking], []
        where, place = lacking, numbers[: len(lacking)]
        column = np.full_like(where, j)
        while len(where):  # from the receiver back to where the way begins
            row = before_column[column, where]
            back = before_row[row, where]
            more = back >= 0
            carried = np.where(more, flow[row, back, where], supply[row, where])
            amount[place] = np.minimum(amount[place], carried)
            steps.append((row, column, back, more, where, place))
            column, where, place = back[more], where[more], place[more]
        for row, column, back, more, where, place in steps:
            sent = amount[place]
            flow[row, column, where] += sent
            flow[row[more], back[more], where[more]] -= sent[more]
            supply[row[~more], where[~more]] -= sent[~more]
        demand[j, lacking] -= amount


def _paths(
    cost: Integers, flow: Floats, full: npt.NDArray[np.bool_], shift: int
) -> tuple[Integers, Integers]:
    """The cheapest ways from suppliers with something left to all receivers (Bellman and Ford).

    Returns [n, P] the supplier before each receiver; [m, P] the receiver before each supplier, -1
    where the way begins. A predecessor changes for something cheaper only, or a way could run in a
    circle of cost 0.
    """
    m, n, _ = cost.shape
    mask, far = (1 << shift) - 1, _FAR >> shift
    rows, columns = np.arange(m)[:, None, None], np.arange(n)[None, :, None]
    used = flow > 0
    to_row = np.where(full, 0, far)
    before_row = np.full_like(to_row, -1)
    to_column, before_column = np.full_like(cost[0], far), np.zeros_like(cost[0])
    while True:
        packed = (((to_row[:, None] + cost) << shift) | rows).min(axis=0)
        nearer = (packed >> shift) < to_column
        to_column = np.where(nearer, packed >> shift, to_column)
        before_column = np.where(nearer, packed & mask, before_column)
        taken_back = ((to_column[None] - cost) << shift) | columns
        packed = np.where(used, taken_back, _FAR).min(axis=1)
        nearer = (packed >> shift) < to_row
        if not nearer.any():
            return before_column, before_row
        to_row = np.where(nearer, packed >> shift, to_row)
        before_row = np.where(nearer, packed & mask, before_row)
