"""Holm's correction: p-values of many tests, adjusted so that false alarms stay rare in all."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats


def least_draws(n_tests: int, sides: int, alpha: float) -> int:
    """How many random draws a test needs for its least p-value to survive Holm's correction.

    With R draws no p-value is below 1/(R + 1) (an arrangement test) or 2/(R + 1) (a two-sided
    bootstrap: `sides` 2); the first of m corrected ones is m times that.

    >>> least_draws(21, 1, 0.05), least_draws(21, 2, 0.05), least_draws(0, 1, 0.05)
    (419, 839, 0)
    """
    return max(0, math.ceil(sides * n_tests / alpha - 1e-9) - 1)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjusted p-values: reject where one is at most α, and the chance of any false rejection in
    the whole family is at most α, whatever the dependence between the tests.

    Parameters
    ----------
    p_values
        In [0, 1], any shape. NaN = this test could not be made: it stays NaN and is no member of
        the family.

    Returns
    -------
    float64 of the same shape.

    Notes
    -----
    Definition
        With p_(1) ≤ … ≤ p_(m): adjusted p_(i) = min(1, max over j ≤ i of (m − j + 1) p_(j)).
    Ties
        Equal p-values get equal adjusted ones.
    Source
        S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian
        Journal of Statistics 6.

    Raises InputError for a p-value outside [0, 1].

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    values: Floats = np.array(p_values, dtype=np.float64)
    if ((values < 0) | (values > 1)).any():
        raise InputError("a p-value is not in [0, 1]", field="p_values")
    flat = values.reshape(-1)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    flat[order] = np.minimum(1.0, np.maximum.accumulate(factors * flat[order]))
    return flat.reshape(values.shape)
