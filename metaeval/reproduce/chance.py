"""When a search over protocols has found the one behind printed values, and not a coincidence.

A search compares m printed values (one, or several of one table) with the values that a grid of
protocols gives: `cells` [p, m].

The rule
    The protocols have an order that is declared before the search: by the number of switches that
    they change from the dataset's default. The best protocol is the one that matches most of the m
    values, to the printed digits, and of several that with the fewest changes. It is *found* where
    random values have a protocol as good in less than `FOUND` of all draws.
Random values
    Each is drawn as the cells of its own metric lie: every gap between two neighbouring cells is
    equally likely, and every place in a gap. Where cells are dense, a value that no protocol of the
    grid gives is therefore likely, and is likely to be matched. This is stricter than a uniform
    draw from the range of the cells. The values of a table are drawn independently.
"""

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, Ints

FOUND = 0.05
DRAWS = 4000  # the standard error of a chance of 5 % is then .3 %
_ROUNDING = 1 + 1e-9  # of a printed decimal number as a binary one


def matches(cells: Floats, values: Floats, reach: Floats) -> npt.NDArray[np.bool_]:
    """Whether the cells are within reach of the values: half a unit of the last printed digit, and
    what else a value may differ by. NaN matches nothing."""
    same: npt.NDArray[np.bool_] = np.abs(cells - values) <= reach * _ROUNDING
    return same


def chance_of_match(
    cells: Floats,
    steps: Floats,
    changes: Ints,
    best: tuple[int, int],
    tolerance: Floats | float = 0.0,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """The chance that some protocol is as good for m random values as the best one.

    `cells` is [p, m], the values of each protocol, NaN where it gives none, and `changes` [p] how
    many switches it changes; `steps` [m] is the unit of the last printed digit of each value, and
    `tolerance` what it may differ by apart from its rounding. `best` is how many values the best
    protocol matches, and with how many changes. The draws have a fixed seed.

    >>> cells = np.array([[0.0], [0.4], [10.0]])
    >>> round(chance_of_match(cells, np.array([1.0]), np.array([0, 1, 1]), (1, 1)), 1)
    0.5
    """
    rng = np.random.default_rng(seed)
    matched = np.zeros((draws, len(cells)), dtype=np.int16)
    for column, step, reach in zip(cells.T, steps, steps / 2 + tolerance, strict=True):
        places = np.unique(column[~np.isnan(column)])
        values = np.interp(rng.random(draws), np.linspace(0, 1, len(places)), places)
        matched += matches(column, np.rint(values / step)[:, None] * step, reach)
    n, most_changes = best
    as_good = (matched > n) | ((matched == n) & (changes <= most_changes))
    return float(as_good.any(axis=1).mean())
