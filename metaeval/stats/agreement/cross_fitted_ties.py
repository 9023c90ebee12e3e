"""Tie calibration whose ε is fitted on other images than those it is reported on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.ordering.tie_calibration import pair_outcomes, pairs_within, tie_calibration
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats, as_scores, encode, require_aligned
from metaeval.stats.resampling.means import resampled_means

_STREAM = 0xCF7C  # separates the folds from other uses of the same seed


class CrossFittedTies(NamedTuple):
    """What `cross_fitted_tie_calibration` returns.

    Attributes
    ----------
    accuracy
        Mean accuracy of the groups, each at the ε of the other folds; NaN without pairs.
    low, high
        Percentile interval by resampling groups, at the same ε.
    epsilons
        float64 [folds]: the ε with which each fold was scored.
    in_sample
        The accuracy at the ε that is best for all groups (`tie_calibration`), for comparison.
    n_pairs, n_groups
        How many pairs were compared, and how many groups have a pair.
    """

    accuracy: float
    low: float
    high: float
    epsilons: Floats
    in_sample: float
    n_pairs: int
    n_groups: int


def cross_fitted_tie_calibration(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    folds: int = 2,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> CrossFittedTies:
    """Pairwise accuracy with ties where no pair takes part in choosing its own ε.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with NaN in either is left out.
    groups
        [n] labels (images): pairs are formed within a group, and a group is in one fold.
    folds
        How many random parts the groups are split into.
    counts
        [replicates, n_groups] from `bootstrap_counts`, in the order of the sorted labels.

    Notes
    -----
    Definition, ties
        As in `tie_calibration`; each fold's groups are scored at the ε fitted on the others.
    Unit
        The group. The interval holds the ε fixed.
    Source
        S. Perrella et al. (2024), Guardians of the machine translation meta-evaluation, ACL,
        section 5: an ε fitted on the items that are reported favours metrics of few values.

    Examples
    --------
    >>> scores, human = [0.5, 0.6, 0.1] * 4, [3, 3, 1] * 4
    >>> result = cross_fitted_tie_calibration(scores, human, np.repeat(range(4), 3))
    >>> result.accuracy, result.n_groups
    (1.0, 4)
    """
    x, y = as_scores(scores), as_scores(human)
    labels, unit = encode(groups)
    require_aligned(scores=x, human=y, groups=unit)
    if folds < 2:
        raise InputError(f"{folds} folds; use 2 or more", field="folds")
    order = np.random.default_rng([_STREAM, seed]).permutation(len(labels))
    fold_of = np.empty(len(labels), dtype=np.int64)
    fold_of[order] = np.arange(len(labels)) % folds
    fold = fold_of[unit]
    pairs = pairs_within(x, y, unit)
    epsilons, accuracy = np.full(folds, np.nan), np.full(len(labels), np.nan)
    for k in range(folds):
        fitted = tie_calibration(x[fold != k], y[fold != k], unit[fold != k])
        if not fitted.n_pairs:
            continue
        epsilons[k] = fitted.epsilon
        right, total = pair_outcomes(pairs, fitted.epsilon, len(labels))
        in_fold = (fold_of == k) & (total > 0)
        accuracy[in_fold] = right[in_fold] / total[in_fold]
    known = ~np.isnan(accuracy)
    if not known.any():
        nan = float("nan")
        return CrossFittedTies(nan, nan, nan, epsilons, nan, 0, 0)
    if counts is None:
        counts = bootstrap_counts(len(labels), replicates, seed)
    low, high = percentile_interval(resampled_means(accuracy, counts), confidence, int(known.sum()))
    return CrossFittedTies(
        float(accuracy[known].mean()), low, high, epsilons,
        tie_calibration(x, y, unit).accuracy, len(pairs.distance), int(known.sum()),
    )  # fmt: skip
