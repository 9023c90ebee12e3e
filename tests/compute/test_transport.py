"""Transport by POT and by our device solver: against POT's costs, all assignments, and each other.

Costs are at most 1 here. POT computes in float64, ours is exact except for costs rounded to 2^-45
of the greatest: 1e-12 is some hundred times what both can be off together. The device solver runs
on the processor here; its arithmetic is in whole numbers, and additions of masses have one order.
"""

from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import ot
import pytest
import torch

from metaeval.compute import device as devices, transport, transport_device

Floats = npt.NDArray[np.float64]
Solver = Callable[[Floats, Floats, Floats], Floats]
TOLERANCE = 1e-12

on_device: Solver = partial(transport.flows_on, torch.device("cpu"))
both = pytest.mark.parametrize("solve", [transport.flows, on_device], ids=["POT", "device"])


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


@both
@pytest.mark.parametrize("kind", ["counts", "fractions", "degenerate"])
@pytest.mark.parametrize(("m", "n"), [(1, 7), (6, 1), (2, 2), (3, 5), (9, 4), (12, 20), (20, 30)])
def test_costs_as_much_as_by_pot(kind: str, m: int, n: int, solve: Solver) -> None:
    cost, supply, demand = problems(kind, m, n, 20)
    flow = solve(cost, supply, demand)
    assert flow.min() >= 0
    slack = 0 if kind != "fractions" else 1e-14 * (m + n)  # whole numbers are carried exactly
    assert np.abs(flow.sum(axis=1) - supply).max() <= slack
    assert np.abs(flow.sum(axis=0) - demand).max() <= slack
    assert np.abs(transport.costs(cost, flow) - by_pot(cost, supply, demand)).max() < TOLERANCE


@both
def test_the_best_of_all_assignments(solve: Solver) -> None:
    cost, _, _ = problems("counts", 5, 5, 50)
    ones = np.ones((5, 50))
    orders = list(permutations(range(5)))
    best = np.min([cost[range(5), order].mean(axis=0) for order in orders], axis=0)
    assert np.abs(transport.costs(cost, solve(cost, ones, ones)) - best).max() < TOLERANCE


@both
def test_costs_that_are_all_zero_cost_nothing(solve: Solver) -> None:
    _, supply, demand = problems("counts", 4, 6, 10)
    flow = solve(np.zeros((4, 6, 10)), supply, demand)
    assert (flow.sum(axis=0) == demand).all()
    assert (transport.costs(np.zeros((4, 6, 10)), flow) == 0).all()


@both
def test_costs_of_any_size(solve: Solver) -> None:
    cost, supply, demand = problems("counts", 4, 6, 50)
    scale = 10.0 ** np.linspace(-150, 150, 50)
    found = transport.costs(cost * scale, solve(cost * scale, supply, demand)) / scale
    assert np.abs(found - by_pot(cost, supply, demand)).max() < TOLERANCE


@pytest.mark.parametrize("kind", ["counts", "fractions", "degenerate"])
def test_a_problem_is_solved_alike_alone_padded_and_in_company(kind: str) -> None:
    cost, supply, demand = problems(kind, 4, 7, 30)
    flow = on_device(cost, supply, demand)
    alone = [on_device(*(a[..., [k]] for a in (cost, supply, demand))) for k in range(30)]
    assert np.array_equal(np.concatenate(alone, axis=2), flow)
    padded = on_device(
        np.pad(cost, [(0, 3), (0, 5), (0, 0)], constant_values=1e9),
        np.pad(supply, [(0, 3), (0, 0)]),
        np.pad(demand, [(0, 5), (0, 0)]),
    )
    assert np.array_equal(padded[:4, :7], flow)
    assert not padded[4:].any()
    assert not padded[:, 7:].any()
    assert np.array_equal(
        transport.costs(np.pad(cost, [(0, 3), (0, 5), (0, 0)]), padded), transport.costs(cost, flow)
    )


def test_batches_shrink_where_memory_does_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocator that fails above 12 problems: the flows stay, in smaller batches."""
    cost, supply, demand = problems("fractions", 3, 5, 80)
    expected, sizes = on_device(cost, supply, demand), []

    def limited(costs: torch.Tensor, *rest: Any) -> torch.Tensor:
        sizes.append(costs.shape[2])
        if costs.shape[2] > 12:
            raise torch.cuda.OutOfMemoryError("12 problems at most")
        return solve(costs, *rest)

    solve = transport_device.solve
    monkeypatch.setattr(transport_device, "solve", limited)
    assert np.array_equal(on_device(cost, supply, demand), expected)
    assert sizes == [80, 40, 20, *[10] * 8]


def test_the_first_batch_fits_into_half_of_the_free_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = torch.device("cpu")
    assert devices.fitting_batch(device, 500, 8) == 500
    for free, size in ((1600, 100), (10_000_000, 500), (3, 1)):
        monkeypatch.setattr(devices, "free_bytes", lambda _, free=free: free)
        assert devices.fitting_batch(device, 500, 8) == size


def test_rounding_stays_below_the_stated_bound() -> None:
    assert transport.excess(20, 30) == transport.excess(2, 2) < 1e-13
    assert transport.excess(300, 500) < 1e-10
    # two ways whose costs differ by less than a step: either may be taken, at the stated loss
    step = transport.excess(2, 2)
    cost = np.array([[1.0, 1.0 - step / 4], [1.0, 1.0]])[..., None]
    ones = np.ones((2, 1))
    found = transport.costs(cost, on_device(cost, ones, ones))[0]
    assert 1 - step / 8 <= found <= 1 - step / 8 + step


def test_groups_hold_every_problem_once_in_a_size_that_fits() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(1, 90, 400), rng.integers(1, 90, 400)
    seen = np.zeros(400, dtype=int)
    for m, n, which in transport.group_by_size(rows, columns):
        seen[which] += 1
        assert (rows[which] <= m).all()
        assert (columns[which] <= n).all()
        assert m > 1 or (rows[which] == 1).all()
    assert (seen == 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c, s, d: (-c, s, d), "at least 0"),
        (lambda c, s, d: (c + np.nan, s, d), "finite"),
        (lambda c, s, d: (c, s * 2, d), "one sum"),
        (lambda c, s, d: (c, s * 0, d * 0), "above 0"),
        (lambda c, s, d: (c, -s, -d), "at least 0"),
        (lambda c, s, d: (c, s[:-1], d), "shapes"),
    ],
)
def test_refuses_what_is_no_transport_problem(change: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        transport.flows(*change(*problems("counts", 3, 4, 5)))  # type: ignore[operator]
