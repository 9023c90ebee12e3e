"""How many images a comparison of two metrics needs: the power formula of the paired test."""

from __future__ import annotations

import math

from scipy.stats import norm

from metaeval.errors import InputError


def images_for_power(
    difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The number of images at which a paired two-sided test separates two metrics.

    Parameters
    ----------
    difference, sd
        Mean and standard deviation over images of one metric's value minus the other's.
    alpha, power
        The level of the test, and how often it is to be significant; both in (0, 1).

    Returns
    -------
    float
        ((z(1 − α/2) + z(power)) · sd / difference)², at least 2; infinite for no difference.

    Notes
    -----
    Normal approximation; of the two ways to be significant the wrong one is neglected.
    Source: J. Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, section 2.3.

    Examples
    --------
    >>> round(images_for_power(0.5, 1.0), 1)
    31.4
    """
    if not 0 < alpha < 1 or not 0 < power < 1:
        raise InputError(f"{alpha} and {power} are not in (0, 1)", field="alpha, power")
    if difference == 0:
        return math.inf
    z = float(norm.ppf(1 - alpha / 2) + norm.ppf(power))
    return max((z * sd / difference) ** 2, 2.0)


def power_at(n: int, difference: float, sd: float, *, alpha: float = 0.05) -> float:
    """How often the same test is significant with n images.

    >>> round(power_at(32, 0.5, 1.0), 2)
    0.81
    """
    if sd == 0:
        return 1.0 if difference else alpha
    return float(norm.cdf(abs(difference) / sd * math.sqrt(n) - norm.ppf(1 - alpha / 2)))
