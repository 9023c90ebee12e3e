"""One ranking over several benchmarks: average ranks, clusters, and how much the choice matters."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from metaeval.errors import InputError
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.resampling.items import Floats

_STREAM = 0xAC05


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


class AverageRank(NamedTuple):
    """What `average_rank` returns.

    Attributes
    ----------
    names
        The columns that every benchmark ranks, best average first.
    average
        float64 [columns]: the weighted mean of their ranks.
    without
        Benchmark → float64 [columns], the average over the other benchmarks.
    stability
        Benchmark → τ-b of that average with the complete one; 1 = the order does not depend on it.
    concordance, p
        Kendall's W in [0, 1] (1 = all benchmarks rank alike), and its permutation p-value of "the
        benchmarks have nothing in common".
    left_out
        Columns that a benchmark does not rank.
    """

    names: list[str]
    average: Floats
    without: dict[str, Floats]
    stability: dict[str, float]
    concordance: float
    p: float
    left_out: list[str]


def average_rank(
    ranks: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float] | None = None,
    *,
    replicates: int = 10_000,
    seed: int = 0,
) -> AverageRank:
    """The mean rank of each column over benchmarks, with a leave-one-benchmark-out check.

    Parameters
    ----------
    ranks
        Benchmark → column → rank (1 = best), from `rank_clusters` or any ranking.
    weights
        Benchmark → weight in the mean; by default all are equal.
    replicates, seed
        Of the permutation test: ranks are permuted within each benchmark.

    Notes
    -----
    Definition
        Ranks are first turned into midranks 1 … n over the columns that all benchmarks have, so
        that benchmarks with few and with many clusters count alike in W; the average is that of
        the given ranks. W = 12 S / (m² (n³ − n) − m Σ T), T the ties' correction.
    Source
        Average rank over tasks with clusters: M. Freitag et al. (2023), Results of WMT23 metrics
        shared task; W: M. G. Kendall and B. Babington Smith (1939), Annals of Mathematical
        Statistics 10.

    Examples
    --------
    >>> result = average_rank({"A": {"x": 1, "y": 2, "z": 3}, "B": {"x": 1, "y": 3, "z": 2}})
    >>> result.names, result.average.tolist(), result.concordance
    (['x', 'y', 'z'], [1.0, 2.5, 2.5], 0.75)
    """
    if not ranks:
        raise InputError("no benchmark is given", field="ranks")
    benchmarks = list(ranks)
    everywhere = [n for n in ranks[benchmarks[0]] if all(n in ranks[b] for b in benchmarks)]
    some = {name for b in benchmarks for name in ranks[b]}
    table = np.array([[ranks[b][n] for n in everywhere] for b in benchmarks], dtype=np.float64)
    weight = np.array([1.0 if weights is None else weights[b] for b in benchmarks])
    if not everywhere:
        raise InputError("no column is ranked by every benchmark", field="ranks")
    average = weight @ table / weight.sum()
    order = np.argsort(average, kind="stable")
    without, stability = {}, {}
    for k, name in enumerate(benchmarks):
        rest = np.delete(weight, k)
        if not rest.sum() > 0:
            continue
        means = rest @ np.delete(table, k, axis=0) / rest.sum()
        without[name] = means[order]
        stability[name] = kendall(means, average).tau
    w, p = _concordance(table, replicates, seed)
    return AverageRank(
        [everywhere[i] for i in order],
        average[order],
        without,
        stability,
        w,
        p,
        sorted(some - set(everywhere)),
    )


def _concordance(table: Floats, replicates: int, seed: int) -> tuple[float, float]:
    from scipy.stats import rankdata

    m, n = table.shape
    if m < 2 or n < 2:
        return math.nan, math.nan
    ranked = np.apply_along_axis(rankdata, 1, table)
    ties = 0.0
    for row in ranked:
        sizes = np.unique(row, return_counts=True)[1]
        ties += float((sizes**3 - sizes).sum())
    most = m * m * (n**3 - n) - m * ties
    if most <= 0:
        return math.nan, math.nan

    def spread(ranks: Floats) -> Floats:
        totals = ranks.sum(axis=-2)
        return np.asarray(((totals - totals.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1))

    observed = float(spread(ranked))
    rng = np.random.default_rng([_STREAM, seed])
    shuffled = rng.permuted(np.broadcast_to(ranked, (replicates, m, n)), axis=2)
    p = (1 + int((spread(shuffled) >= observed - 1e-9).sum())) / (1 + replicates)
    return 12 * observed / most, p
