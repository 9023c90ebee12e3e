"""Optimal transport, exact, for many small problems.

A problem has m suppliers and n receivers, masses of equal total, and a cost for every pair; wanted
is the flow of least total cost. On a processor each problem is solved by POT's network simplex
(`ot.emd`). On a GPU problems of about the same size are padded to one size and solved together
(`transport_device.py`).

On a device costs are compared as whole numbers, multiples of 2^-b of the problem's greatest cost.
So a problem has the same flow to the bit on every device and whatever other problems are in the
call, and how far it can be from the optimum is known: see `excess`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import (
    fitting_batch,
    group_rows_by_keys,
    in_batches,
    to_device,
    to_host,
)

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_PIVOTS, _OPTIMAL = 100_000, 1  # steps of POT's network simplex at most, and what it then says
FEWEST = 256  # problems of one size that are worth a device's time
_SIZES = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], dtype=np.intp)
_ARRAYS = 12  # int64 or float64 arrays [m, n, P] that the solver holds at its peak


def flows(cost: Floats, supply: Floats, demand: Floats) -> Floats:
    """The optimal flows of P problems of one size, by POT.

    Parameters
    ----------
    cost
        [m, n, P], finite and at least 0; the problem is the *last* axis.
    supply, demand
        [m, P], [n, P], at least 0, of equal sum in each problem (up to rounding). Whole numbers
        are carried exactly. A row or column without mass is padding; its costs do not matter.

    Returns float64 [m, n, P]. Raises ValueError where the problems are not like that.
    """
    from ot.lp.emd_wrap import emd_c

    _check(cost, supply, demand)
    # The solver's tolerance is absolute, it leaves padding out, and wants a problem in one piece.
    # `ot.emd` also checks and converts its arguments, which takes longer than so small a problem.
    greatest = np.where((supply > 0)[:, None] & (demand > 0), cost, 0.0).max(axis=(0, 1))
    prices = np.ascontiguousarray(np.moveaxis(cost / np.where(greatest > 0, greatest, 1), 2, 0))
    supplies = np.ascontiguousarray(supply.T, dtype=np.float64)
    demands = np.ascontiguousarray((demand * supply.sum(axis=0) / demand.sum(axis=0)).T)
    flow = np.empty(prices.shape)
    for k in range(len(prices)):
        flow[k], *_, code = emd_c(supplies[k], demands[k], prices[k], _PIVOTS, 1)
        if code != _OPTIMAL:
            raise ValueError(f"POT does not solve the problem {k} (code {code})")
    return np.moveaxis(flow, 0, 2)


def flows_on(device: torch.device, cost: Floats, supply: Floats, demand: Floats) -> Floats:
    """The same on a device, in batches that fit into its memory; arguments as of `flows`."""
    m, n, count = cost.shape
    flow = np.empty(cost.shape)

    def work(start: int, stop: int, size: int) -> None:
        part = np.s_[..., start:stop]
        tensors = to_device(device, cost[part], supply[part], demand[part])
        flow[part] = to_host(_flows_of_tensors(*tensors))

    in_batches(count, fitting_batch(device, count, bytes_of_a_problem(m, n)), work)
    return flow


def distances(
    cost: torch.Tensor, supply: torch.Tensor, demand: torch.Tensor, on_device: bool
) -> Floats:
    """[P] What the optimal flows cost per unit of mass; arguments as of `flows`, as tensors.

    `on_device`: where the tensors are, if there are enough problems for that to be faster than
    POT on the processor.
    """
    from metaeval.compute import transport_device

    m, n, count = cost.shape
    if not on_device or count < FEWEST:
        arrays = to_host(cost), to_host(supply), to_host(demand)
        return costs(arrays[0], flows(*arrays))
    if m == 1 or n == 1:
        flow = demand[None] if m == 1 else supply[:, None]
    else:
        flow = _flows_of_tensors(cost, supply, demand)
    return to_host(transport_device.unit_costs(cost, flow))


def bytes_of_a_problem(m: int, n: int) -> int:
    """The memory that a problem of m × n takes on a device."""
    return 8 * _ARRAYS * m * n


def _flows_of_tensors(
    cost: torch.Tensor, supply: torch.Tensor, demand: torch.Tensor
) -> torch.Tensor:
    from metaeval.compute import transport_device

    bits, shift = _bits(*cost.shape[:2])
    whole = transport_device.whole_costs(cost, supply, demand, bits)
    return transport_device.solve(whole, supply, demand, shift)


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
