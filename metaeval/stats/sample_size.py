"""How many images a comparison of metrics needs, and how many human labels a metric saves."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import norm

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import pearson_of_sums
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    complete_items,
    defined_replicates,
    resampled_sums,
    sums_by_unit,
)
from metaeval.stats.resampling.items import Floats, as_scores, scaled


def images_for_power(
    difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The number of images at which a paired two-sided test separates two metrics.

    Parameters
    ----------
    difference, sd
        Mean and standard deviation over images of one metric's value minus the other's.
    alpha, power
        The level of the test, and how often it is to be significant; both in (0, 1).

    Returns
    -------
    float
        ((z(1 − α/2) + z(power)) · sd / difference)², at least 2; infinite for no difference.

    Notes
    -----
    Normal approximation; of the two ways to be significant the wrong one is neglected.
    Source: J. Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, section 2.3.

    Examples
    --------
    >>> round(images_for_power(0.5, 1.0), 1)
    31.4
    """
    if not 0 < alpha < 1 or not 0 < power < 1:
        raise InputError(f"{alpha} and {power} are not in (0, 1)", field="alpha, power")
    if difference == 0:
        return math.inf
    z = float(norm.ppf(1 - alpha / 2) + norm.ppf(power))
    return max((z * sd / difference) ** 2, 2.0)


def power_at(n: int, difference: float, sd: float, *, alpha: float = 0.05) -> float:
    """How often the same test is significant with n images.

    >>> round(power_at(32, 0.5, 1.0), 2)
    0.81
    """
    if sd == 0:
        return 1.0 if difference else alpha
    return float(norm.cdf(abs(difference) / sd * math.sqrt(n) - norm.ppf(1 - alpha / 2)))


_STREAM = 0x512E  # apart from the bootstrap's draws under the same seed


class OrderStability(NamedTuple):
    """What `order_stability` returns, for k metrics and s sizes.

    Attributes
    ----------
    order
        int [k]: the metrics by their mean over all images, best first.
    same_order
        [s]: share of the samples that put all metrics into that order.
    tau
        [s]: mean Kendall's τ of a sample's order with it.
    same_sign, significant
        [k − 1, s]: of neighbours in the order, the share of samples that put the two the same way
        round, and the share in which a paired z-test of the two is significant.
    """

    order: npt.NDArray[np.intp]
    same_order: Floats
    tau: Floats
    same_sign: Floats
    significant: Floats


def order_stability(
    values: npt.ArrayLike, sizes: npt.ArrayLike, *, draws: int, alpha: float = 0.05, seed: int = 0
) -> OrderStability:
    """Draw samples of images of each size, and compare their order of the metrics with that of all.

    Parameters
    ----------
    values
        float64 [n_images, k]: one value per image and metric, more is better. An image missing
        one is left out.
    sizes
        int [s], each from 2 to the number of images.
    draws
        Samples of each size.
    seed
        Of the samples; those of one size are the same whatever the other sizes.

    Notes
    -----
    Samples are drawn with replacement, as other images would have been: those drawn without it
    come to agree with all images for the reason alone that they are all images.
    Metrics of equal means count as in order neither way: a tie is not an order.

    Examples
    --------
    >>> values = [[0.1, 0.5], [0.2, 0.6], [0.3, 0.9], [0.6, 0.8]]
    >>> order_stability(values, [2, 4], draws=100).order.tolist()
    [1, 0]
    """
    table = as_scores(values)
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(f"shape {table.shape} is not [n_images, k ≥ 2]", field="values")
    table = table[~np.isnan(table).any(axis=1)]
    wanted = np.asarray(sizes, dtype=np.int64)
    if not len(table) or wanted.min(initial=2) < 2 or wanted.max(initial=2) > len(table):
        raise InputError(f"{wanted.tolist()} are not from 2 to {len(table)}", field="sizes")
    order = np.argsort(-table.mean(axis=0), kind="stable")
    table = table[:, order]
    first, second = np.triu_indices(table.shape[1], 1)
    steps = table[:, :-1] - table[:, 1:]
    critical = norm.ppf(1 - alpha / 2)
    same_order, tau = np.empty(len(wanted)), np.empty(len(wanted))
    same_sign = np.empty((steps.shape[1], len(wanted)))
    significant = np.empty_like(same_sign)
    for s, size in enumerate(wanted.tolist()):
        rng = np.random.default_rng([_STREAM, seed, size])
        means = np.empty((draws, table.shape[1]))
        apart = np.empty((draws, steps.shape[1]), dtype=np.bool_)
        for draw in range(draws):
            sample = rng.integers(len(table), size=size)
            means[draw] = table[sample].mean(axis=0)
            gaps = steps[sample]
            error = gaps.std(axis=0, ddof=1) / np.sqrt(size)
            apart[draw] = np.abs(gaps.mean(axis=0)) > critical * error
        signs = np.sign(means[:, first] - means[:, second])
        down = means[:, :-1] > means[:, 1:]
        same_order[s] = down.all(axis=1).mean()
        tau[s] = signs.mean()
        same_sign[:, s], significant[:, s] = down.mean(axis=0), apart.mean(axis=0)
    return OrderStability(order, same_order, tau, same_sign, significant)


def label_efficiency(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    image: npt.ArrayLike | None = None,
    *,
    n_labels: int = 100,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> IntervalEstimate:
    """How much a metric narrows the estimate of the mean human judgement, from `n` items.

    One labelled item with the metric is worth this many without: 1 where it saves nothing.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with NaN in either is left out.
    image
        [n] labels of the resampling unit; by default each item on its own.
    n_labels
        How many items are labelled by people; so many more are scored that their mean is known.

    Notes
    -----
    Definition
        The estimate is mean(human) − β (mean(scores) − mean of all scores), β the least-squares
        slope on the n labelled items. With ρ the correlation, Var = σ²/n · (1 − ρ²)(n − 2)/(n − 3);
        the efficiency is σ²/n over it. For large n it is 1/(1 − ρ²).
    Unit
        The labelled items are drawn independently of each other; the interval of the efficiency
        resamples images, on the scale of Fisher's z of the correlation.
    Source
        A. Chaganty, S. Mussmann, P. Liang (2018), The price of debiasing automatic metrics in
        natural language evaluation, ACL; the factor (n − 2)/(n − 3): S. S. Lavenberg and P. D.
        Welch (1981), A perspective on the use of control variables, Management Science 27.
        Prediction-powered inference (arXiv 2301.09633) is the same with another slope.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> human = rng.normal(size=5000); scores = human + rng.normal(size=5000)
    >>> round(label_efficiency(scores, human).value, 1)  # 1 / (1 - 1/2), less the slope's cost
    2.0
    """
    if n_labels < 4:
        raise InputError(f"{n_labels} labels; use 4 or more", field="n_labels")
    columns = {"scores": scores, "human": human}
    (x, y), unit, counts = complete_items(columns, image, counts, replicates, seed)
    if (n := len(x)) < 3:
        return IntervalEstimate(math.nan, math.nan, math.nan, n)
    x, y = (values - values.mean() for values in (scaled(x), scaled(y)))
    table = sums_by_unit((np.ones(n), x, y, x * x, y * y, x * y), unit, counts)
    r = pearson_of_sums(table.sum(axis=0, keepdims=True))
    drawn = pearson_of_sums(resampled_sums(table, counts))
    drawn = defined_replicates(drawn, len(np.unique(unit)))
    low_r, high_r = _interval_of_r(float(r[0]), drawn, confidence)
    value, low, high = _efficiencies(float(r[0]), low_r, high_r, n_labels)
    return IntervalEstimate(value, low, high, n)


def _efficiencies(r: float, low: float, high: float, n_labels: int) -> list[float]:
    """The efficiencies at a correlation, and at the least and the greatest size in its interval."""
    ends = np.abs([low, high])
    least = 0.0 if low < 0 < high else float(ends.min())
    r_squared = np.array([r, least, float(ends.max())]) ** 2
    with np.errstate(divide="ignore"):
        made = 1 / ((1 - r_squared) * (n_labels - 2) / (n_labels - 3))
    return made.tolist()


def _interval_of_r(r: float, replicates: Floats, confidence: float) -> tuple[float, float]:
    """By the normal law of Fisher's z, with the standard deviation of the replicates: percentiles
    of r² hold too little (`research/judgments/coverage.py`)."""
    with np.errstate(divide="ignore"):
        drawn = np.arctanh(replicates)
    drawn = drawn[np.isfinite(drawn)]
    if not len(replicates):
        return math.nan, math.nan
    if len(drawn) < 2 or not abs(r) < 1:
        return r, r
    half = -float(ndtri((1 - confidence) / 2)) * float(drawn.std(ddof=1))
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
