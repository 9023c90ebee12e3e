"""Bradley-Terry strengths from battles with ties, also at equal length."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import (
    IntervalEstimate,
    bootstrap_counts,
    percentile_intervals,
)
from metaeval.stats.resampling.items import Floats, Ints, encode
from metaeval.stats.significance.comparison import PairTest, resampled_difference

_STEPS = 100
# a normal prior with a standard deviation of 100 log-odds, which keeps separated systems finite
PRIOR = 1e-4


class BradleyTerry(NamedTuple):
    """What `bradley_terry` returns.

    With d = θ_a − θ_b + γ length, P(a) ∝ exp(d/2), P(b) ∝ exp(−d/2) and P(tie) ∝ ν; strengths θ
    have mean 0. Intervals are of resampled images: all battles of an image are drawn together.

    Source: R. A. Bradley and M. E. Terry (1952), Biometrika 39; ties: R. R. Davidson (1970), On
    extending the Bradley-Terry model to accommodate ties, JASA 65.

    Attributes
    ----------
    systems
        Names, strongest first.
    strength
        float64 [systems]: log-odds of winning, mean 0.
    low, high
        float64 [systems]: percentile intervals by resampling images.
    replicates
        float64 [replicates, systems].
    tie
        ν: two equal systems tie with probability ν / (2 + ν); 0 without ties.
    length
        Log-odds per unit of the length difference, where it was given.
    n_battles, n_images
        How many battles and images.
    """

    systems: list[str]
    strength: Floats
    low: Floats
    high: Floats
    replicates: Floats
    tie: float
    length: IntervalEstimate | None
    n_battles: int
    n_images: int

    def tests(self) -> dict[tuple[str, str], PairTest]:
        """All pairs, the stronger one first: what `comparison.compare` takes."""
        return {
            (a, b): resampled_difference(
                float(self.strength[i]),
                float(self.strength[j]),
                self.replicates[:, i],
                self.replicates[:, j],
                self.n_images,
            )
            for i, a in enumerate(self.systems)
            for j, b in enumerate(self.systems)
            if i < j
        }


def bradley_terry(
    a: Sequence[str],
    b: Sequence[str],
    winner: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    length_difference: npt.ArrayLike | None = None,
    prior: float = PRIOR,
    replicates: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> BradleyTerry:
    """Strengths of systems from battles between two of their outputs.

    Parameters
    ----------
    a, b, winner
        [n] names of the two systems of each battle, and 1 = a, 0 = b, 0.5 = tie; NaN = left out.
    image
        [n] labels of the resampling unit. Battles that are left out keep their image in the draw,
        so that fits of several columns on the same images have the same replicates.
    length_difference
        float64 [n], length of a minus that of b; strengths are then those at equal length.
    prior
        Ridge penalty; 0 = plain maximum likelihood, which not all battles have.

    Raises InputError where the battles do not connect all systems.

    Examples
    --------
    >>> fit = bradley_terry(["x"] * 40, ["y"] * 40, [1] * 30 + [0] * 10, range(40), prior=0)
    >>> fit.systems, round(float(np.exp(fit.strength[0] - fit.strength[1])), 6)
    (['x', 'y'], 3.0)
    """
    known = ~np.isnan(y := np.asarray(winner, dtype=np.float64))
    if not np.isin(y[known], (0, 0.5, 1)).all():
        raise InputError("a winner is not 1 (a), 0 (b) or 0.5 (tie)", field="winner")
    names, code = encode(np.concatenate([np.asarray(a), np.asarray(b)])[np.tile(known, 2)])
    first, second = np.split(code, 2)
    _require_connected(first, second, names)
    lengths = _covariates(length_difference, known)
    labels, unit = encode(np.asarray(image))
    drawn = bootstrap_counts(len(labels), replicates, seed)[:, unit[known]]
    n_images = len(np.unique(unit[known]))
    battles = np.column_stack([first, second, y[known], lengths[known]])
    point, tie, resampled = _fits(battles, drawn, prior, len(names))
    low, high = percentile_intervals(resampled, confidence, n_images).T
    length = IntervalEstimate(float(point[-1]), low[-1], high[-1])
    ranked = np.argsort(-point[: len(names)], kind="stable")
    return BradleyTerry(
        [str(names[s]) for s in ranked],
        point[ranked],
        low[ranked],
        high[ranked],
        resampled[:, ranked],
        tie,
        None if length_difference is None else length,
        int(known.sum()),
        n_images,
    )


def _covariates(difference: npt.ArrayLike | None, known: npt.NDArray[np.bool_]) -> Floats:
    """[n, 1] of a covariate, [n, 0] without one. Raises InputError where it is not finite."""
    if difference is None:
        return np.empty((len(known), 0))
    values: Floats = np.asarray(difference, dtype=np.float64)[:, None]
    if not np.isfinite(values[known]).all():
        raise InputError("a covariate is missing or infinite", field="length_difference")
    return values


def _fits(
    battles: Floats, drawn: npt.NDArray[np.integer], prior: float, k: int
) -> tuple[Floats, float, Floats]:
    """Coefficients, ν, and the coefficients of each replicate, of battles [n, columns]: numbers of
    the two systems, winner, and covariates. `drawn` [replicates, n] is how often each is there."""
    # equal battles are one row with a weight
    rows, kind = np.unique(battles, axis=0, return_inverse=True)
    kind, systems = kind.reshape(-1), np.eye(k)
    first, second = rows[:, :2].astype(np.intp).T
    columns = np.hstack([systems[first] - systems[second], rows[:, 3:]])

    def fit(times: npt.NDArray[Any], start: tuple[Floats, float] | None) -> tuple[Floats, float]:
        return _fit(
            columns,
            rows[:, 2],
            np.bincount(kind, times, len(rows)).astype(np.float64),
            prior,
            k,
            start,
        )

    start = fit(np.ones(len(kind)), None)
    resampled = np.array([fit(times, start)[0] for times in drawn])
    return *start, resampled.reshape(len(drawn), columns.shape[1])


def _fit(
    x: Floats, y: Floats, w: Floats, prior: float, k: int, start: tuple[Floats, float] | None
) -> tuple[Floats, float]:
    """Coefficients [columns] and ν by Newton's method with halved steps; strengths have mean 0.

    The mean of the strengths is not determined by battles: a penalty on it alone fixes it at 0.
    """
    p = x.shape[1]
    drawn = w > 0
    x, y, w = x[drawn], y[drawn], w[drawn]
    ties = bool((y == 0.5).any())
    beta = np.zeros(p) if start is None else start[0].copy()
    log_tie = -math.inf
    if ties:
        log_tie = math.log(start[1]) if start is not None and start[1] > 0 else 0.0
    penalty = prior * np.eye(p)
    penalty[:k, :k] += 1.0 / k  # on (Σ θ)²: it moves no difference
    won, tied = 2 * y - 1, (y == 0.5).astype(np.float64)

    def likelihood(coefficients: Floats, log_nu: float) -> float:
        d = x @ coefficients
        total = np.logaddexp(np.logaddexp(d / 2, -d / 2), log_nu)
        value = (w * (won * d / 2 + (tied * log_nu if ties else 0.0) - total)).sum()
        return float(value - coefficients @ penalty @ coefficients / 2)

    current = likelihood(beta, log_tie)
    for _ in range(_STEPS):
        d = x @ beta
        total = np.logaddexp(np.logaddexp(d / 2, -d / 2), log_tie)
        win, lose, tie = np.exp(d / 2 - total), np.exp(-d / 2 - total), np.exp(log_tie - total)
        lead = win - lose
        gradient = x.T @ (w * (won - lead) / 2) - penalty @ beta
        curve = w * (win + lose - lead**2) / 4
        information = (x * curve[:, None]).T @ x + penalty
        if ties:
            cross = -(x.T @ (w * lead * tie)) / 2
            curvature = float((w * tie * (1 - tie)).sum())
            information = np.block(
                [[information, cross[:, None]], [cross[None, :], np.array([[curvature]])]]
            )
            gradient = np.append(gradient, float((w * (tied - tie)).sum()))
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        size = 1.0
        while True:
            new = beta + size * step[:p]
            new_tie = log_tie + size * float(step[p]) if ties else log_tie
            value = likelihood(new, new_tie)
            if value >= current - 1e-12 * abs(current) or size < 1e-6:
                break
            size /= 2
        beta, log_tie, current = new, new_tie, value
        if np.abs(size * step).max() < 1e-10:
            break
    beta[:k] -= beta[:k].mean()
    return np.round(beta, 9), float(np.exp(log_tie))  # equal systems come out equal


def _require_connected(first: Ints, second: Ints, names: npt.NDArray[np.str_]) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if (k := len(names)) < 2:
        raise InputError("fewer than two systems have battles", field="winner")
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(k, k))
    parts, label = connected_components(graph, directed=False)
    if parts > 1:
        alone = [str(name) for name, part in zip(names, label, strict=True) if part != label[0]]
        raise InputError(
            f"no battle connects {', '.join(alone[:5])} with {names[0]}; rank each part on its own",
            field="winner",
        )
