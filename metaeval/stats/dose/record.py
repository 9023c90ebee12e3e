"""What statistics.json and a sweep contain about a metric's scores by dose."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.stats.dose.response import dose_response
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.means import resampled_means
from metaeval.stats.resampling.replicates import rank_order_replicates

RHO_REPLICATES = 200  # of the pooled ρ at a dose: of each seed and dose it takes 7 ms


def dose_record(
    scores: npt.ArrayLike,
    doses: npt.ArrayLike,
    counts: Counts,
    *,
    floor: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """The fields of `DoseResponse`, and how each dose above 0 differs from dose 0.

    Arguments as in `dose_response`. Added are, each a list of k − 1:

    rho, rho_ci, rho_seed_sd
        The pooled rank-order ρ of the versions at the dose (lower) and at dose 0 (higher), in
        [-1, 1]; the mean over seeds. Of two versions of n images it is 2 h / n − 1, h of the n
        highest scores being those of dose 0. The interval is over the first RHO_REPLICATES of
        `counts`.
    within, within_ci
        The same of each image alone, averaged: the share of images that score higher at dose 0
        minus that of those that score lower.
    """
    values = np.asarray(scores, dtype=np.float64)
    response = dose_response(values, doses, counts, floor=floor, confidence=confidence)
    record: dict[str, list[Any]] = {
        key: [] for key in ("rho", "rho_ci", "rho_seed_sd", "within", "within_ci")
    }
    # the replicate that holds every image once comes first: it is the statistic itself
    once = np.ones((1, counts.shape[1]), dtype=counts.dtype)
    few = np.vstack([once, counts[:RHO_REPLICATES]])
    for k in range(1, values.shape[2]):
        by_seed = [rank_order_replicates(v[:, [k, 0]], [0, 1], few) for v in values]
        resampled = np.mean(by_seed, axis=0)
        record["rho"].append(float(resampled[0]))
        record["rho_ci"].append(percentile_interval(resampled[1:], confidence))
        seeds = [rhos[0] for rhos in by_seed]
        record["rho_seed_sd"].append(float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None)
    # the rank-order ρ of two versions of an image
    within = np.sign(values[:, :, :1] - values[:, :, 1:]).mean(axis=0)
    record["within"] = [_mean(column) for column in within.T]
    record["within_ci"] = [
        percentile_interval(replicates, confidence)
        for replicates in resampled_means(within, counts).T
    ]
    return {
        "n": response.n,
        "n_seeds": response.n_seeds,
        "change": response.change.tolist(),
        "change_ci": response.change_ci.tolist(),
        "seed_sd": response.seed_sd.tolist() if response.n_seeds > 1 else None,
        "floor": response.floor,
        "floor_ci": response.floor_ci,
        "trend_p": response.trend_p,
        "falls_throughout": response.falls_throughout,
        "rises": response.rises,
        "half_effect": response.half._asdict(),
        **record,
    }


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
