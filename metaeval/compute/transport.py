"""Optimal transport, exact, for many small problems.

A problem has m suppliers and n receivers, masses of equal total, and a cost for every pair; wanted
is the flow of least total cost. Each problem is solved by POT's network simplex (`ot.emd`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import group_rows_by_keys

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_PIVOTS, _OPTIMAL = 100_000, 1  # steps of POT's network simplex at most, and what it then says
_SIZES = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], dtype=np.intp)


def flows(cost: Floats, supply: Floats, demand: Floats) -> Floats:
    """The optimal flows of P problems of one size, by POT.

    Parameters
    ----------
    cost
        [m, n, P], finite and at least 0; the problem is the *last* axis.
    supply, demand
        [m, P], [n, P], at least 0, of equal sum in each problem (up to rounding). Whole numbers
        are carried exactly. A row or column without mass is padding; its costs do not matter.

    Returns float64 [m, n, P]. Raises ValueError where POT does not solve a problem.
    """
    from ot.lp.emd_wrap import emd_c

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


def costs(cost: Floats, flow: Floats) -> Floats:
    """[P] What the flows cost per unit of mass, summed in an order that padding does not change."""
    each = (cost * flow).reshape(-1, cost.shape[2]), flow.reshape(-1, cost.shape[2])
    total, mass = (np.cumsum(values, axis=0)[-1] for values in each)
    return total / mass


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
