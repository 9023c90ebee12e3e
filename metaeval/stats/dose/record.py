"""What statistics.json and a sweep contain about a metric's scores by dose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.stats.dose.response import DoseResponse, dose_response
from metaeval.stats.resampling.bootstrap import Counts, IntervalEstimate, interval_estimate
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.means import resampled_means
from metaeval.stats.resampling.replicates import rank_order_replicates

RHO_REPLICATES = 200  # of the pooled ρ at a dose: of each seed and dose it takes 7 ms


class DoseRecord(NamedTuple):
    """What `dose_record` returns: the response, and how each dose above 0 differs from dose 0.

    Attributes
    ----------
    rho
        [k − 1]: the pooled rank-order ρ of the versions at the dose (lower) and at dose 0 (higher),
        in [-1, 1]; the mean over seeds. Of two versions of n images it is 2 h / n − 1, h of the n
        highest scores being those of dose 0. The interval is over the first RHO_REPLICATES of
        `counts`.
    rho_seed_sd
        [k − 1]: its standard deviation (n − 1) over seeds; `None` with one seed.
    within
        [k − 1]: the same of each image alone, averaged: the share of images that score higher at
        dose 0 minus that of those that score lower.
    """

    response: DoseResponse
    rho: list[IntervalEstimate]
    rho_seed_sd: list[float | None]
    within: list[IntervalEstimate]


def dose_record(
    scores: npt.ArrayLike,
    doses: npt.ArrayLike,
    counts: Counts,
    *,
    floor: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> DoseRecord:
    """The dose response of a metric, and its ρ at each dose. Arguments as in `dose_response`."""
    values = np.asarray(scores, dtype=np.float64)
    response = dose_response(values, doses, counts, floor=floor, confidence=confidence)
    rho: list[IntervalEstimate] = []
    rho_seed_sd: list[float | None] = []
    # the replicate that holds every image once comes first: it is the statistic itself
    once = np.ones((1, counts.shape[1]), dtype=counts.dtype)
    few = np.vstack([once, counts[:RHO_REPLICATES]])
    known: npt.NDArray[np.bool_] = np.asarray(~np.isnan(values).any(axis=0))  # [images, doses]
    for k in range(1, values.shape[2]):
        by_seed = [rank_order_replicates(v[:, [k, 0]], [0, 1], few) for v in values]
        resampled = np.mean(by_seed, axis=0)
        n = int((known[:, k] | known[:, 0]).sum())
        rho.append(interval_estimate(float(resampled[0]), resampled[1:], confidence, n))
        seeds = [rhos[0] for rhos in by_seed]
        rho_seed_sd.append(float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None)
    # the rank-order ρ of two versions of an image
    signs = np.sign(values[:, :, :1] - values[:, :, 1:]).mean(axis=0)
    within = [
        interval_estimate(_mean(column), replicates, confidence, int((~np.isnan(column)).sum()))
        for column, replicates in zip(signs.T, resampled_means(signs, counts).T, strict=True)
    ]
    return DoseRecord(response, rho, rho_seed_sd, within)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
