"""How many images are needed for the order of metrics that all images give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats, as_scores

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
