"""On which images metrics contradict each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from metaeval.stats.resampling.items import Floats


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
