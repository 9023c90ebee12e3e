"""Holm's correction of the p-values of a family of tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjusted p-values: rejecting those below α keeps the chance of any false rejection in the
    family at α or less, whatever the dependence between the tests.

    Parameters
    ----------
    p_values
        In [0, 1], any shape. NaN = this test could not be made: it stays NaN and is not counted in
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
