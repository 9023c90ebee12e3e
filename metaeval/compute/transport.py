"""Optimal transport, exact, for many small problems.

A problem has m suppliers and n receivers, masses of equal total, and a cost for every pair; wanted
is the flow of least total cost. On a processor each problem goes through POT's network simplex
(`ot.emd`). On a GPU problems of about the same size are padded to one size and solved together
(`transport_device.py`).

On the device costs are compared as whole numbers, multiples of 2^-b of the problem's greatest cost.
So a problem has the same flow to the bit on every device and whatever other problems are in the
call, and how far it can be from the optimum is known: see `excess`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.compute.batching import group_rows_by_keys
from metaeval.compute.device import fitting_batch, in_batches, to_device, to_host

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

FEWEST = 256  # problems of one size that are worth a device's time
_SIZES = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], dtype=np.intp)
_ARRAYS = 12  # int64 or float64 arrays [m, n, P] that the solver holds at its peak


def flows(
    cost: Floats, supply: Floats, demand: Floats, device: torch.device | None = None
) -> Floats:
    """The optimal flows of P problems of one size.

    Parameters
    ----------
    cost
        [m, n, P], finite and at least 0; the problem is the *last* axis.
    supply, demand
        [m, P], [n, P], at least 0, of equal sum in each problem (up to rounding). Whole numbers
        are carried exactly. A row or column without mass is padding; its costs do not matter.

    device
        A GPU, to solve there what is worth it; `None` or a processor: POT.

    Returns float64 [m, n, P]. Raises ValueError where the problems are not like that.
    """
    _check(cost, supply, demand)
    m, n, count = cost.shape
    if m == 1 or n == 1:  # there is but one flow
        return np.array(demand[None] if m == 1 else supply[:, None], dtype=np.float64)
    if device is None or device.type == "cpu" or count < FEWEST:
        return _flows_by_pot(cost, supply, demand)
    return flows_on(device, cost, supply, demand)


def _flows_by_pot(cost: Floats, supply: Floats, demand: Floats) -> Floats:
    """One problem after another, each without its padding."""
    import ot

    flow = np.zeros(cost.shape)
    for k in range(cost.shape[2]):
        rows, columns = np.flatnonzero(supply[:, k] > 0), np.flatnonzero(demand[:, k] > 0)
        prices = np.ascontiguousarray(cost[rows[:, None], columns, k])
        greatest = prices.max(initial=0.0)
        if greatest > 0:  # its tolerance is absolute
            prices /= greatest
        flow[rows[:, None], columns, k] = ot.emd(
            supply[rows, k], demand[columns, k], prices, center_dual=False
        )
    return flow


def flows_on(device: torch.device, cost: Floats, supply: Floats, demand: Floats) -> Floats:
    """The same on a device, in batches that fit into its memory; arguments as of `flows`."""
    from metaeval.compute import transport_device

    m, n, count = cost.shape
    bits, shift = _bits(m, n)
    carries = (supply > 0)[:, None] & (demand > 0)[None]
    greatest = cost.max(axis=(0, 1), where=carries, initial=0)
    cost = np.where(carries, cost, greatest)  # so that padding is never the nearest
    steps = 2.0**bits / np.where(greatest > 0, greatest, 1.0)
    whole = np.rint(cost * steps).astype(np.int64)
    flow = np.empty((m, n, count))

    def work(start: int, stop: int, size: int) -> None:
        part = np.s_[..., start:stop]
        costs, gives, takes = to_device(device, whole[part], supply[part], demand[part])
        flow[part] = to_host(transport_device.solve(costs, gives, takes, shift))

    in_batches(count, fitting_batch(device, count, 8 * _ARRAYS * m * n), work)
    return flow


def costs(cost: Floats, flow: Floats) -> Floats:
    """[P] What the flows cost per unit of mass, summed in an order that padding does not change."""
    total, mass = np.zeros(cost.shape[2]), np.zeros(cost.shape[2])
    for i in range(cost.shape[0]):
        for j in range(cost.shape[1]):
            total += cost[i, j] * flow[i, j]
            mass += flow[i, j]
    return total / mass


def excess(m: int, n: int) -> float:
    """What a unit of mass may cost above the optimum, as a part of the problem's greatest cost.

    Rounding moves a flow's cost by at most half a step per unit of mass, for the flow that was
    found as for the optimal one: so at most one step lies between them.
    """
    return 2.0 ** -_bits(m, n)[0]


def group_by_size(rows: Indices, columns: Indices) -> Iterator[tuple[int, int, Indices]]:
    """Problems of similar size: (m, n, which) with rows[which] ≤ m and columns[which] ≤ n.

    Sizes are rounded up, for few groups and little padding; 1 stays 1.
    """
    m, n = _rounded(rows), _rounded(columns)
    for which in group_rows_by_keys(m, n):
        yield int(m[which[0]]), int(n[which[0]]), which


def _rounded(sizes: Indices) -> Indices:
    known: Indices = _SIZES[np.minimum(np.searchsorted(_SIZES, sizes), len(_SIZES) - 1)]
    return np.where(known < sizes, sizes, known)


def _bits(m: int, n: int) -> tuple[int, int]:
    """Bits of the greatest cost, and bits of a place packed below it; 2 are spare for the sign.

    A path has at most m + n costs, whose sum must fit in too. Sizes up to 64 are treated alike, so
    that a problem is solved in one way however it is padded.
    """
    m, n = max(m, 64), max(n, 64)
    shift = max(m, n).bit_length()
    return 60 - shift - (m + n).bit_length(), shift


def _check(cost: Floats, supply: Floats, demand: Floats) -> None:
    m, n, count = cost.shape
    if supply.shape != (m, count) or demand.shape != (n, count) or not m or not n:
        raise ValueError(f"shapes {cost.shape}, {supply.shape} and {demand.shape} do not fit")
    if not (np.isfinite(cost).all() and (cost >= 0).all()):
        raise ValueError("costs must be finite and at least 0")
    if not ((supply >= 0).all() and (demand >= 0).all()):
        raise ValueError("masses must be at least 0")
    sums = supply.sum(axis=0), demand.sum(axis=0)
    if not (np.allclose(*sums, rtol=1e-9, atol=0) and (sums[0] > 0).all()):
        raise ValueError("supply and demand of a problem must have one sum, above 0")
