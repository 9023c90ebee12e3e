"""Transport: against POT's costs of each problem alone, and all assignments.

Costs are at most 1 here, and computed in float64: 1e-12 is some thousand times their rounding.
"""

import numpy as np
import numpy.typing as npt
import ot
import pytest

from metaeval.compute import transport
from metaeval.compute.transport import flows

Floats = npt.NDArray[np.float64]
TOLERANCE = 1e-12


def problems(kind: str, m: int, n: int, count: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    if kind == "fractions":
        supply, demand = rng.random((m, count)), rng.random((n, count))
        supply, demand = supply / supply.sum(axis=0), demand / demand.sum(axis=0)
    else:
        least = 0 if kind == "degenerate" else 1  # 0: rows and columns without mass
        a, b = rng.integers(least, 4, (m, count)), rng.integers(least, 3, (n, count))
        a[0] += 1
        b[0] += 1
        supply, demand = (a * b.sum(axis=0)).astype(float), (b * a.sum(axis=0)).astype(float)
    cost = rng.random((m, n, count))
    if kind == "degenerate":  # few distinct costs: many equally good flows
        cost = rng.integers(0, 3, cost.shape) / 2
    cost *= kind != "free"  # all costs are 0
    return cost, supply, demand


def by_pot(cost: Floats, supply: Floats, demand: Floats) -> Floats:
    return np.array(
        [
            ot.emd2(
                supply[:, k] / supply[:, k].sum(),
                demand[:, k] / demand[:, k].sum(),
                np.ascontiguousarray(cost[..., k]),
            )
            for k in range(cost.shape[2])
        ]
    )


@pytest.mark.parametrize("kind", ["counts", "fractions", "degenerate", "free"])
@pytest.mark.parametrize(("m", "n"), [(1, 7), (6, 1), (2, 2), (3, 5), (9, 4), (12, 20), (20, 30)])
def test_costs_as_much_as_by_pot(kind: str, m: int, n: int) -> None:
    cost, supply, demand = problems(kind, m, n, 20)
    flow = flows(cost, supply, demand)
    assert flow.min() >= 0
    slack = 0 if kind != "fractions" else 1e-14 * (m + n)  # whole numbers are carried exactly
    assert np.abs(flow.sum(axis=1) - supply).max() <= slack
    assert np.abs(flow.sum(axis=0) - demand).max() <= slack
    assert np.abs(transport.costs(cost, flow) - by_pot(cost, supply, demand)).max() < TOLERANCE


def test_costs_of_any_size() -> None:
    cost, supply, demand = problems("counts", 4, 6, 50)
    scale = 10.0 ** np.linspace(-150, 150, 50)
    found = transport.costs(cost * scale, flows(cost * scale, supply, demand)) / scale
    assert np.abs(found - by_pot(cost, supply, demand)).max() < TOLERANCE
