"""What agreement with people remains beyond length, and what features that see no truth reach."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import Counts, IntervalEstimate, complete_items
from metaeval.stats.resampling.items import (
    Floats,
    encode,
    random_folds,
    without_rounding,
)
from metaeval.stats.significance.paired_differences import paired_difference

Statistic = Literal["pearson", "spearman", "kendall_tau_b"]


def partial_correlation(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    length: npt.ArrayLike,
    image: npt.ArrayLike | None = None,
    *,
    statistic: Statistic = "kendall_tau_b",
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> IntervalEstimate:
    """Correlation of scores with judgements, given the number of words; of `n` complete items.

    NaN where one of the three is constant or determines another.

    Parameters
    ----------
    scores, human, length
        float64 [n]; an item with NaN in any of them is left out of all.
    image
        [n] labels of the resampling unit; by default each item on its own.
    counts
        [replicates, n_images] from `bootstrap_counts`, in the order of the sorted labels.

    Notes
    -----
    Definition
        (r_sh − r_sl r_hl) / √((1 − r_sl²)(1 − r_hl²)) of the three pairwise coefficients.
    Zero
        Where length explains everything, partial r is 0. Partial ρ and τ-b then stay somewhat
        above 0 (τ-b most), as ranks with noise do not determine each other linearly: read them as
        descriptions, and conclude that something remains from r or from pairs of equal length.
    Ties, interval
        Those of the coefficients; that of `paired_difference` with 0.
    Source
        M. G. Kendall (1942), Partial rank correlation, Biometrika 32; for ρ and r, any textbook.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> length = rng.integers(5, 20, 400).astype(float)
    >>> scores, human = length + rng.normal(0, 3, 400), length / 4 + rng.normal(0, 1, 400)
    >>> result = partial_correlation(scores, human, length, statistic="pearson")
    >>> bool(np.corrcoef(scores, human)[0, 1] > 0.4), abs(result.value) < 0.1
    (True, True)
    """
    columns = {"scores": scores, "human": human, "length": length}
    (x, y, z), unit, counts = complete_items(columns, image, counts, replicates, seed)
    if (n := len(x)) < 3:
        return IntervalEstimate(np.nan, np.nan, np.nan, n)
    plain, with_length, human_length = (
        _coefficients(statistic, a, b, unit, counts) for a, b in ((x, y), (x, z), (y, z))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.sqrt((1 - with_length**2) * (1 - human_length**2))
        partial = np.where(rest > 1e-9, (plain - with_length * human_length) / rest, np.nan)
    zero, value = np.zeros(len(counts)), float(partial[0])
    test = paired_difference(value, 0.0, partial[1:], zero, len(np.unique(unit)), confidence)
    return IntervalEstimate(value, test.low, test.high, n)


def _coefficients(
    statistic: Statistic, a: Floats, b: Floats, unit: npt.NDArray[np.int64], counts: Counts
) -> Floats:
    """A coefficient and its replicates; the side with fewer values gives the levels."""
    if len(np.unique(a)) < len(np.unique(b)):
        a, b = b, a
    weighted = WeightedCorrelations(a, b, unit, counts.shape[1], names=(statistic,))
    once = np.ones((1, counts.shape[1]), dtype=np.int64)
    return np.concatenate([getattr(weighted.of(w), statistic) for w in (once, counts)])


_STREAM = 0xF17D  # separates the folds from other uses of the same seed


def fitted_control(
    features: npt.ArrayLike,
    target: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    folds: int = 5,
    penalty: float = 1.0,
    seed: int = 0,
) -> Floats:
    """Predict `target` from `features` by ridge regression, out of fold by image: float64 [n].

    Parameters
    ----------
    features
        float64 [n, k]: length, language-model scores, type-token ratio: what can be known of the
        candidate alone (or of the image alone, or of the references alone).
    target
        float64 [n], the human judgement; NaN = not judged: predicted, but not used to fit.
    image, folds, seed
        [n] labels; random folds of whole images, at most one an image.
    penalty
        λ of the ridge, on features of mean 0 and standard deviation 1: it counts like λ items.

    Notes
    -----
    Definition
        β = (ZᵀZ + λI)⁻¹ Zᵀ(y − ȳ), Z the features and their squares, standardised on the items of
        the other folds; the prediction is ȳ + zβ. The constant is not penalised.
    Missing
        An item with a missing feature gets NaN, as does one for which no model could be fitted.
        Missing targets as above. Equal features give equal predictions (`without_rounding`).
    Unit
        The image. For an interval, resample images of the predictions as of any other column.
    Source
        S. Perrella, L. Proietti, A. Scirè, E. Barba, R. Navigli (2024), Guardians of the machine
        translation meta-evaluation: sentinel metrics fall in!, ACL, for the idea; A. E. Hoerl and
        R. W. Kennard (1970), Ridge regression, Technometrics 12.

    Examples
    --------
    >>> length = np.tile(np.arange(-5.0, 6.0), 20)
    >>> predicted = fitted_control(length[:, None], length**2, np.repeat(np.arange(20), 11))
    >>> round(float(np.corrcoef(predicted, length**2)[0, 1]), 3)
    1.0
    """
    x, y = np.asarray(features, dtype=np.float64), np.asarray(target, dtype=np.float64)
    _require_features(x, y, np.shape(image))
    if folds < 2 or penalty < 0:
        raise InputError(f"{folds} folds, penalty {penalty}; use 2 or more, 0 or more")
    labels, unit = encode(image)
    fold = random_folds(len(labels), folds, _STREAM, seed)[unit]
    complete = ~np.isnan(x).any(axis=1)
    known = complete & ~np.isnan(y)
    predictions = np.full(len(y), np.nan)
    for k in range(folds):
        train, test = known & (fold != k), complete & (fold == k)
        if train.sum() >= 2 and test.any():
            predictions[test] = _ridge(x[train], y[train], x[test], penalty)
    return without_rounding(predictions)


def _require_features(x: Floats, y: Floats, image: tuple[int, ...]) -> None:
    if x.ndim != 2 or y.shape != x.shape[:1] or image != y.shape:
        raise InputError(
            f"features {x.shape}, target {y.shape} and image {image} are not [n, k], [n] and [n]",
            field="features",
        )
    if np.isinf(x).any() or np.isinf(y).any():
        raise InputError("a feature or target is infinite", field="features")


def _ridge(x: Floats, y: Floats, new: Floats, penalty: float) -> Floats:
    from sklearn.linear_model import Ridge  # slow to import

    _standardise(x, new)
    x, new = np.hstack([x, x * x]), np.hstack([new, new * new])
    _standardise(x, new)
    return np.asarray(Ridge(penalty, copy_X=False).fit(x, y).predict(new), dtype=np.float64)


def _standardise(x: Floats, new: Floats) -> None:
    """Scale both, in place, by the mean and standard deviation of the first; a constant feature
    becomes 0."""
    mean, sd = x.mean(axis=0), x.std(axis=0)
    flat = sd <= 1e-12 * np.abs(mean)
    for table in (x, new):
        table -= mean
        table /= np.where(flat, 1.0, sd)
        table[:, flat] = 0.0
