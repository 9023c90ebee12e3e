"""The three measures on a selection of images or levels, with intervals in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from metaeval.stats.correlation.rank_order import rank_order
from metaeval.stats.correlation.rank_order_within import rank_orders_within
from metaeval.stats.ordering.pairwise import monotone_flags, pair_counts
from metaeval.stats.resampling.bootstrap import MIN_UNITS, IntervalEstimate
from metaeval.stats.resampling.items import Floats, as_table


class SelectedRecord(NamedTuple):
    """What `selected_statistics` returns; the pooled ρ has no interval.

    The last three are means over images, so their interval is mean ± z · sd/√n, clipped to the
    range of the statistic; NaN below `MIN_UNITS` images. An image with a share of its pairs counts
    once, however many of them are scored.
    """

    n_images: int
    rank_order_rho: float
    rank_order_rho_within: IntervalEstimate
    pairwise_accuracy: IntervalEstimate
    monotone_rate: IntervalEstimate


def selected_statistics(
    scores: npt.ArrayLike, levels: npt.ArrayLike, *, confidence: float = 0.95
) -> SelectedRecord:
    """Rank-order ρ pooled and within an image, pairwise accuracy and monotone rate.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], higher is better; NaN = not scored.
    levels
        int [n_sets], 0 = worst.
    confidence
        Of the intervals, in (0, 1).

    Examples
    --------
    >>> record = selected_statistics([[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]], [0, 1])
    >>> record.n_images, round(record.pairwise_accuracy.value, 4)
    (3, 0.6667)
    """
    values, grades = as_table(scores, levels)
    pairs, flags = pair_counts(values, grades), monotone_flags(values, grades)
    total = pairs.correct + pairs.tied + pairs.inverted
    shares = np.where(total > 0, pairs.correct / np.maximum(total, 1), np.nan)
    monotone = np.where(flags.complete, flags.monotone.astype(np.float64), np.nan)
    return SelectedRecord(
        n_images=len(values),
        rank_order_rho=rank_order(values, grades).rho if len(values) else float("nan"),
        rank_order_rho_within=_mean(rank_orders_within(values, grades), -1.0, confidence),
        pairwise_accuracy=_mean(shares, 0.0, confidence),
        monotone_rate=_mean(monotone, 0.0, confidence),
    )


def _mean(per_image: Floats, lowest: float, confidence: float) -> IntervalEstimate:
    known = per_image[~np.isnan(per_image)]
    nan = float("nan")
    if not len(known):
        return IntervalEstimate(nan, nan, nan)
    mean = float(known.mean())
    if len(known) < MIN_UNITS:
        return IntervalEstimate(mean, nan, nan)
    half = float(ndtri((1 + confidence) / 2) * known.std(ddof=1) / np.sqrt(len(known)))
    return IntervalEstimate(mean, max(mean - half, lowest), min(mean + half, 1.0))
