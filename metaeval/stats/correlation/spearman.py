"""Spearman's rank correlation between the level of a caption and its score.

The pattern of every statistic here: a function of arrays that returns a named tuple, whose
docstring says the definition, the tie rule, what happens to items without a score, the resampling
unit of its interval, and the source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from metaeval.stats.correlation.ranks import midranks
from metaeval.stats.resampling.items import scored_items


class Spearman(NamedTuple):
    """What `spearman` returns.

    Attributes
    ----------
    rho
        The correlation, in [-1, 1]; NaN where it is undefined: fewer than two items, or all scores
        equal, or all levels equal.
    n
        Number of scored items.
    """

    rho: float
    n: int


def spearman(scores: npt.ArrayLike, levels: npt.ArrayLike) -> Spearman:
    """Spearman's ρ: Pearson's correlation of the ranks of the scores with the ranks of the levels.

    With few levels there are long runs of equal levels, so ρ stays below 1 only by what the scores
    get wrong *between* levels and by the spread they have *within* one: four levels of equal size,
    all scores distinct and perfectly ordered, give √(15/16) ≈ 0.968. It is therefore not the
    rank-order ρ of `metaeval.stats.correlation.rank_order`, which reaches 1 for such scores.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], or any other shape. NaN = not scored.
    levels
        [n_sets], or the shape of `scores` (human judgements); more is better. Equal levels are one
        level.

    Returns
    -------
    Spearman
        `rho` and `n`.

    Raises
    ------
    InputError
        For infinite scores, or shapes that do not fit.

    Notes
    -----
    Definition
        ρ = cov(r, q) / (σ_r σ_q) with r, q the midranks of scores and levels over all scored items.
    Ties
        Equal values share the mean of their ranks (midranks), on both sides.
    Missing
        An item without a score is left out; the other versions of its image stay.
    Interval
        `graded_statistics` resamples whole images, since the versions of one image share their
        difficulty. The statistic itself has no random part and takes no seed.
    Source
        C. Spearman (1904), The proof and measurement of association between two things, American
        Journal of Psychology 15; for ties, M. G. Kendall (1945), The treatment of ties in ranking
        problems, Biometrika 33. Equal to `scipy.stats.spearmanr` to 1e-12 (tested).

    Examples
    --------
    Three images, each with a corrupted and an intact caption:

    >>> from metaeval.stats.correlation.spearman import spearman
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> result = spearman(scores, levels=[0, 1])
    >>> round(result.rho, 4), result.n
    (0.6831, 6)
    """
    items = scored_items(scores, levels)
    n = len(items.scores)
    if n < 2:
        return Spearman(float("nan"), n)
    # The mean rank is (n + 1) / 2 with and without ties, so centring is exact.
    r = midranks(items.scores) - (n + 1) / 2
    q = midranks(items.levels) - (n + 1) / 2
    spread = float((r * r).sum()) * float((q * q).sum())
    if spread == 0:
        return Spearman(float("nan"), n)
    return Spearman(float((r * q).sum()) / spread**0.5, n)
