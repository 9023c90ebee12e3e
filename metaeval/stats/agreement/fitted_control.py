"""A fitted control: the best prediction of human judgements from features that see no truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats, Ints, encode, without_rounding

_STREAM = 0xF17D  # separates the folds from other uses of the same seed


class FittedControl(NamedTuple):
    """What `fitted_control` returns.

    Attributes
    ----------
    predictions
        float64 [n], each made without its own image's targets (`without_rounding`: equal features
        give equal predictions); NaN where a feature is missing or no model could be fitted.
    fold
        int [n]: the fold of each item's image.
    """

    predictions: Floats
    fold: Ints


def fitted_control(
    features: npt.ArrayLike,
    target: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    folds: int = 5,
    penalty: float = 1.0,
    squares: bool = True,
    seed: int = 0,
) -> FittedControl:
    """Predict `target` from `features` by ridge regression, out of fold by image.

    A control with a fixed sign ("longer is better") understates what features that see no truth
    reach: a metric is informative only above the best *fitted* combination of them.

    Parameters
    ----------
    features
        float64 [n, k]: length, language-model scores, type-token ratio: what can be known of the
        candidate alone (or of the image alone, or of the references alone).
    target
        float64 [n], the human judgement; NaN = not judged: predicted, but not used to fit.
    image
        [n] labels; all items of an image are in the same fold.
    folds
        How many folds; at most the number of images is used.
    penalty
        λ of the ridge, on features of mean 0 and standard deviation 1: it counts like λ items.
    squares
        Whether the squares of the standardised features are features too.
    seed
        Of the random partition of the images into folds.

    Notes
    -----
    Definition
        β = (ZᵀZ + λI)⁻¹ Zᵀ(y − ȳ), Z standardised on the items of the other folds; the prediction
        is ȳ + zβ. The constant is not penalised.
    Missing
        An item with a missing feature gets NaN. Missing targets as above.
    Unit
        The image. For an interval, resample images of the predictions as of any other column.
    Source
        S. Perrella, L. Proietti, A. Scirè, E. Barba, R. Navigli (2024), Guardians of the machine
        translation meta-evaluation: sentinel metrics fall in!, ACL, for the idea; A. E. Hoerl and
        R. W. Kennard (1970), Ridge regression, Technometrics 12.

    Examples
    --------
    The judgement is U-shaped in length, so no sign of "length" correlates with it:

    >>> length = np.tile(np.arange(-5.0, 6.0), 20)
    >>> control = fitted_control(length[:, None], length**2, np.repeat(np.arange(20), 11))
    >>> bool(abs(np.corrcoef(length, length**2)[0, 1]) < 1e-12)
    True
    >>> round(float(np.corrcoef(control.predictions, length**2)[0, 1]), 3)
    1.0
    """
    x, y = np.asarray(features, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or np.shape(image) != y.shape:
        raise InputError(
            f"features {x.shape}, target {y.shape} and image {np.shape(image)} are not [n, k], [n] "
            "and [n]",
            field="features",
        )
    if np.isinf(x).any() or np.isinf(y).any():
        raise InputError("a feature or target is infinite", field="features")
    if folds < 2 or penalty < 0:
        raise InputError(f"{folds} folds, penalty {penalty}; use 2 or more, 0 or more")
    labels, unit = encode(image)
    order = np.random.default_rng([_STREAM, seed]).permutation(len(labels))
    fold_of = np.empty(len(labels), dtype=np.int64)
    fold_of[order] = np.arange(len(labels)) % folds
    fold = fold_of[unit]
    complete = ~np.isnan(x).any(axis=1)
    known = complete & ~np.isnan(y)
    predictions = np.full(len(y), np.nan)
    for k in range(folds):
        train, test = known & (fold != k), complete & (fold == k)
        if train.sum() >= 2 and test.any():
            predictions[test] = _ridge(x[train], y[train], x[test], penalty, squares)
    return FittedControl(without_rounding(predictions), fold)


def _ridge(x: Floats, y: Floats, new: Floats, penalty: float, squares: bool) -> Floats:
    x, new = _standardised(x, new)
    if squares:
        x, new = _standardised(np.hstack([x, x * x]), np.hstack([new, new * new]))
    gram = x.T @ x + penalty * np.eye(x.shape[1])
    beta = np.linalg.lstsq(gram, x.T @ (y - y.mean()), rcond=None)[0]
    return np.asarray(y.mean() + new @ beta, dtype=np.float64)


def _standardised(x: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Both by the mean and standard deviation of the first; a constant feature becomes 0."""
    mean, sd = x.mean(axis=0), x.std(axis=0)
    flat = sd <= 1e-12 * np.abs(mean)
    sd = np.where(flat, 1.0, sd)
    return np.where(flat, 0.0, (x - mean) / sd), np.where(flat, 0.0, (new - mean) / sd)
