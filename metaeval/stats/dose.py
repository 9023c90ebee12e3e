"""Dose and response: how scores fall as a corruption's rate rises, within an image."""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.ordering.graded import replicate_statistics
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    interval_estimate,
    percentile_interval,
    percentile_intervals,
    resampled_means,
)
from metaeval.stats.resampling.items import Floats, as_scores, mean_of_known

NOT_REACHED, NO_FALL, NO_IMAGES = "not reached", "no fall", "no images"
FEW_IMAGES = "too few images"


class HalfEffect(NamedTuple):
    """The dose at which half of the whole effect is reached.

    Attributes
    ----------
    dose
        `None` where it is not defined: `why` says why.
    ci
        [low, high]; `None` instead of an end beyond the largest dose.
    why
        "not reached": half the effect lies beyond the largest dose. "no fall": the interval of the
        whole effect does not exclude 0 or a rise. "no images": none has every version scored.
        "too few images": fewer than `MIN_UNITS` have.
    """

    dose: float | None
    ci: list[float | None]
    why: str | None


class DoseResponse(NamedTuple):
    """What `dose_response` returns; k doses, the first of which is 0.

    Attributes
    ----------
    n, n_seeds
        Images with all their versions scored in every seed; seeds of the corruption.
    change, change_ci
        [k], [k, 2]: mean change from the untouched caption, in standard deviations within an image.
    seed_sd
        [k]: standard deviation (n − 1) of the change over seeds; NaN with one.
    floor, floor_ci
        The change of the floor; `None` without one.
    steps_ci
        [k − 1, 2]: intervals of the change from a dose to the next at `confidence`.
    steps_ci_all
        [k − 1, 2]: the same at a confidence that holds for all of them together (Bonferroni).
    trend_p
        p of Page's trend test (Page's L, normal approximation), that scores fall with the dose.
    half
        See `HalfEffect`.

    Notes
    -----
    Standardised within an image
        From each score the image's score at dose 0 is subtracted, and the difference is divided by
        the standard deviation (n in the denominator) of all the image's versions, the floor among
        them. Images weigh alike, whatever their difficulty, and curves of metrics have one unit. An
        image all of whose versions score the same counts 0. Of several seeds the mean is taken,
        image by image.
    Trend
        Page's L over the images, doses ranked within an image by midranks; the floor is left out.
        Its alternative is a fall somewhere and a rise nowhere: a small p does not show that the
        curve never rises; `steps_ci` does.
        E. B. Page (1963), Ordered hypotheses for multiple treatments, JASA 58.
    Half-effect dose
        The smallest dose at which the mean change, linear between doses, is half that of the floor,
        or without a floor half that of the largest dose. A replicate that does not get there lies
        beyond the largest dose.
    Resampling unit
        The image: an interval covers what other images would have given with these seeds; `seed_sd`
        what other seeds would have given with these images.
    """

    n: int
    n_seeds: int
    change: Floats
    change_ci: Floats
    seed_sd: Floats
    floor: float | None
    floor_ci: list[float] | None
    steps_ci: Floats
    steps_ci_all: Floats
    trend_p: float
    half: HalfEffect

    @property
    def falls_throughout(self) -> bool:
        """Whether the score falls at every step from a dose to the next.

        Every step's own interval lies below 0: no correction is needed where all must (the
        intersection–union test of R. L. Berger, 1982, Technometrics 24).
        """
        return self.n > 0 and bool((self.steps_ci[:, 1] < 0).all())

    @property
    def rises(self) -> list[int]:
        """The steps at which the score rises, by the intervals that hold for all together."""
        return np.flatnonzero(self.steps_ci_all[:, 0] > 0).tolist()


def dose_response(
    scores: npt.ArrayLike,
    doses: npt.ArrayLike,
    counts: Counts,
    *,
    floor: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> DoseResponse:
    """How the scores of one metric fall with the dose of a corruption.

    Parameters
    ----------
    scores
        float64 [n_seeds, n_images, k], more is better, a version a dose. NaN = not scored: the
        image is left out altogether, so that every dose is of the same images.
    doses
        [k], ascending, the first of them 0: the caption as it was.
    counts
        int [replicates, n_images] from `bootstrap_counts`.
    floor
        float64 [n_seeds, n_images]: the scores of a version that has nothing to do with the image.

    Examples
    --------
    >>> from metaeval.stats.resampling.bootstrap import bootstrap_counts
    >>> scores = [[[3.0, 2.0, 1.0], [6.0, 4.0, 2.0]] * 5]
    >>> response = dose_response(scores, [0, 0.5, 1], bootstrap_counts(10, 100, 0))
    >>> response.change.round(3).tolist(), response.half.dose, response.falls_throughout
    ([0.0, -1.225, -2.449], 0.5, True)
    """
    values, grid = _checked(scores, doses, counts)
    k = len(grid)
    if floor is not None:
        values = np.concatenate([values, as_scores(floor)[:, :, None]], axis=2)
    whole: npt.NDArray[np.bool_] = np.asarray(~np.isnan(values).any(axis=(0, 2)))
    by_seed = _standardised(np.where(whole[:, None], values, 0.0))
    by_seed[:, ~whole] = np.nan
    change = by_seed.mean(axis=0)
    replicates = _replicates(change, counts)
    n = int(whole.sum())
    if not n:
        return _nothing(k, len(values), floor is not None)
    intervals = partial(percentile_intervals, n_units=n)
    means = change[whole].mean(axis=0)
    steps = np.diff(replicates[:, :k], axis=1)
    seeds = by_seed[:, whole, :k].mean(axis=1)
    effect = percentile_interval(replicates[:, -1], confidence, n)
    return DoseResponse(
        n,
        len(values),
        means[:k],
        intervals(replicates[:, :k], confidence),
        seeds.std(axis=0, ddof=1) if len(seeds) > 1 else np.full(k, np.nan),
        None if floor is None else float(means[k]),
        None if floor is None else effect,
        intervals(steps, confidence),
        intervals(steps, 1 - (1 - confidence) / (k - 1)),
        _trend(change[whole, :k]),
        _half_effect(grid, means, replicates, effect, confidence),
    )


def _replicates(change: Floats, counts: Counts) -> Floats:
    """The replicates of mean changes [n_images, m]: no value is further than sqrt(m) of their
    standard deviations from their mean."""
    bound = float(2.0 ** np.ceil(np.log2(2 * np.sqrt(change.shape[1]))))
    return bound * resampled_means(change / bound, counts)


def _checked(scores: npt.ArrayLike, doses: npt.ArrayLike, counts: Counts) -> tuple[Floats, Floats]:
    """Scores and doses as arrays. Raises InputError where their shapes do not fit, or doses do not
    ascend from 0."""
    values, grid = as_scores(scores), np.asarray(doses, dtype=np.float64)
    if values.ndim != 3 or grid.shape != values.shape[2:] or not len(values):
        raise InputError(
            f"scores of shape {values.shape} and doses of shape {grid.shape} are not "
            "[n_seeds, n_images, k] and [k]",
            field="scores",
        )
    if len(grid) < 2 or grid[0] != 0 or (np.diff(grid) <= 0).any():
        raise InputError(f"{grid.tolist()} do not ascend from 0", field="doses")
    if counts.ndim != 2 or counts.shape[1] != values.shape[1]:
        raise InputError(f"{counts.shape} counts of {values.shape[1]} images", field="counts")
    return values, grid


def _standardised(values: Floats) -> Floats:
    """The change of every version from the first, in the image's standard deviations."""
    spread = values.std(axis=2, keepdims=True)
    change = values - values[:, :, :1]
    return np.divide(change, spread, out=np.zeros_like(change), where=spread > 0)


def _trend(change: Floats) -> float:
    """p of Page's test that the columns fall from the first to the last."""
    if change.shape[1] < 3 or len(change) < 2:  # Page's L is of three treatments and more
        return float("nan")
    from scipy.stats import page_trend_test  # slow to import: a second of every run's start

    return float(page_trend_test(change[:, ::-1], method="asymptotic").pvalue)


def _half_effect(
    doses: Floats, means: Floats, replicates: Floats, effect: list[float], confidence: float
) -> HalfEffect:
    """See `HalfEffect`; the last column of `means` and `replicates` is the whole effect."""
    if np.isnan(effect[1]):
        return HalfEffect(None, [None, None], FEW_IMAGES)
    if not effect[1] < 0:
        return HalfEffect(None, [None, None], NO_FALL)
    reached = _crossings(doses, means[None])[0]
    # nearest ranks: between a dose and one beyond the largest nothing can be interpolated
    tail = (1 - confidence) / 2
    reaching = _crossings(doses, replicates[~np.isnan(replicates).any(axis=1)])
    ends = np.quantile(reaching, [tail, 1 - tail], method="inverted_cdf")
    ci = [float(end) if np.isfinite(end) else None for end in ends]
    if not np.isfinite(reached):
        return HalfEffect(None, ci, NOT_REACHED)
    return HalfEffect(float(reached), ci, None)


def _crossings(doses: Floats, changes: Floats) -> Floats:
    """Of each row the smallest dose at which half of its last column is reached; inf if none."""
    half = changes[:, -1] / 2
    curve = changes[:, : len(doses)]
    below = curve <= half[:, None]
    below[:, 0] = False
    step = below.argmax(axis=1)
    rows = np.arange(len(curve))
    before, after = curve[rows, step - 1], curve[rows, step]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(after == before, 1.0, (half - before) / (after - before))
    dose = doses[step - 1] + part * (doses[step] - doses[step - 1])
    return np.where(below.any(axis=1) & (half < 0), dose, np.inf)


def _nothing(k: int, n_seeds: int, floor: bool) -> DoseResponse:
    """The response where no image has all its versions scored."""
    nan, pair = np.full(k, np.nan), np.full((k, 2), np.nan)
    return DoseResponse(
        0,
        n_seeds,
        nan,
        pair,
        nan,
        float("nan") if floor else None,
        [float("nan")] * 2 if floor else None,
        pair[1:],
        pair[1:],
        float("nan"),
        HalfEffect(None, [None, None], NO_IMAGES),
    )


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
        by_seed = [replicate_statistics(v[:, [k, 0]], [0, 1], few).rank_order_rho for v in values]
        resampled = np.mean(by_seed, axis=0)
        n = int((known[:, k] | known[:, 0]).sum())
        rho.append(interval_estimate(float(resampled[0]), resampled[1:], confidence, n))
        seeds = [rhos[0] for rhos in by_seed]
        rho_seed_sd.append(float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None)
    # the rank-order ρ of two versions of an image
    signs = np.sign(values[:, :, :1] - values[:, :, 1:]).mean(axis=0)
    within = [
        interval_estimate(
            mean_of_known(column), replicates, confidence, int((~np.isnan(column)).sum())
        )
        for column, replicates in zip(signs.T, resampled_means(signs, counts).T, strict=True)
    ]
    return DoseRecord(response, rho, rho_seed_sd, within)
