"""Agreement over systems: few values, one a system, that are resampled as a whole."""

from collections.abc import Iterable, Sequence
from itertools import permutations
from math import factorial

import numpy as np
import numpy.typing as npt

from metaeval.stats.resampling.items import Floats, centred
from metaeval.stats.significance.paired_bootstrap import share_as_extreme


def pairwise_accuracies(
    scores: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike
) -> Floats:
    """The share of pairs of n systems that scores and people order alike, for weights [r, n].

    A pair that both tie counts as ordered alike, one that only one of them ties does not (Kocmi et
    al. 2021). The weight of a pair is the product of its systems' weights: a system and its copy in
    a resample are not a pair. NaN where no pair is left.

    >>> pairwise_accuracies([1, 2, 3], [1, 3, 2], [[1, 1, 1], [2, 1, 0]]).round(3).tolist()
    [0.667, 1.0]
    """
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    alike = np.sign(x[:, None] - x) == np.sign(y[:, None] - y)
    np.fill_diagonal(alike, False)
    with np.errstate(invalid="ignore"):
        return ((w @ alike) * w).sum(axis=1) / ((w @ ~np.eye(len(x), dtype=bool)) * w).sum(axis=1)


def permutation_p(
    scores: npt.ArrayLike, human: npt.ArrayLike, *, arrangements: int = 50_000, seed: int = 0
) -> float:
    """Two-sided p-value of "Pearson's r is 0", by giving people's values to other systems.

    The share of arrangements whose |r| is at least the observed one. All n! are tried where they
    are at most `arrangements` (n = 8: 40,320); otherwise that many random ones, and the observed
    one is counted among them. NaN for a constant.

    >>> permutation_p([1, 2, 3, 4], [1, 2, 3, 4])
    0.08333333333333333
    """
    x, y = centred(np.asarray(scores, float)), centred(np.asarray(human, float))
    n = len(x)
    if not x.any() or not y.any():
        return float("nan")
    if factorial(n) <= arrangements:  # the first is the observed one, which is counted below
        orders = np.array(list(permutations(range(n))))[1:]
    else:
        rng = np.random.default_rng(seed)
        orders = rng.permuted(np.tile(np.arange(n), (arrangements, 1)), axis=1)
    return share_as_extreme(abs(float(x @ y)), abs(x[orders] @ y))


def rank_clusters(order: Sequence[str], apart: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Ranks by clusters: name → 1 for the first cluster, 2 for the next, and so on.

    `apart` are the pairs that a test separates. Going down the ranking, a column joins the current
    cluster until one is separated from any member; that one opens the next cluster. As in the
    metrics task of WMT 2023.

    >>> rank_clusters(["x", "y", "z"], [("x", "z")])
    {'x': 1, 'y': 1, 'z': 2}
    """
    separated = {frozenset(pair) for pair in apart}
    ranks: dict[str, int] = {}
    cluster: list[str] = []
    rank = 1
    for name in order:
        if any(frozenset((name, member)) in separated for member in cluster):
            rank, cluster = rank + 1, []
        cluster.append(name)
        ranks[name] = rank
    return ranks
