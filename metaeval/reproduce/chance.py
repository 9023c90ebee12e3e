"""When a search over protocols has found the one behind printed values, and not a coincidence.

A search compares m printed values (one, or several of one table) with the values that a grid of
protocols gives: `cells` [p, m]. Protocols that give equal values count once.

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

from metaeval.stats.resampling.items import Floats, Ints

FOUND = 0.05
DRAWS = 4000  # the standard error of a chance of 5 % is then .3 %


def printed(values: Floats, steps: Floats) -> Floats:
    """Values in units of their last printed digit, rounded; NaN stays."""
    return np.rint(values / steps)


def chance_of_match(
    cells: Floats,
    steps: Floats,
    changes: Ints,
    best: tuple[int, int],
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """The chance that some protocol is as good for m random values as the best one.

    `cells` is [p, m], the values of each protocol, NaN where it gives none, and `changes` [p] how
    many switches it changes; `steps` [m] is the unit of the last printed digit of each value.
    `best` is how many values the best protocol matches, and with how many changes. The draws have a
    fixed seed.

    >>> cells = np.array([[0.0], [0.4], [10.0]])
    >>> round(chance_of_match(cells, np.array([1.0]), np.array([0, 1, 1]), (1, 1)), 1)
    0.5
    """
    rng = np.random.default_rng(seed)
    simplest = np.argsort(changes, kind="stable")
    digits, first = np.unique(printed(cells[simplest], steps), axis=0, return_index=True)
    fewest = changes[simplest][first]
    matches = np.zeros((draws, len(digits)), dtype=np.int16)
    for column, step, of_protocols in zip(cells.T, steps, digits.T, strict=True):
        places = np.unique(column[~np.isnan(column)])
        values = np.interp(rng.random(draws), np.linspace(0, 1, len(places)), places)
        matches += printed(values, step)[:, None] == of_protocols
    n, most_changes = best
    as_good = (matches > n) | ((matches == n) & (fewest <= most_changes))
    return float(as_good.any(axis=1).mean())
