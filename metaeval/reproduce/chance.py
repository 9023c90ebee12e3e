"""When a search over protocols has found the one behind printed values, and not a coincidence.

A search compares m printed values (one, or several of one table) with the values that a grid of
protocols gives: `cells` [p, m]. Protocols that give equal values count once.

The rule
    One protocol has to match n of the m values, to the printed digits. It is *found* where random
    values are matched as well by any protocol of the grid in less than `FOUND` of all draws.
Random values
    Each is drawn as the cells of its own metric lie: every gap between two neighbouring cells is
    equally likely, and every place in a gap. Where cells are dense, a value that no protocol of the
    grid gives is therefore likely, and is likely to be matched. This is stricter than a uniform
    draw from the range of the cells. The values of a table are drawn independently.
"""

import numpy as np

from metaeval.stats.resampling.items import Floats

FOUND = 0.05
DRAWS = 4000  # the standard error of a chance of 5 % is then .3 %


def printed(values: Floats, steps: Floats) -> Floats:
    """Values in units of their last printed digit, rounded; NaN stays."""
    return np.rint(values / steps)


def chance_of_match(
    cells: Floats, steps: Floats, n_matched: int, draws: int = DRAWS, seed: int = 0
) -> float:
    """The chance that one protocol matches at least `n_matched` of m random values.

    `cells` is [p, m], the values of each protocol, NaN where it gives none; `steps` [m] is the unit
    of the last printed digit of each. The draws have a fixed seed.

    >>> round(chance_of_match(np.array([[0.0], [0.4], [10.0]]), np.array([1.0]), 1), 1)
    0.5
    """
    rng = np.random.default_rng(seed)
    digits = np.unique(printed(cells, steps), axis=0)
    matches = np.zeros((draws, len(digits)), dtype=np.int16)
    for column, step, of_protocols in zip(cells.T, steps, digits.T, strict=True):
        places = np.unique(column[~np.isnan(column)])
        values = np.interp(rng.random(draws), np.linspace(0, 1, len(places)), places)
        matches += printed(values, step)[:, None] == of_protocols
    return float((matches.max(axis=1) >= n_matched).mean())
