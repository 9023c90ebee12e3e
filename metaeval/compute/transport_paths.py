"""Successive shortest paths over many transport problems side by side (see `transport.py`).

Begin with the flow that lets every receiver take from its nearest supplier what that has left.
Then, as long as a receiver lacks something: find the cheapest ways from suppliers with something
left to all receivers, where a way may take back what was sent before, and send along them as much
as they carry. Neither step can leave a cycle of negative cost, so the last flow is optimal (Ahuja,
Magnanti and Orlin, Network Flows, 1993, section 9.7).

Everything here is written for NumPy and torch alike: `xp` is the one or the other. Costs are int64
[m, n, P], masses and flows float64; the problem is the last axis. A minimum and its place are found
in one operation by packing the place into the `shift` lowest bits, so that ties go to the lowest
place on every device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_FAR = 1 << 61  # above any packed cost of a path


def solve(
    cost: npt.NDArray[np.int64],
    supply: npt.NDArray[np.float64],
    demand: npt.NDArray[np.float64],
    shift: int,
    device: str | None,
) -> npt.NDArray[np.float64]:
    """The optimal flows [m, n, P] on one device; problems that are done leave the arrays."""
    xp: Any = np
    arrays: tuple[Any, ...] = (cost, np.zeros(cost.shape), supply.copy(), demand.copy())
    if device is not None:
        import torch

        xp = torch
        arrays = tuple(torch.as_tensor(np.ascontiguousarray(a), device=device) for a in arrays)
    tiny = 1e-14 * arrays[2].sum(0)  # what rounding may leave of masses that are no whole numbers
    _begin(xp, arrays, shift)
    found = xp.zeros_like(arrays[1])
    where = _range(xp, cost.shape[2], found)
    while True:
        active = ((arrays[2] > tiny).any(0)) & ((arrays[3] > tiny).any(0))
        left = int(active.sum())
        if left <= 0.8 * len(where):
            found[..., where[~active]] = arrays[1][..., ~active]
            if not left:
                break
            arrays = tuple(a[..., active] for a in arrays)
            where, tiny, active = where[active], tiny[active], active[active]
        _augment(xp, arrays, tiny, shift)
    return found if device is None else np.asarray(found.cpu())


def _begin(xp: Any, arrays: tuple[Any, ...], shift: int) -> None:
    """Every receiver in turn takes what its nearest supplier has left."""
    cost, flow, supply, demand = arrays
    where = _range(xp, cost.shape[2], cost)
    places = _range(xp, cost.shape[0], cost)[:, None]
    for j in range(cost.shape[1]):
        nearest = xp.amin((cost[:, j] << shift) | places, 0) & ((1 << shift) - 1)
        amount = xp.minimum(supply[nearest, where], demand[j])
        flow[nearest, j, where] = amount
        supply[nearest, where] -= amount
        demand[j] -= amount


def _augment(xp: Any, arrays: tuple[Any, ...], tiny: Any, shift: int) -> None:
    """Send what can be sent along the cheapest paths, to one receiver after another.

    Once the cheapest ways to all nodes are known, what is sent along any of them, and not only
    along the cheapest of all, leaves no cycle of negative cost.
    """
    cost, flow, supply, demand = arrays
    before_column, before_row = _paths(xp, cost, flow, supply > tiny, shift)
    problems = _range(xp, cost.shape[2], cost)
    for j in range(cost.shape[1]):
        lacking = problems[demand[j] > tiny]
        amount, steps = demand[j, lacking], []
        where, place = lacking, problems[: len(lacking)]
        column = xp.full_like(where, j)
        while len(where):  # from the receiver back to where the way begins
            row = before_column[column, where]
            back = before_row[row, where]
            more = back >= 0
            carried = xp.where(more, flow[row, back, where], supply[row, where])
            amount[place] = xp.minimum(amount[place], carried)
            steps.append((row, column, back, more, where, place))
            column, where, place = back[more], where[more], place[more]
        for row, column, back, more, where, place in steps:
            sent = amount[place]
            flow[row, column, where] += sent
            flow[row[more], back[more], where[more]] -= sent[more]
            supply[row[~more], where[~more]] -= sent[~more]
        demand[j, lacking] -= amount


def _paths(xp: Any, cost: Any, flow: Any, full: Any, shift: int) -> tuple[Any, Any]:
    """The cheapest ways from suppliers with something left to all receivers (Bellman and Ford).

    Returns [n, P] the supplier before each receiver; [m, P] the receiver before each supplier, -1
    where the way begins. A predecessor changes for something cheaper only, or a way could run in a
    circle of cost 0.
    """
    m, n, _ = cost.shape
    mask, far = (1 << shift) - 1, _FAR >> shift
    rows, columns = _range(xp, m, cost)[:, None, None], _range(xp, n, cost)[None, :, None]
    used = flow > 0
    to_row = xp.where(full, 0, far)
    before_row = xp.full_like(to_row, -1)
    to_column, before_column = xp.full_like(cost[0], far), xp.zeros_like(cost[0])
    while True:
        packed = xp.amin(((to_row[:, None] + cost) << shift) | rows, 0)
        nearer = (packed >> shift) < to_column
        to_column = xp.where(nearer, packed >> shift, to_column)
        before_column = xp.where(nearer, packed & mask, before_column)
        taken_back = ((to_column[None] - cost) << shift) | columns
        packed = xp.amin(xp.where(used, taken_back, _FAR), 1)
        nearer = (packed >> shift) < to_row
        if not bool(nearer.any()):
            return before_column, before_row
        to_row = xp.where(nearer, packed >> shift, to_row)
        before_row = xp.where(nearer, packed & mask, before_row)


def _range(xp: Any, n: int, like: Any) -> Any:
    """0 … n - 1, on the same device as an array."""
    return np.arange(n) if xp is np else xp.arange(n, device=like.device)
