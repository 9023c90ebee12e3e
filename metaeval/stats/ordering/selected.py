"""The three measures on a selection of images or levels, with intervals in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from metaeval.stats.correlation.rank_order import rank_order
from metaeval.stats.correlation.rank_order_within import rank_orders_within
from metaeval.stats.ordering.monotone import monotone_flags
from metaeval.stats.ordering.pairwise import pair_counts
from metaeval.stats.resampling.items import Floats, as_table


def selected_statistics(
    scores: npt.ArrayLike, levels: npt.ArrayLike, *, confidence: float = 0.95
) -> dict[str, Any]:
    """Rank-order ρ pooled and within an image, pairwise accuracy and monotone rate.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets], higher is better; NaN = not scored.
    levels
        int [n_sets], 0 = worst.
    confidence
        Of the intervals, in (0, 1).

    Returns
    -------
    dict
        `n_images`, `rank_order_rho` (no interval), and with intervals `rank_order_rho_within`,
        `pairwise_accuracy`, `monotone_rate`. The last three are means over images, so their
        interval is mean ± z · sd/√n, clipped to the range of the statistic; [NaN, NaN] below two
        images. An image with a share of its pairs counts once, however many of them are scored.

    Examples
    --------
    >>> record = selected_statistics([[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]], [0, 1])
    >>> record["n_images"], round(record["pairwise_accuracy"], 4)
    (3, 0.6667)
    """
    values, grades = as_table(scores, levels)
    pairs, flags = pair_counts(values, grades), monotone_flags(values, grades)
    total = pairs.correct + pairs.tied + pairs.inverted
    shares = np.where(total > 0, pairs.correct / np.maximum(total, 1), np.nan)
    monotone = np.where(flags.complete, flags.monotone.astype(np.float64), np.nan)
    record: dict[str, Any] = {
        "n_images": len(values),
        "rank_order_rho": rank_order(values, grades).rho if len(values) else float("nan"),
    }
    for name, per_image, lowest in (
        ("rank_order_rho_within", rank_orders_within(values, grades), -1.0),
        ("pairwise_accuracy", shares, 0.0),
        ("monotone_rate", monotone, 0.0),
    ):
        record[name], record[f"{name}_ci"] = _mean(per_image, lowest, confidence)
    return record


def _mean(per_image: Floats, lowest: float, confidence: float) -> tuple[float, list[float]]:
    known = per_image[~np.isnan(per_image)]
    nan = float("nan")
    if not len(known):
        return nan, [nan, nan]
    mean = float(known.mean())
    if len(known) < 2:
        return mean, [nan, nan]
    half = float(ndtri((1 + confidence) / 2) * known.std(ddof=1) / np.sqrt(len(known)))
    return mean, [max(mean - half, lowest), min(mean + half, 1.0)]
