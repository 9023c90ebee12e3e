"""Weights of columns, fitted to choices: by how much each of them prefers the better caption.

Every method gives a weighted sum of differences, each over its root mean square, without a
constant: the order of the two captions of a choice does not matter.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LogisticRegression, RidgeCV

from metaeval.experiments.choices import credit
from metaeval.experiments.measure import Units
from metaeval.stats.resampling.items import Floats

ALPHAS = np.logspace(-3, 3, 13)  # of the ridge, relative to the number of choices
GAIN = 0.002  # of accuracy, by which forward selection adds a column
Fitted = Callable[[Floats, Floats], Floats]


class FittedWeights(NamedTuple):
    """A weighted sum of columns.

    Attributes
    ----------
    weights, scales
        [columns] The sum is Σ weight · difference / scale.
    """

    weights: Floats
    scales: Floats

    def of(self, differences: Floats) -> Floats:
        """[choices] By how much the combination prefers the better caption."""
        return differences @ (self.weights / self.scales)


def of_ranks(given: Floats, weights: Floats, differences: Floats) -> Floats:
    """[choices] The mean over columns of the signed rank of each difference: the share of the
    given ones that are not larger, with the difference's sign; without scales or weights.

    Parameters
    ----------
    given, weights
        [fitted choices, columns] and how much each of these choices counts.
    differences
        [choices, columns] To be ranked among them.
    """
    total = np.zeros(len(differences))
    for known, column in zip(np.abs(given.T), differences.T, strict=True):
        order = np.argsort(known, kind="stable")
        shares = np.concatenate([[0.0], np.cumsum(weights[order])]) / weights.sum()
        place = np.searchsorted(known[order], np.abs(column), side="right")
        total += np.where(np.isnan(column), np.nan, np.sign(column) * shares[place])
    return total / differences.shape[1]


def fit(method: str, differences: Floats, weights: Floats) -> FittedWeights:
    """Fit a method.

    Parameters
    ----------
    method
        One of `METHODS`.
    differences
        [choices, columns], without NaN.
    weights
        [choices] How much each choice counts.
    """
    share = weights / weights.sum()
    scales = np.sqrt((share[:, None] * differences**2).sum(axis=0))
    scales[scales == 0] = 1.0
    return FittedWeights(METHODS[method](differences / scales, share), scales)


def _mirrored(x: Floats, share: Floats) -> tuple[Floats, Floats, Floats]:
    return np.concatenate([x, -x]), np.repeat([1.0, -1.0], len(x)), np.tile(share, 2)


def _ridge(x: Floats, share: Floats) -> Floats:
    """The penalty is chosen by leaving one choice out."""
    root = np.sqrt(share * len(share))
    model = RidgeCV(alphas=ALPHAS * len(x), fit_intercept=False)
    return np.asarray(model.fit(x * root[:, None], root).coef_, float)


def _nnls(x: Floats, share: Floats) -> Floats:
    return np.asarray(nnls(*_triangle(x, share))[0], float)


def _triangle(x: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Least squares of the same solution with as many rows as there are columns."""
    root = np.sqrt(share)
    q, r = np.linalg.qr(x * root[:, None])
    return r, root @ q


def _pls(x: Floats, share: Floats) -> Floats:
    """One component: each column's covariance with the choices."""
    rows, target, _ = _mirrored(x * np.sqrt(share * len(share))[:, None], share)
    model = PLSRegression(n_components=1, scale=False).fit(rows, target)
    return np.asarray(model.coef_, float).ravel()


def _logistic(x: Floats, share: Floats) -> Floats:
    rows, target, twice = _mirrored(x, share)
    model = LogisticRegression(fit_intercept=False, max_iter=1000)
    return np.asarray(model.fit(rows, target, twice * len(share)).coef_, float)[0]


def _forward(x: Floats, share: Floats) -> Floats:
    """Columns by nonnegative least squares, the one that adds most accuracy first."""
    r, target = _triangle(x, share)
    chosen: list[int] = []
    best, weights = 0.0, np.zeros(x.shape[1])
    while True:
        tried = {}
        for k in set(range(x.shape[1])) - set(chosen):
            made = np.zeros(x.shape[1])
            made[[*chosen, k]] = nnls(r[:, [*chosen, k]], target)[0]
            tried[k] = float(share @ credit(x @ made)), made
        if not tried:
            return weights
        k = max(tried, key=lambda k: (tried[k][0], -k))
        if tried[k][0] < best + GAIN:
            return weights
        chosen.append(k)
        best, weights = tried[k]


BEST = "best part"
METHODS: Mapping[str, Fitted] = {
    # the one column that is right most often
    BEST: lambda x, share: np.eye(x.shape[1])[int(np.argmax(share @ credit(x)))],
    "equal": lambda x, share: np.ones(x.shape[1]),
    "ridge": _ridge,
    "nnls": _nnls,
    "pls": _pls,
    "logistic": _logistic,
    "forward": _forward,
}


def fold_of(image: Units, folds: int, seed: int) -> Units:
    """[choices] The fold of each choice: images are dealt at random."""
    n = int(image.max(initial=-1)) + 1
    dealt = np.random.default_rng(seed).permutation(n) % folds
    return dealt[image]
