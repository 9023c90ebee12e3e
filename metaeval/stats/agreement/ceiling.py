"""Raters and the ceiling: their agreement and reliability, and whether a metric replaces one."""

import math
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, stdtr
from scipy.stats import false_discovery_control

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import NAMES, correlation, pearson_of_sums
from metaeval.stats.correlation.kendall import concordance
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    complete_items,
    interval_estimate,
    resampled_sums,
    sums_by_unit,
)
from metaeval.stats.resampling.items import Floats, Ints, scaled, without_rounding

_CERTAIN = 1e-6


def sorted_rows(ratings: npt.ArrayLike) -> bool:
    """Whether the ratings [n, raters] were sorted within each row, so that identity is lost.

    All rows with at least two distinct ratings ascend (or descend) throughout, and chance does so
    with a probability below one in a million: the columns are then minimum … maximum, and not
    raters. NaN = no rating; the others of the row are compared.

    >>> sorted_rows([[1, 2, 2], [1, 3, 4]] * 10), sorted_rows([[1, 2, 2], [3, 1, 4]] * 10)
    (True, False)
    """
    rows = [row[~np.isnan(row)] for row in _table(ratings)]
    times = [np.unique(row, return_counts=True)[1] for row in rows]
    log_chance = sum(gammaln(t + 1).sum() - gammaln(t.sum() + 1) for t in times)
    ordered = any(all((sign * np.diff(row) >= 0).all() for row in rows) for sign in (1, -1))
    return ordered and bool(log_chance < math.log(_CERTAIN))


def rater_agreement(
    ratings: npt.ArrayLike,
    statistic: str = "kendall_tau_c",
    *,
    averaged: bool = False,
) -> float:
    """Agreement of one rater with the remaining ones: what a metric has to reach to replace one.

    Raters are exchangeable: the value is the expectation over which rating of each row is left out,
    and does not depend on the order of the columns.

    Parameters
    ----------
    ratings
        float64 [n, raters], all rows complete; rows with NaN are left out.
    statistic
        One of `correlations.NAMES`.
    averaged
        Compare with the mean of the others; by default with each other rating, as a row of its own,
        as metrics are compared with ratings that are not averaged.

    Notes
    -----
    Definition
        Kendall's τ: expected concordant minus discordant pairs over independent choices in the two
        rows of a pair, over the denominator that the stacked choices have on average. Pearson and
        Spearman: of all choices stacked.
    Ties
        Those of the statistic.

    Examples
    --------
    >>> ratings = [[1, 1, 2], [2, 3, 3], [1, 2, 2], [4, 4, 4]]
    >>> round(rater_agreement(ratings, "spearman"), 2)
    0.75
    """
    if statistic not in NAMES:
        raise InputError(f"unknown statistic '{statistic}': {', '.join(NAMES)}", field="statistic")
    table = _table(ratings)
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if k < 2 or n < 2:
        return math.nan
    left, right, row = [], [], []
    for j in range(k):
        others = np.delete(table, j, axis=1)
        compared: Floats = (
            without_rounding(others.mean(axis=1, keepdims=True)) if averaged else others
        )
        left.append(np.repeat(table[:, j], compared.shape[1]))
        right.append(compared.ravel())
        row.append(np.repeat(np.arange(n), compared.shape[1]))
    x, y, of = np.concatenate(left), np.concatenate(right), np.concatenate(row)
    if statistic.startswith("kendall"):
        return _tau_between_rows(x, y, of, k, statistic)
    return correlation(statistic, x, y)


def _tau_between_rows(x: Floats, y: Floats, row: Ints, k: int, statistic: str) -> float:
    """τ of a random choice a row: pairs of choices of the same row (of k) count only within one."""
    total = concordance(x, y)
    # choices j and j' of one row never occur together, unless j = j'
    within, same = np.zeros(3), np.zeros(3)
    size = len(x) // (k * (int(row.max()) + 1))
    order = np.argsort(row, kind="stable")
    a, b = (v[order].reshape(-1, k, size) for v in (x, y))
    for j, other in combinations_with_replacement(range(k), 2):
        da, db = (v[:, j, :, None] - v[:, other, None, :] for v in (a, b))
        signs = np.sign(da) * np.sign(db)
        sums = np.array([float(v.sum()) for v in (signs, da != 0, db != 0)])
        if j == other:  # each pair is there twice
            same += sums / 2
        else:
            within += sums
    # a pair of different rows is drawn with 1/k², a pair inside one choice with 1/k
    surplus, untied_x, untied_y = (np.array(total) - within - same) / k**2 + same / k
    if statistic == "kendall_tau_b":
        return float(surplus / math.sqrt(untied_x * untied_y)) if untied_x * untied_y else math.nan
    m, n = min(len(np.unique(x)), len(np.unique(y))), len(x) / k
    return float(2 * surplus / n**2 * m / (m - 1)) if m > 1 else math.nan


def disattenuated_correlation(
    scores: npt.ArrayLike,
    ratings: npt.ArrayLike,
    image: npt.ArrayLike | None = None,
    *,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> IntervalEstimate:
    """Pearson's r with ratings free of the raters' noise, over the `n` complete items.

    Values of benchmarks with few and with many raters become comparable. It can exceed 1 by chance.

    Parameters
    ----------
    scores
        float64 [n]; NaN = left out.
    ratings
        float64 [n, raters]; rows with NaN are left out. Raters are exchangeable (ICC(1, k)).
    image
        [n] labels of the resampling unit; by default each item on its own.

    Notes
    -----
    Definition
        r / √ICC(1, k); both from the same resampled images in the interval.
    Source
        C. Spearman (1904), The proof and measurement of association between two things, American
        Journal of Psychology 15.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=3000)
    >>> ratings = truth[:, None] + rng.normal(size=(3000, 3))
    >>> result = disattenuated_correlation(truth + rng.normal(size=3000), ratings)
    >>> round(result.value, 1)  # 0.71 is the truth
    0.7
    """
    given = {f"rating {k}": rating for k, rating in enumerate(_table(ratings).T)}
    (x, *rated), unit, counts = complete_items(
        {"scores": scores, **given}, image, counts, replicates, seed
    )
    table, n, k = np.column_stack(rated), len(x), len(rated)
    if n < 3:
        return IntervalEstimate(math.nan, math.nan, math.nan, n)
    x = scaled(x)
    x = x - x.mean()
    mean = table.mean(axis=1)
    inside = ((table - mean[:, None]) ** 2).sum(axis=1)
    mean = mean - mean.mean()
    parts = (np.ones(n), x, mean, x * x, mean * mean, x * mean, inside)
    sums = sums_by_unit(parts, unit, counts)
    point = _disattenuated(sums.sum(axis=0, keepdims=True), k)
    drawn = _disattenuated(resampled_sums(sums, counts), k)
    return interval_estimate(float(point[0]), drawn, confidence, len(np.unique(unit)), n)


def _disattenuated(sums: Floats, k: int) -> Floats:
    """r / √ICC(1, k) [replicates] from the sums that `disattenuated_correlation` makes."""
    n, _, y, _, yy, _, inside = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        between, within = k * (yy - y * y / n) / (n - 1), inside / (n * (k - 1))
        icc = np.where(between > within, (between - within) / between, np.nan)
        return np.asarray(pearson_of_sums(sums[:, :6]) / np.sqrt(icc))


def _table(ratings: npt.ArrayLike) -> Floats:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InputError(
            f"ratings of shape {table.shape} are not finite [n, raters]", field="ratings"
        )
    return table


LEAST_ITEMS = 30
_FALSE_DISCOVERIES = 0.05


class AltTest(NamedTuple):
    """What `alt_test` returns.

    Attributes
    ----------
    winning_rate
        ω: the share of raters against whom the metric wins significantly, with a false discovery
        rate of .05 (Benjamini and Yekutieli). With one half or more it may replace a rater.
    advantage
        ρ: the mean over raters of the probability that the metric is at least as close to the
        other raters as the left-out one.
    p
        float64 [raters], one-sided; NaN for a rater with too few items.
    n_items
        int [raters].

    Notes
    -----
    Definition
        For rater j and item i, the metric wins (W_m = 1) where it is at least as close to the
        remaining raters as j; the rater (W_j = 1) where j is at least as close. A one-sided t-test
        of mean(W_j − W_m) < ε gives p_j. ω is the share of rejections.
    Ties
        Equal closeness counts for both.
    Unit
        The item.
    Source
        N. Calderon, R. Reichart, R. Dror (2025), The alternative annotator test for
        LLM-as-a-judge, ACL, arXiv 2501.10970.
    Raises
        InputError where ratings are sorted within rows (no identity), where there are fewer than
        two raters, or where no rater has enough items.
    """

    winning_rate: float
    advantage: float
    p: Floats
    n_items: npt.NDArray[np.int64]


def alt_test(metric: npt.ArrayLike, ratings: npt.ArrayLike, *, epsilon: float = 0.2) -> AltTest:
    """Compare a metric with each rater by their closeness to all other raters.

    Close is a small root mean squared difference from the other ratings of the item.

    Parameters
    ----------
    metric
        float64 [n], **on the raters' scale** (`preference.isotonic.to_rating_scale` maps a score
        there without seeing the item's own image); NaN = the item is left out.
    ratings
        float64 [n, raters]: each column one person; NaN = not rated by that person. Raters with
        fewer than `LEAST_ITEMS` items (that another rater has rated too) are left out.
    epsilon
        How much worse than a rater the metric may be, as it costs less: .2 for experts, .15 for
        trained raters and .1 for crowd workers are the source's advice.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(1, 6, 200)
    >>> ratings = truth[:, None] + rng.integers(-1, 2, (200, 3))
    >>> good, poor = alt_test(truth, ratings), alt_test(rng.integers(1, 6, 200), ratings)
    >>> good.winning_rate, poor.winning_rate
    (1.0, 0.0)
    """
    score, table = np.asarray(metric, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or score.shape != table.shape[:1]:
        raise InputError(f"{score.shape} scores for ratings {table.shape}", field="metric")
    if table.shape[1] < 2 or sorted_rows(table):
        raise InputError(
            "the alt-test needs two or more raters with identity; these ratings are single, or "
            "sorted within each row",
            field="ratings",
        )
    k = table.shape[1]
    p, wins_over = np.full(k, np.nan), np.full(k, np.nan)
    sizes = np.zeros(k, dtype=np.int64)
    for j in range(k):
        others = np.delete(table, j, axis=1)
        rows = ~np.isnan(score) & ~np.isnan(table[:, j]) & ~np.isnan(others).all(axis=1)
        sizes[j] = rows.sum()
        if sizes[j] < LEAST_ITEMS:
            continue
        of_metric, of_rater = (
            np.sqrt(np.nanmean((others[rows] - value[rows, None]) ** 2, axis=1))
            for value in (score, table[:, j])
        )
        metric_wins = (of_metric <= of_rater).astype(np.float64)
        gap = (of_rater <= of_metric) - metric_wins
        p[j], wins_over[j] = _less_than(gap, epsilon), metric_wins.mean()
    tested = ~np.isnan(wins_over)
    if not tested.any():
        raise InputError(
            f"no rater has {LEAST_ITEMS} items that another has rated too; the most is "
            f"{int(sizes.max(initial=0))}",
            field="ratings",
        )
    rate = float((false_discovery_control(p[tested], method="by") <= _FALSE_DISCOVERIES).mean())
    return AltTest(rate, float(wins_over[tested].mean()), p, sizes)


def _less_than(values: Floats, bound: float) -> float:
    """One-sided p-value of the t-test that the mean is below the bound."""
    with np.errstate(divide="ignore"):
        t = (values.mean() - bound) / (values.std(ddof=1) / np.sqrt(len(values)))
    return float(stdtr(len(values) - 1, t))
