"""Equality of scores from networks: to the precision that their columns declare, never to the bit.

A float32 sum depends on the kernels of the processor, on the number of threads and on the shape of
the batch. Tests ask for equal bits only where the arithmetic is exact.
"""

import numpy as np
import numpy.typing as npt

from metaeval.runs.records import NETWORK_PRECISION

STORED = 1e-9  # of a step: float64 rounding of two places of the grid that are one step apart


def assert_same_scores(
    one: npt.ArrayLike, other: npt.ArrayLike, precision: float | None = NETWORK_PRECISION
) -> None:
    """Raise AssertionError where scores of the same items differ by more than the precision.

    With a precision of `None` every bit must be equal. NaN equals NaN.
    """
    np.testing.assert_allclose(one, other, rtol=0, atol=(precision or 0.0) * (1 + STORED))
