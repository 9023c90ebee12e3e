"""The rule of a found protocol: against integrals by hand, and by simulation of false findings."""

import numpy as np
import pytest

from metaeval.reproduce.chance import FOUND, chance_of_match


@pytest.mark.parametrize(
    ("cells", "step", "expected"),
    [
        # half of the draws lie between 0 and .4, where all round to 0; the others between .4 and
        # 10, where those below .5 and above 9.5 round to a cell
        ([0, 0.4, 10], 1.0, 0.5 + 0.5 * 0.6 / 9.6),
        ([0, 10], 1.0, 0.1),  # .5 of 10 at either end
        ([0, 10, 10, 10], 1.0, 0.1),  # equal protocols count once
        ([0, 10, np.nan], 1.0, 0.1),  # one that gives no value matches none
        ([0, 100], 1.0, 0.01),
        ([0, 1, 2, 3], 1.0, 1.0),  # everything in the range is matched
    ],
)
def test_chance_of_one_value_is_the_covered_part(
    cells: list[float], step: float, expected: float
) -> None:
    changes = np.zeros(len(cells), dtype=np.int64)
    table = np.array(cells)[:, None]
    chance = chance_of_match(table, np.array([step]), changes, (1, 0), draws=40_000)
    assert chance == pytest.approx(expected, abs=0.006)


def test_chance_of_several_values_is_of_one_protocol() -> None:
    cells, steps = np.array([[0.0, 10.0], [10.0, 0.0]]), np.array([1.0, 1.0])
    changes = np.array([0, 1])
    both, any_one, first, both_first = (
        chance_of_match(cells, steps, changes, best, draws=40_000)
        for best in ((2, 1), (1, 1), (1, 0), (2, 0))
    )
    # of the four pairs of ends two are protocols; a value is at either end with .05
    assert both == pytest.approx(2 * 0.05**2, abs=0.002)
    assert both_first == pytest.approx(0.05**2, abs=0.002)
    assert any_one == pytest.approx(1 - 0.9**2, abs=0.008)
    # one value of the protocol without changes, or both of the other one
    assert first == pytest.approx(1 - 0.95**2 + 0.05**2, abs=0.008)


@pytest.mark.parametrize(("protocols", "metrics", "digits"), [(5, 1, 4), (40, 2, 3), (200, 4, 2)])
def test_random_values_are_found_in_less_than_one_of_twenty_tables(
    protocols: int, metrics: int, digits: int
) -> None:
    rng, found, tables = np.random.default_rng(1), 0, 300
    steps, changes = np.full(metrics, 10.0**-digits), rng.integers(0, 4, protocols)
    for k in range(tables):
        cells = rng.beta(2, 5, (protocols, metrics))
        outside = []
        for column in np.sort(cells, axis=0).T:  # a place in a gap between neighbours
            gap = rng.integers(protocols - 1)
            outside.append(rng.uniform(column[gap], column[gap + 1]))
        same = np.abs(cells - np.round(outside, digits)) < steps / 2
        n, fewest = max(zip(same.sum(axis=1).tolist(), (-changes).tolist(), strict=True))
        chance = chance_of_match(cells, steps, changes, (n, -fewest), draws=400, seed=k)
        found += n > 0 and chance < FOUND
    # three standard errors above 5 %
    assert found / tables <= FOUND + 3 * (FOUND * (1 - FOUND) / tables) ** 0.5
