"""Raters and the ceiling: their agreement and reliability, and whether a metric replaces one."""

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import NAMES, correlation
from metaeval.stats.correlation.kendall import concordance
from metaeval.stats.resampling.bootstrap import (
    Counts,
    bootstrap_counts,
    percentile_interval,
    resampled_sums,
)
from metaeval.stats.resampling.items import Floats, Ints, encode, scaled, without_rounding

_CERTAIN = 1e-6


class SortedRows(NamedTuple):
    """What `sorted_rows` returns.

    Attributes
    ----------
    sorted_share
        Share of the rows with at least two distinct ratings that ascend (or descend) throughout.
    are_sorted
        Whether all of them do, and chance does so with a probability below one in a million: the
        columns are then minimum … maximum, and not raters.
    n
        How many rows have at least two distinct ratings.
    """

    sorted_share: float
    are_sorted: bool
    n: int


def sorted_rows(ratings: npt.ArrayLike) -> SortedRows:
    """Whether the ratings [n, raters] were sorted within each row, so that identity is lost.

    NaN = no rating; the others of the row are compared.

    >>> sorted_rows([[1, 2, 2], [1, 3, 4]] * 10)
    SortedRows(sorted_share=1.0, are_sorted=True, n=20)
    >>> sorted_rows([[1, 2, 2], [3, 1, 4]] * 10).are_sorted
    False
    """
    table = _table(ratings)
    best = SortedRows(0.0, False, 0)
    for direction in (1, -1):
        ascending, n, log_chance = 0, 0, 0.0
        for row in table * direction:
            given = row[~np.isnan(row)]
            _, times = np.unique(given, return_counts=True)
            if len(times) < 2:
                continue
            n += 1
            ascending += bool((np.diff(given) >= 0).all())
            log_chance += float(gammaln(times + 1).sum() - gammaln(len(given) + 1))
        if n and ascending / n >= best.sorted_share:
            certain = ascending == n and log_chance < math.log(_CERTAIN)
            best = SortedRows(ascending / n, certain, n)
    return best


class RaterAgreement(NamedTuple):
    """What `rater_agreement` returns.

    Attributes
    ----------
    value
        Mean agreement of one rater with the others: what a metric has to reach to replace one.
    per_rater
        float64 [raters]; NaN each where raters are taken as exchangeable.
    exchangeable
        Whether the value is an expectation over which rating of a row is left out.
    n, raters
        How many rows took part, and how many raters there are.
    """

    value: float
    per_rater: Floats
    exchangeable: bool
    n: int
    raters: int


def rater_agreement(
    ratings: npt.ArrayLike,
    statistic: str = "kendall_tau_c",
    *,
    identified: bool = False,
    averaged: bool = False,
) -> RaterAgreement:
    """Agreement of one rater with the remaining ones.

    Parameters
    ----------
    ratings
        float64 [n, raters], all rows complete; rows with NaN are left out.
    statistic
        One of `correlations.NAMES`.
    identified
        Whether a column is one rater throughout. By default it is not: the value is then the
        expectation over which rating of each row is left out, and does not depend on the order of
        the columns.
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
    Raises
        InputError where `identified` ratings are sorted within rows (`sorted_rows`).

    Examples
    --------
    >>> ratings = [[1, 1, 2], [2, 3, 3], [1, 2, 2], [4, 4, 4]]
    >>> result = rater_agreement(ratings, "spearman")
    >>> result.exchangeable, result.raters, round(result.value, 2)
    (True, 3, 0.75)
    """
    if statistic not in NAMES:
        raise InputError(f"unknown statistic '{statistic}': {', '.join(NAMES)}", field="statistic")
    table = _table(ratings)
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if k < 2 or n < 2:
        return RaterAgreement(float("nan"), np.full(k, np.nan), not identified, n, k)
    if identified and sorted_rows(table).are_sorted:
        raise InputError(
            "the ratings ascend within every row: columns are not raters; use identified=False",
            field="ratings",
        )
    left, right, row = [], [], []
    for j in range(k):
        others = np.delete(table, j, axis=1)
        compared: Floats = (
            without_rounding(others.mean(axis=1, keepdims=True)) if averaged else others
        )
        left.append(np.repeat(table[:, j], compared.shape[1]))
        right.append(compared.ravel())
        row.append(np.repeat(np.arange(n), compared.shape[1]))
    if identified:
        each = [correlation(statistic, a, b) for a, b in zip(left, right, strict=True)]
        return RaterAgreement(float(np.mean(each)), np.array(each), False, n, k)
    x, y, of = np.concatenate(left), np.concatenate(right), np.concatenate(row)
    if statistic.startswith("kendall"):
        value = _tau_between_rows(x, y, of, k, statistic)
    else:
        value = correlation(statistic, x, y)
    return RaterAgreement(value, np.full(k, np.nan), True, n, k)


def _tau_between_rows(x: Floats, y: Floats, row: Ints, k: int, statistic: str) -> float:
    """τ of a random choice a row: pairs of choices of the same row (of k) count only within one."""
    total = concordance(x, y)
    # choices j and j' of one row never occur together, unless j = j'
    within = np.zeros(3)
    size = len(x) // (k * (int(row.max()) + 1))
    order = np.argsort(row, kind="stable")
    a, b = (v[order].reshape(-1, k, size) for v in (x, y))
    for j in range(k):
        for other in range(j + 1, k):
            da = a[:, j, :, None] - a[:, other, None, :]
            db = b[:, j, :, None] - b[:, other, None, :]
            signs = np.sign(da) * np.sign(db)
            within += [float(signs.sum()), float((da != 0).sum()), float((db != 0).sum())]
    same = np.zeros(3)
    for j in range(k):
        upper = np.triu_indices(size, 1)
        da = a[:, j, upper[0]] - a[:, j, upper[1]]
        db = b[:, j, upper[0]] - b[:, j, upper[1]]
        signs = np.sign(da) * np.sign(db)
        same += [float(signs.sum()), float((da != 0).sum()), float((db != 0).sum())]
    all_pairs = np.array([total.surplus, total.untied_x, total.untied_y], dtype=np.float64)
    # a pair of different rows is drawn with 1/k², a pair inside one choice with 1/k
    surplus, untied_x, untied_y = (all_pairs - within - same) / k**2 + same / k
    if statistic == "kendall_tau_b":
        return float(surplus / math.sqrt(untied_x * untied_y)) if untied_x * untied_y else math.nan
    m, n = min(len(np.unique(x)), len(np.unique(y))), len(x) / k
    return float(2 * surplus / n**2 * m / (m - 1)) if m > 1 else math.nan


class DisattenuatedCorrelation(NamedTuple):
    """What `disattenuated_correlation` returns.

    Attributes
    ----------
    r, low, high
        Pearson's r of the scores with the mean rating, and its interval by image.
    corrected, corrected_low, corrected_high
        r / √reliability: the correlation with ratings free of noise. It can exceed 1 by chance.
    ceiling
        √reliability: the highest r that scores without noise of their own can reach.
    reliability
        ICC(1, k) of the mean rating.
    n, raters
        How many items are complete, and the ratings of each.
    """

    r: float
    low: float
    high: float
    corrected: float
    corrected_low: float
    corrected_high: float
    ceiling: float
    reliability: float
    n: int
    raters: int


def disattenuated_correlation(
    scores: npt.ArrayLike,
    ratings: npt.ArrayLike,
    image: npt.ArrayLike | None = None,
    *,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> DisattenuatedCorrelation:
    """Pearson's r with the mean rating, its noise ceiling, and r free of the raters' noise.

    Values of benchmarks with few and with many raters become comparable.

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
    >>> round(result.r, 1), round(result.corrected, 1)  # 0.71 is the truth
    (0.6, 0.7)
    """
    x, table = np.asarray(scores, dtype=np.float64), _table(ratings)
    labels, unit = encode(np.arange(len(x)) if image is None else image)
    if x.shape != (len(table),) or unit.shape != x.shape:
        raise InputError(f"{x.shape} scores for ratings {table.shape}", field="scores")
    known = ~(np.isnan(x) | np.isnan(table).any(axis=1))
    n, k = int(known.sum()), table.shape[1]
    if n < 3:
        nan = math.nan
        return DisattenuatedCorrelation(nan, nan, nan, nan, nan, nan, nan, nan, n, k)
    x, table, unit = x[known], table[known], unit[known]
    x = scaled(x)
    x = x - x.mean()
    mean = table.mean(axis=1)
    inside = ((table - mean[:, None]) ** 2).sum(axis=1)
    mean = mean - mean.mean()
    parts = (np.ones(n), x, mean, x * x, mean * mean, x * mean, inside)
    by_unit = [np.bincount(unit, p, minlength=len(labels)).astype(np.float64) for p in parts]
    sums = np.stack(by_unit, axis=1)
    if counts is None:
        counts = bootstrap_counts(len(labels), replicates, seed)
    r, reliability = _r_and_icc(sums.sum(axis=0, keepdims=True), k)
    drawn, drawn_reliability = _r_and_icc(resampled_sums(sums, counts), k)
    with np.errstate(invalid="ignore"):
        corrected = drawn / np.sqrt(drawn_reliability)
        value = float(r[0] / np.sqrt(reliability[0]))
        ceiling = float(np.sqrt(reliability[0]))
    images = len(np.unique(unit))
    low, high = percentile_interval(drawn, confidence, images)
    corrected_low, corrected_high = percentile_interval(corrected, confidence, images)
    return DisattenuatedCorrelation(
        float(r[0]),
        low,
        high,
        value,
        corrected_low,
        corrected_high,
        ceiling,
        float(reliability[0]),
        n,
        k,
    )


def _r_and_icc(sums: Floats, k: int) -> tuple[Floats, Floats]:
    """r and ICC(1, k) [replicates] from the sums that `disattenuated_correlation` makes."""
    n, x, y, xx, yy, xy, inside = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = xx - x * x / n, yy - y * y / n
        r = (xy - x * y / n) / np.sqrt(np.maximum(vx * vy, 0))
        between, within = k * vy / (n - 1), inside / (n * (k - 1))
        icc = np.where(between > within, (between - within) / between, np.nan)
    return np.asarray(r), icc


def _table(ratings: npt.ArrayLike) -> Floats:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InputError(
            f"ratings of shape {table.shape} are not finite [n, raters]", field="ratings"
        )
    return table


LEAST_ITEMS = 30

Closeness = Literal["rmse", "accuracy"]


class AltTest(NamedTuple):
    """What `alt_test` returns.

    Attributes
    ----------
    winning_rate
        ω: the share of raters against whom the metric wins significantly.
    passes
        Whether ω is at least one half: the metric may replace a rater.
    advantage
        ρ: the mean over raters of the probability that the metric is at least as close to the
        other raters as the left-out one.
    p
        float64 [raters], one-sided; NaN for a rater with too few items.
    wins
        bool [raters], after Benjamini and Yekutieli's correction.
    n_items
        int [raters].
    """

    winning_rate: float
    passes: bool
    advantage: float
    p: Floats
    wins: npt.NDArray[np.bool_]
    n_items: npt.NDArray[np.int64]


def alt_test(
    metric: npt.ArrayLike,
    ratings: npt.ArrayLike,
    *,
    closeness: Closeness = "rmse",
    epsilon: float = 0.2,
    q: float = 0.05,
    least_items: int = LEAST_ITEMS,
) -> AltTest:
    """Compare a metric with each rater by their closeness to all other raters.

    Parameters
    ----------
    metric
        float64 [n], **on the raters' scale** (`preference.isotonic.to_rating_scale` maps a score
        there without seeing the item's own image); NaN = the item is left out.
    ratings
        float64 [n, raters]: each column one person; NaN = not rated by that person.
    closeness
        "rmse": minus the root mean squared difference from the other ratings; "accuracy": the share
        of the other ratings that are equal.
    epsilon
        How much worse than a rater the metric may be, as it costs less: .2 for experts, .15 for
        trained raters and .1 for crowd workers are the source's advice.
    q
        False discovery rate over the raters.
    least_items
        Raters with fewer items (that another rater has rated too) are left out.

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

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(1, 6, 200)
    >>> ratings = truth[:, None] + rng.integers(-1, 2, (200, 3))
    >>> good, poor = alt_test(truth, ratings), alt_test(rng.integers(1, 6, 200), ratings)
    >>> good.passes, good.winning_rate, poor.passes
    (True, 1.0, False)
    """
    score, table = np.asarray(metric, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or score.shape != table.shape[:1]:
        raise InputError(f"{score.shape} scores for ratings {table.shape}", field="metric")
    if table.shape[1] < 2 or sorted_rows(table).are_sorted:
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
        if sizes[j] < least_items:
            continue
        of_metric = _closeness(score[rows], others[rows], closeness)
        of_rater = _closeness(table[rows, j], others[rows], closeness)
        metric_wins = (of_metric >= of_rater).astype(np.float64)
        gap = (of_rater >= of_metric) - metric_wins
        p[j], wins_over[j] = _less_than(gap, epsilon), metric_wins.mean()
    tested = ~np.isnan(wins_over)
    if not tested.any():
        raise InputError(
            f"no rater has {least_items} items that another has rated too; the most is "
            f"{int(sizes.max(initial=0))}",
            field="ratings",
        )
    wins = np.zeros(k, dtype=np.bool_)
    wins[tested] = benjamini_yekutieli(p[tested], q)
    rate = float(wins[tested].mean())
    return AltTest(rate, rate >= 0.5, float(wins_over[tested].mean()), p, wins, sizes)


def benjamini_yekutieli(p_values: npt.ArrayLike, q: float = 0.05) -> npt.NDArray[np.bool_]:
    """Which hypotheses are rejected at false discovery rate q, under any dependence.

    Source: Y. Benjamini and D. Yekutieli (2001), Annals of Statistics 29.

    >>> benjamini_yekutieli([0.001, 0.02, 0.04]).tolist()
    [True, False, False]
    """
    p = np.asarray(p_values, dtype=np.float64)
    m = len(p)
    order = np.argsort(p, kind="stable")
    harmonic = (1 / np.arange(1, m + 1)).sum()
    below = np.flatnonzero(p[order] <= np.arange(1, m + 1) / m * q / harmonic)
    rejected = np.zeros(m, dtype=np.bool_)
    if len(below):
        rejected[order[: below[-1] + 1]] = True
    return rejected


def _closeness(value: Floats, others: Floats, kind: Closeness) -> Floats:
    if kind == "accuracy":
        equal = np.where(np.isnan(others), np.nan, others == value[:, None])
        return np.asarray(np.nanmean(equal, axis=1))
    return np.asarray(-np.sqrt(np.nanmean((others - value[:, None]) ** 2, axis=1)))


def _less_than(values: Floats, bound: float) -> float:
    """One-sided p-value of the t-test that the mean is below the bound."""
    from scipy.special import stdtr

    n, sd = len(values), float(values.std(ddof=1))
    gap = float(values.mean()) - bound
    if sd == 0:
        return 0.0 if gap < 0 else 1.0
    return float(stdtr(n - 1, gap / (sd / math.sqrt(n))))
