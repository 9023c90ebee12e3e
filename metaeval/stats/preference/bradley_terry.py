"""Bradley-Terry strengths from battles with ties, with length and order of presentation."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats, Ints, encode
from metaeval.stats.significance.comparison import PairTest, resampled_difference

_STEPS = 100
# a normal prior with a standard deviation of 100 log-odds, which keeps separated systems finite
PRIOR = 1e-4


class BradleyTerry(NamedTuple):
    """What `bradley_terry` returns.

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
    covariates
        Name → (value, low, high): "length" (log-odds per unit of the length difference) and
        "order" (log-odds of being shown first), where they were given.
    n_battles, n_images
        How many battles and images.
    """

    systems: list[str]
    strength: Floats
    low: Floats
    high: Floats
    replicates: Floats
    tie: float
    covariates: dict[str, tuple[float, float, float]]
    n_battles: int
    n_images: int

    def probability(self, a: str, b: str) -> tuple[float, float, float]:
        """P(a wins), P(tie), P(b wins), with covariates at 0."""
        gap = self.strength[self.systems.index(a)] - self.strength[self.systems.index(b)]
        win, lose = math.exp(gap / 2), math.exp(-gap / 2)
        total = win + lose + self.tie
        return win / total, self.tie / total, lose / total

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
    a_shown_first: npt.ArrayLike | None = None,
    prior: float = PRIOR,
    replicates: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> BradleyTerry:
    """Strengths of systems from battles between two of their outputs.

    Parameters
    ----------
    a, b
        [n] names of the two systems of each battle.
    winner
        float64 [n]: 1 = a, 0 = b, 0.5 = tie; NaN = left out.
    image
        [n] labels of the resampling unit. Battles that are left out keep their image in the draw,
        so that fits of several columns on the same images have the same replicates.
    length_difference
        float64 [n], length of a minus that of b in any unit; strengths are then those at equal
        length.
    a_shown_first
        bool [n], or +1, −1 and 0 for unknown: strengths are then free of the order of presentation.
    prior
        Ridge penalty on strengths and covariates; 0 = plain maximum likelihood, which does not
        exist where a system wins or loses all its battles.

    Notes
    -----
    Definition
        With d = θ_a − θ_b + γ length + δ order: P(a) ∝ exp(d/2), P(b) ∝ exp(−d/2), P(tie) ∝ ν
        (Davidson). θ has mean 0.
    Unit
        The image: all its battles are drawn together.
    Source
        R. A. Bradley and M. E. Terry (1952), Biometrika 39; R. R. Davidson (1970), On extending the
        Bradley-Terry model to accommodate ties, JASA 65; order of presentation: R. R. Davidson and
        R. J. Beaver (1977), Biometrics 33.
    Raises
        InputError where the battles do not connect all systems.

    Examples
    --------
    Two systems, 30 wins, 10 losses: the odds are 3.

    >>> fit = bradley_terry(["x"] * 40, ["y"] * 40, [1] * 30 + [0] * 10, range(40), prior=0)
    >>> fit.systems, round(float(np.exp(fit.strength[0] - fit.strength[1])), 6)
    (['x', 'y'], 3.0)
    """
    y = np.asarray(winner, dtype=np.float64)
    if not np.isin(y[~np.isnan(y)], (0, 0.5, 1)).all():
        raise InputError("a winner is not 1 (a), 0 (b) or 0.5 (tie)", field="winner")
    known = ~np.isnan(y)
    names, code = encode(np.concatenate([np.asarray(a), np.asarray(b)])[np.tile(known, 2)])
    first, second = np.split(code, 2)
    labels, unit = encode(np.asarray(image))
    y, unit = y[known], unit[known]
    if len(names) < 2:
        raise InputError("fewer than two systems have battles", field="winner")
    _require_connected(first, second, names)
    design = np.zeros((len(y), len(names)))
    design[np.arange(len(y)), first] += 1
    design[np.arange(len(y)), second] -= 1
    extra = {name: values[known] for name, values in _covariates(length_difference, a_shown_first)}
    columns = np.column_stack([design, *extra.values()])
    if not np.isfinite(columns).all():
        raise InputError("a covariate is missing or infinite", field="length_difference")
    # equal battles are one row with a weight
    keys = np.column_stack([first, second, y, *extra.values()])
    _, one, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    columns, y, kind = columns[one], y[one], kind.reshape(-1)
    counts = bootstrap_counts(len(labels), replicates, seed)
    start, tie = _fit(columns, y, np.bincount(kind).astype(np.float64), prior, len(names), None)
    drawn = np.array(
        [
            _fit(
                columns,
                y,
                np.bincount(kind, row[unit], len(y)).astype(np.float64),
                prior,
                len(names),
                (start, tie),
            )[0]
            for row in counts
        ]
    ).reshape(replicates, columns.shape[1])
    k = len(names)
    ranked = np.argsort(-start[:k], kind="stable")
    n_images = len(np.unique(unit))
    ends = np.array([percentile_interval(drawn[:, s], confidence, n_images) for s in ranked])
    covariates = {}
    for place, name in enumerate(extra, start=k):
        low, high = percentile_interval(drawn[:, place], confidence, n_images)
        covariates[name] = (float(start[place]), low, high)
    return BradleyTerry(
        [str(names[s]) for s in ranked],
        start[:k][ranked],
        ends[:, 0],
        ends[:, 1],
        drawn[:, :k][:, ranked],
        tie,
        covariates,
        int(known.sum()),
        n_images,
    )


def _covariates(
    length_difference: npt.ArrayLike | None, a_shown_first: npt.ArrayLike | None
) -> Iterator[tuple[str, Floats]]:
    """Yield the name and the values [n] of each covariate that was given."""
    if length_difference is not None:
        yield "length", np.asarray(length_difference, dtype=np.float64)
    if a_shown_first is not None:
        order = np.asarray(a_shown_first)
        yield (
            "order",
            np.where(order, 1.0, -1.0) if order.dtype == np.bool_ else order.astype(float),
        )


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

    k = len(names)
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(k, k))
    parts, label = connected_components(graph, directed=False)
    if parts > 1:
        alone = [str(name) for name, part in zip(names, label, strict=True) if part != label[0]]
        raise InputError(
            f"no battle connects {', '.join(alone[:5])} with {names[0]}; rank each part on its own",
            field="winner",
        )
