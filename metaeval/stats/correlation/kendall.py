"""Kendall's τ: between scores and levels (τ-b, τ-c), and between metrics.

Between metrics, every pair of systems is a question: which of the two is better? Two metrics agree
where they give the same answer. τ-b counts answers, for the systems as wholes or image by image.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, encode, scored_items, tied_pairs


def concordance(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[int, int, int]:
    """Concordant minus discordant pairs of n items without NaN, pairs with different x, with
    different y; exact integers.

    >>> concordance([1, 2, 3, 3], [1, 3, 2, 2])
    (1, 5, 5)
    """
    untied_x, untied_y = (
        math.comb(len(code), 2) - tied_pairs(np.bincount(code))
        for code in (encode(values)[1] for values in (x, y))
    )
    size = math.sqrt(untied_x) * math.sqrt(untied_y)
    return round(kendall(x, y) * size) if size else 0, untied_x, untied_y


Variant = Literal["b", "c"]


def kendall(scores: npt.ArrayLike, levels: npt.ArrayLike, variant: Variant = "b") -> float:
    """Kendall's τ-b or τ-c over all pairs of scored items, of the same image or not.

    In [-1, 1]; NaN where it is undefined: all scores or all levels equal, or fewer than two items.

    Parameters
    ----------
    scores, levels
        As in `metaeval.stats.correlation.correlations.spearman`: [n_images, n_sets] with NaN = not
        scored, and [n_sets] or the same shape.
    variant
        "b", or "c" (Stuart's), which can reach 1 although there are more scores than levels: the
        one that graded judgements are published with.

    Notes
    -----
    Definition
        τ-b = (C − D) / √((P − T_s)(P − T_l)): C and D the pairs whose scores are in the order of
        their levels and in the opposite one, P = n(n − 1)/2 all pairs, T_s and T_l the pairs with
        equal scores and with equal levels. τ-c = 2m (C − D) / (n² (m − 1)), m the smaller of the
        numbers of distinct scores and distinct levels.
    Ties
        A pair tied in score or in level is neither concordant nor discordant. τ-b's denominator
        leaves out such pairs, each on its own side; in τ-c's they stay.
    Missing
        An item without a score is left out; the other versions of its image stay.
    Interval
        By resampling images (`graded_statistics`, `WeightedCorrelations`); no random part.
    Source
        M. G. Kendall (1945), The treatment of ties in ranking problems, Biometrika 33; A. Stuart
        (1953), The estimation and comparison of strengths of association in contingency tables,
        Biometrika 40. Computed by `scipy.stats.kendalltau`.

    Examples
    --------
    >>> from metaeval.stats.correlation.kendall import kendall
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> round(kendall(scores, [0, 1]), 4), round(kendall(scores, [0, 1], "c"), 4)
    (0.6025, 0.7778)
    """
    x, y = scored_items(scores, levels)
    if not len(x) or (x == x[0]).all() or (y == y[0]).all():
        return math.nan
    from scipy.stats import kendalltau  # slow to import

    return float(kendalltau(x, y, variant=variant).statistic)


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
    import pandas as pd  # slow to import

    table = pd.DataFrame({k: np.ravel(column) for k, column in enumerate(scores)}, dtype=np.float64)
    matrix = table.corr(method="kendall").to_numpy(copy=True)
    np.fill_diagonal(matrix, np.where(table.nunique() > 1, 1.0, np.nan))
    return matrix


def _tau(surplus: Floats, untied: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = surplus / np.sqrt(untied * np.swapaxes(untied, 0, 1))
    return tau


def disagreement(scores: Floats) -> Floats:
    """Per image, the share of contradictions among all comparisons that two metrics both make.

    Parameters
    ----------
    scores
        float64 [m, s, n], more is better: m metrics (each a voice of its own, so one column a
        metric), s captions of each of n images. NaN = no score.

    Returns
    -------
    float64 [n] in [0, 1]: 0 where all metrics put the captions in one order; 1 is reached by two
    metrics with opposite orders. With many metrics that answer at random it is 0.5, and half of
    them against the other half give just above 0.5. NaN where no two metrics compare any two
    captions.

    Notes
    -----
    Definition
        Over all pairs of captions and all pairs of metrics that order both captions strictly:
        D / (C + D), with D the cases in which the two metrics say the opposite and C those in which
        they say the same. If p metrics prefer the one caption and q the other, the pair of
        captions adds p·q to D and p(p−1)/2 + q(q−1)/2 to C.
    Ties
        A metric that ties two captions (the same caption, for one) abstains.
    Unit
        The image. Nothing is random.

    Examples
    --------
    >>> disagreement(np.array([[[0.1], [0.2]], [[0.3], [0.5]], [[0.9], [0.4]]])).round(4).tolist()
    [0.6667]
    """
    contradictions, both = np.zeros(scores.shape[2]), np.zeros(scores.shape[2])
    for one, other in combinations(range(scores.shape[1]), 2):
        with np.errstate(invalid="ignore"):
            first = (scores[:, one] > scores[:, other]).sum(axis=0).astype(np.float64)
            second = (scores[:, one] < scores[:, other]).sum(axis=0).astype(np.float64)
        votes = first + second
        contradictions += first * second
        both += votes * (votes - 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = contradictions / both
    return share
