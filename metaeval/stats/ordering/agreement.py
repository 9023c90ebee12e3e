"""How far metrics agree with each other on the order of systems and of captions.

Every pair of systems is a question: which of the two is better? Two metrics agree where they give
the same answer. Kendall's τ-b counts answers, for the systems as wholes or image by image.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.resampling.items import Floats


class Answers(NamedTuple):
    """What m metrics say of every pair of s systems, case by case (image, or replicate).

    Attributes
    ----------
    surplus
        float64 [m, m, n]: pairs of systems on which two metrics agree, minus those on which they
        contradict each other.
    untied
        float64 [m, m, n]: pairs that the first does not tie, among those for which the second
        has scores too.
    """

    surplus: Floats
    untied: Floats

    def tau(self) -> Floats:
        """τ-b [m, m] over all cases together; NaN where a metric ties all it is asked."""
        return _tau(self.surplus.sum(axis=2), self.untied.sum(axis=2))

    def tau_of_each(self) -> Floats:
        """τ-b of each case on its own, [m, m, n]."""
        return _tau(self.surplus, self.untied)

    def tau_resampled(self, counts: npt.NDArray[np.integer]) -> Floats:
        """τ-b over the cases (images) of each bootstrap replicate: [m, m, replicates].

        `counts` is [replicates, n] from `bootstrap_counts`. Sums are of whole numbers, so exact.
        """
        weights = counts.T.astype(np.float64)
        return _tau(self.surplus @ weights, self.untied @ weights)


def answers(scores: Floats) -> Answers:
    """What metrics say of every pair of systems.

    Parameters
    ----------
    scores
        float64 [m, s, n], more is better: m metrics, s systems, n cases. NaN = no score: pairs
        that touch it are not asked.

    Notes
    -----
    Definition
        τ-b = (C − D) / √(U_a U_b) over pairs of systems *of the same case*: C and D the pairs that
        the two metrics order alike and oppositely, U_a and U_b those that the one and the other
        does not tie. Captions of different images are never compared, so that no metric is
        rewarded for knowing which images are hard.
    Ties
        A pair that a metric ties counts in neither C nor D, and in the other's U alone.
    Source
        M. G. Kendall (1945), The treatment of ties in ranking problems, Biometrika 33. With one
        case equal to `scipy.stats.kendalltau` (tested).

    Examples
    --------
    >>> scores = np.array([[[0.1], [0.2], [0.3]], [[0.1], [0.3], [0.2]]])
    >>> answers(scores).tau().round(4).tolist()
    [[1.0, 0.3333], [0.3333, 1.0]]
    """
    m, s, n = scores.shape
    surplus, untied = np.zeros((m, m, n)), np.zeros((m, m, n))
    for one, other in combinations(range(s), 2):
        with np.errstate(invalid="ignore"):
            gaps = scores[:, one] - scores[:, other]
        scored = (~np.isnan(gaps)).astype(np.float64)
        signs = np.sign(np.nan_to_num(gaps, nan=0.0))
        surplus += signs[:, None] * signs[None]
        untied += np.abs(signs)[:, None] * scored[None]
    return Answers(surplus, untied)


def kendall_matrix(scores: Sequence[npt.ArrayLike]) -> Floats:
    """τ-b [m, m] of each two of m metrics over all their captions, whichever image they belong to.

    A caption that either metric has no score for is left out. Ties as in `kendall`. NaN where a
    metric gives all the same score, on the diagonal too.

    >>> kendall_matrix([[1, 2, 3], [1, 3, 2]]).round(4).tolist()
    [[1.0, 0.3333], [0.3333, 1.0]]
    """
    columns = [np.asarray(column, dtype=np.float64).ravel() for column in scores]
    matrix = np.full((len(columns), len(columns)), np.nan)
    for i, column in enumerate(columns):
        scored = column[~np.isnan(column)]
        if len(scored) and (scored != scored[0]).any():
            matrix[i, i] = 1.0
    for i, j in combinations(range(len(columns)), 2):
        matrix[i, j] = matrix[j, i] = kendall(columns[i], columns[j]).tau
    return matrix


def _tau(surplus: Floats, untied: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = surplus / np.sqrt(untied * np.swapaxes(untied, 0, 1))
    return tau
