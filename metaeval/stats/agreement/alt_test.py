"""The alternative annotator test: may a metric replace a human rater?"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.agreement.ceiling import sorted_rows
from metaeval.stats.resampling.items import Floats

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
