"""Williams' test: do two metrics differ in their correlation with the same human judgements?"""

from __future__ import annotations

from math import copysign, inf, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.pearson import pearson
from metaeval.stats.resampling.items import as_scores, require_aligned

_SAME = 1e-12  # correlations that differ by less differ by rounding


class Williams(NamedTuple):
    """What `williams` returns.

    Attributes
    ----------
    t
        Positive where the first metric correlates more; NaN where the test is undefined.
    df
        Degrees of freedom, n − 3.
    p_greater
        One-sided p-value of "the first metric correlates more".
    p_two_sided
        p-value of "the two differ".
    """

    t: float
    df: int
    p_greater: float
    p_two_sided: float


def williams(r1: float, r2: float, r12: float, n: int) -> Williams:
    """Test of H0: ρ1 = ρ2, for two Pearson correlations that share one variable.

    Parameters
    ----------
    r1, r2
        Correlation of each metric with the judgements.
    r12
        Correlation of the two metrics with each other. The more they agree, the smaller a
        difference can be distinguished from chance.
    n
        Number of items, all independent of each other. Items that share an image are not: then
        the test is too sure of itself, and one that resamples or permutes images is to be
        preferred (`paired_bootstrap`, `paired_permutation`).

    Notes
    -----
    Definition
        t = (r1 − r2) √((n−1)(1+r12)) / √(2K(n−1)/(n−3) + (r1+r2)²/4 · (1−r12)³), Student's t with
        n − 3 degrees of freedom; K = 1 − r1² − r2² − r12² + 2·r1·r2·r12, the determinant of the
        3 × 3 correlation matrix.
    Undefined
        NaN with fewer than four items or a correlation that is NaN. Two metrics that are the same
        up to a positive linear map (r12 = 1) do not differ: t = 0, p = 1. t is infinite and p 0
        where the two explain the judgements without rest and pull opposite ways.
    A metric and its negation
        r12 = −1 and r2 = −r1: both roots are 0, and t is their limit, r1 √((n−3) / (1−r1²)), which
        is the t of Pearson's r1 except for n − 3 instead of n − 2: the two differ if, and only if,
        either correlates with the judgements at all.
    Source
        E. J. Williams (1959), The comparison of regression variables, Journal of the Royal
        Statistical Society B 21; in the form of J. H. Steiger (1980), Tests for comparing elements
        of a correlation matrix, Psychological Bulletin 87, equation 7. Recommended for metrics by
        Y. Graham and T. Baldwin (2014), EMNLP.

    Raises InputError for a correlation outside [-1, 1].

    Examples
    --------
    The example of Silver, Hittner and May's program DEPCOR (2006), which gives t = -1.0767 and
    p = .2843:

    >>> from metaeval.stats.significance.williams import williams
    >>> result = williams(0.3, 0.4, 0.5, 100)
    >>> round(result.t, 4), round(result.p_two_sided, 4)
    (-1.0767, 0.2843)
    """
    for name, r in (("r1", r1), ("r2", r2), ("r12", r12)):
        if abs(r) > 1:
            raise InputError(f"{r} is not in [-1, 1]", field=name)
    df = n - 3
    if n < 4 or np.isnan([r1, r2, r12]).any():
        return Williams(float("nan"), df, float("nan"), float("nan"))
    if abs(r1 - r2) < _SAME:
        return Williams(0.0, df, 0.5, 1.0)
    # 1 + r12 is taken out of both roots, and is not divided by where it is 0
    half, mean, shared = (r1 - r2) / 2, (r1 + r2) / 2, 1 + r12
    ratio = mean**2 / shared if shared > _SAME else 0.0
    determinant = max(0.0, (1 - r12) * (1 - 2 * ratio) - 2 * half**2)
    spread = 2 * determinant * (n - 1) / (n - 3) + ratio * (1 - r12) ** 3
    t = 2 * half * sqrt((n - 1) / spread) if spread > _SAME else copysign(inf, half)
    from scipy.special import stdtr  # slow to import

    return Williams(t, df, float(stdtr(df, -t)), float(2 * stdtr(df, -abs(t))))


def williams_test(a: npt.ArrayLike, b: npt.ArrayLike, human: npt.ArrayLike) -> Williams:
    """Williams' test from scores: two metrics [n] and the judgements [n].

    Items without a value in any of the three are left out of all three correlations.

    >>> from metaeval.stats.significance.williams import williams_test
    >>> human = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> round(williams_test([1, 3, 2, 4, 6, 5, 8, 7], [3, 1, 6, 2, 8, 4, 5, 7], human).t, 3)
    2.022
    """
    x, y, z = as_scores(a), as_scores(b), as_scores(human)
    require_aligned(scores=x, others=y, judgements=z)
    complete = ~(np.isnan(x) | np.isnan(y) | np.isnan(z))
    x, y, z = x[complete], y[complete], z[complete]
    return williams(pearson(x, z).r, pearson(y, z).r, pearson(x, y).r, len(x))
