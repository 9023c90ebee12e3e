"""All statistics of one metric over graded versions of captions: the record of statistics.json."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise as neighbours
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.crosstab import crosstab
from metaeval.stats.correlation.kendall import kendall_of
from metaeval.stats.correlation.rank_order import rank_order_of, tie_breaking_seeds
from metaeval.stats.correlation.rank_order_within import rank_orders_within
from metaeval.stats.correlation.spearman import spearman
from metaeval.stats.ordering.auc import adjacent_auc
from metaeval.stats.ordering.monotone import monotone
from metaeval.stats.ordering.pairwise import pairwise
from metaeval.stats.ordering.ties import tie_shares
from metaeval.stats.ordering.variance_parts import variance_parts
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats, as_table
from metaeval.stats.resampling.means import resampled_means
from metaeval.stats.resampling.replicates import Replicates, replicate_statistics

QUANTILES = ("0", "0.05", "0.25", "0.5", "0.75", "0.95", "1")


class ResampledGraded(NamedTuple):
    """What `graded_result` returns.

    Attributes
    ----------
    record
        What `graded_statistics` returns.
    resampled
        Each statistic in every replicate; of the same `counts`, those of two metrics are paired.
    within
        float64 [replicates]: the rank-order ρ within an image.
    """

    record: dict[str, Any]
    resampled: Replicates
    within: Floats


def graded_statistics(
    scores: npt.ArrayLike,
    levels: npt.ArrayLike,
    set_names: Sequence[str],
    *,
    higher_is_better: bool = True,
    counts: Counts | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    tie_seeds: int | Sequence[int] = 10,
    seed: int = 0,
    threads: int | None = None,
) -> dict[str, Any]:
    """Every statistic of one metric, each defined in the file of its name in this folder.

    Parameters
    ----------
    scores
        float64 [n_images, n_sets]. NaN = not scored: across-item statistics leave the item out,
        pairs within an image those that touch it, and the monotone rate the image.
    levels
        int [n_sets], 0 = worst. Sets at equal levels are one level, and are not compared.
    set_names
        [n_sets]
    higher_is_better
        If false, scores are negated before anything but the sets' means, spreads and quantiles.
    counts
        [replicates, n_images] from `bootstrap_counts`: the same for all metrics, so that their
        replicates can be paired. By default drawn from `replicates` and `seed`.
    confidence
        Of the percentile intervals, in (0, 1).
    tie_seeds
        The seeds of the random tie-breakings, or how many to derive from `seed`.
    threads
        See `replicate_statistics`; no number depends on it.

    Returns
    -------
    dict
        The keys of a record from `sets` to `inversion_rate_ci`. `std` has n − 1 in the denominator.
        What is undefined is NaN: Spearman's ρ and τ-b of constant scores (their rank-order ρ is 0),
        everything without scores, the standard deviation of one score. An interval is
        [low, high], or [NaN, NaN] where no replicate defines the statistic.

    Raises
    ------
    InputError
        For infinite scores and shapes that do not fit.

    Examples
    --------
    >>> from metaeval.stats.ordering.graded import graded_statistics
    >>> scores = [[0.1, 0.5], [0.2, 0.6], [0.4, 0.3]]
    >>> record = graded_statistics(scores, [0, 1], ["Random", "Human"], replicates=200)
    >>> round(record["rank_order_rho"], 4), round(record["pairwise_accuracy"], 4)
    (0.3333, 0.6667)
    """
    return graded_result(
        scores,
        levels,
        set_names,
        higher_is_better=higher_is_better,
        counts=bootstrap_counts(len(np.asarray(scores)), replicates, seed)
        if counts is None and len(np.asarray(scores))
        else counts,
        confidence=confidence,
        tie_seeds=tie_breaking_seeds(tie_seeds, seed) if isinstance(tie_seeds, int) else tie_seeds,
        threads=threads,
    ).record


def graded_result(
    scores: npt.ArrayLike,
    levels: npt.ArrayLike,
    set_names: Sequence[str],
    *,
    higher_is_better: bool = True,
    counts: Counts | None = None,
    confidence: float = 0.95,
    tie_seeds: Sequence[int] = (),
    threads: int | None = None,
) -> ResampledGraded:
    """`graded_statistics`, and the replicates from which metrics are compared in pairs."""
    values, grades = as_table(scores, levels)
    if len(set_names) != len(grades) or not len(grades) or not len(values):
        raise InputError(
            f"{len(set_names)} names for scores of shape {values.shape}", field="set_names"
        )
    if counts is None:
        counts = bootstrap_counts(len(values), 0, 0)
    sets = {
        str(name): {"level": int(level), **summary(column)}
        for name, level, column in zip(set_names, grades, values.T, strict=True)
    }
    if not higher_is_better:
        values = -values

    table = crosstab(values, grades)
    order = rank_order_of(table, tie_seeds)
    pairs = pairwise(values, grades)
    resampled = replicate_statistics(values, grades, counts, threads)
    rhos = rank_orders_within(values, grades)
    within = resampled_means(rhos, counts)
    of_images = rhos[~np.isnan(rhos)]
    parts = variance_parts(values, grades)

    def interval(replicate: Floats) -> list[float]:
        return percentile_interval(replicate, confidence)

    labels = [
        " + ".join(str(n) for n, grade in zip(set_names, grades, strict=True) if grade == level)
        for level in np.unique(grades)
    ]
    aucs = zip(adjacent_auc(values, grades), resampled.adjacent_auc, strict=True)
    steps = zip(neighbours(labels), aucs, strict=True)
    record = {
        "sets": sets,
        "rank_order_rho": order.rho,
        "rank_order_rho_ci": interval(resampled.rank_order_rho),
        "rank_order_rho_tie_mean": order.tie_mean,
        "rank_order_rho_tie_std": order.tie_std,
        "rank_order_rho_bounds": [order.worst, order.best],
        "rank_order_rho_within": float(of_images.mean()) if len(of_images) else float("nan"),
        "rank_order_rho_within_ci": interval(within),
        "spearman_rho": spearman(values, grades).rho,
        "spearman_rho_ci": interval(resampled.spearman_rho),
        "kendall_tau_b": kendall_of(table).tau,
        "kendall_tau_b_ci": interval(resampled.kendall_tau_b),
        "tie_fraction": tie_shares(table).items,
        "pairwise_accuracy": pairs.accuracy,
        "pairwise_accuracy_ci": interval(resampled.pairwise_accuracy),
        "pairwise_ties": pairs.ties,
        "adjacent_auc": [
            {"lower": lower, "upper": upper, "auc": step.auc, "ci": interval(replicate)}
            for (lower, upper), (step, replicate) in steps
        ],
        "monotone_rate": monotone(values, grades).rate,
        "monotone_rate_ci": interval(resampled.monotone_rate),
        "inversion_rate": pairs.inversions,
        "inversion_rate_ci": interval(resampled.inversion_rate),
        "variance": {"image": parts.image, "level": parts.level, "rest": parts.rest},
    }
    return ResampledGraded(record, resampled, within)


def summary(scores: Floats) -> dict[str, Any]:
    """Number, mean, standard deviation and quantiles of the scores of one set; NaN left out."""
    scored = scores[~np.isnan(scores)]
    nan = float("nan")
    if not len(scored):
        return {"n": 0, "mean": nan, "std": nan, "quantiles": dict.fromkeys(QUANTILES, nan)}
    quantiles = np.quantile(scored, [float(q) for q in QUANTILES])
    return {
        "n": len(scored),
        "mean": float(scored.mean()),
        "std": float(scored.std(ddof=1)) if len(scored) > 1 else nan,
        "quantiles": {q: float(x) for q, x in zip(QUANTILES, quantiles, strict=True)},
    }
