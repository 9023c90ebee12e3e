"""Pairs: of two versions (captions, systems), does the better one score higher, and by how much?"""

from itertools import combinations

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.bootstrap import (
    Counts,
    IntervalEstimate,
    complete_items,
    interval_estimate,
    resampled_sums,
    sums_by_unit,
)
from metaeval.stats.resampling.items import (
    Floats,
    as_scores,
    scaled,
    scored_items,
)


def auc(lower: npt.ArrayLike, upper: npt.ArrayLike) -> float:
    """Probability in [0, 1] that a random item of `upper` scores higher than one of `lower`; NaN
    where one side has no scored item.

    Parameters
    ----------
    lower, upper
        Scores of any shape; NaN = not scored, left out. Items of all images are compared with each
        other, not only versions of the same image (that is `pair_counts`).

    Notes
    -----
    Definition
        U / (n_lower · n_upper) with the Mann–Whitney statistic U.
    Ties
        A tie counts one half.
    Interval
        By resampling images (`graded_statistics`), which keeps the two versions of an image
        together; DeLong's interval would take the two sides as independent. No random part.
    Source
        H. B. Mann and D. R. Whitney (1947), Annals of Mathematical Statistics 18; J. A. Hanley and
        B. J. McNeil (1982), Radiology 143. Equal to `scipy.stats.mannwhitneyu` (tested).

    Examples
    --------
    >>> from metaeval.stats.ordering.pairwise import auc
    >>> auc(lower=[0.1, 0.2, 0.4], upper=[0.5, 0.4])
    0.9166666666666666
    """
    low, high = np.sort(scored_items(lower, 0).scores), np.sort(scored_items(upper, 0).scores)
    if not len(low) or not len(high):
        return float("nan")
    below = np.searchsorted(low, high, side="left").sum()
    not_above = np.searchsorted(low, high, side="right").sum()
    return int(below + not_above) / (2 * len(low) * len(high))


def pairwise_difference_pearson(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    image: npt.ArrayLike,
    *,
    counts: Counts | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> IntervalEstimate:
    """Pearson's r over all differences between two captions of the same image; `n` pairs.

    NaN where either side has no differences within an image.

    Parameters
    ----------
    scores, human
        float64 [n]; an item with NaN in either is left out.
    image
        [n] labels: which captions are compared with each other.
    counts
        [replicates, n_images] from `bootstrap_counts`, in the order of the sorted labels.

    Notes
    -----
    Definition
        Over all ordered pairs (i, j) of captions of one image, r of (s_i − s_j) with (h_i − h_j).
        As Σ (s_i − s_j)(h_i − h_j) = 2 n Σ (s_i − s̄)(h_i − h̄) within an image of n captions, no
        pair is enumerated.
    Ties
        A difference of 0 is a value like any other.
    Unit
        The image.
    Source
        DiIanni and Deutsch (2025), EMNLP, arXiv 2509.25546. Sensitive to outliers.

    Examples
    --------
    >>> result = pairwise_difference_pearson([1, 2, 7, 9], [1, 2, 3, 5], ["x", "x", "y", "y"])
    >>> round(result.value, 4), result.n
    (1.0, 2)
    """
    values, unit, counts = complete_items(
        {"scores": scores, "human": human}, image, counts, replicates, seed
    )
    size = np.bincount(unit, minlength=counts.shape[1]).astype(np.float64)
    means = sums_by_unit(list(map(scaled, values)), unit, counts) / np.maximum(size, 1)[:, None]
    a, b = (scaled(v) - mean[unit] for v, mean in zip(values, means.T, strict=True))
    table = size[:, None] * sums_by_unit((a * b, a * a, b * b), unit, counts)
    pairs = int((size * (size - 1)).sum()) // 2
    r = float(_ratio(table.sum(axis=0, keepdims=True))[0])
    drawn = _ratio(resampled_sums(table, counts))
    return interval_estimate(r, drawn, confidence, int((size > 1).sum()), pairs)


def _ratio(sums: Floats) -> Floats:
    xy, xx, yy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where((xx > 0) & (yy > 0), xy / (np.sqrt(xx) * np.sqrt(yy)), np.nan)
    return np.asarray(np.clip(r, -1, 1), dtype=np.float64)


def soft_pairwise_accuracy(
    human: npt.ArrayLike, metric: npt.ArrayLike, *, replicates: int = 1000, seed: int = 4
) -> float:
    """Agreement of a metric with people about systems, weighing pairs by how clear they are.

    In [0, 1]; NaN without a pair of systems that share an item.

    Parameters
    ----------
    human, metric
        float64 [systems, items]: the ratings and the scores of the systems' outputs for the same
        items, higher is better. NaN = not rated or not scored.
    replicates, seed
        Of the permutation test. The signs are those of the public code for the same seed and
        number of complete items.

    Notes
    -----
    Definition
        1 − mean over pairs of systems of |p_human − p_metric|. p is one-sided: with the scores of
        the two systems swapped at random item by item, the share of arrangements whose summed
        difference is at least the observed one. One matrix of signs serves all pairs and sides.
    Ties
        An arrangement equal to the observed difference counts as at least as great; sums that
        differ by less than 1e-9 of the sum of sizes are equal.
    Missing
        An item without a rating or score of either system leaves the pair.
    Unit
        The item (image); its variance is inside the p-values.
    Source
        B. Thompson, N. Mathur, D. Deutsch, H. Khayrallah (2024), Improving statistical significance
        in human evaluation of automatic metrics via soft pairwise accuracy, WMT. Equal to `pce.py`
        of mt-metrics-eval, which sums in float32, except where that rounding decides ties: by .0004
        on SummEval, by more on small tables (docs/judgments.md; tested against an independent
        implementation).

    Examples
    --------
    >>> human = np.array([[5, 4, 5, 4.0], [3, 3, 4, 2], [3, 2, 4, 3]])
    >>> round(soft_pairwise_accuracy(human, human), 3)
    1.0
    >>> soft_pairwise_accuracy(human, -human) < 0.5
    True
    """
    people, scores = as_scores(human), as_scores(metric)
    if people.ndim != 2 or people.shape != scores.shape:
        raise InputError(
            f"shapes {people.shape} and {scores.shape} are not both [systems, items]", field="human"
        )
    signs = random_signs(people.shape[1], replicates, seed)
    distances = []
    for i, j in combinations(range(len(people)), 2):
        gaps = np.stack([people[i] - people[j], scores[i] - scores[j]])
        common = ~np.isnan(gaps).any(axis=0)
        if common.any():
            gaps = np.where(common, gaps, 0.0)
            least = gaps.sum(axis=1) - 1e-9 * np.abs(gaps).sum(axis=1)
            of_people, of_metric = (gaps @ signs.T >= least[:, None]).mean(axis=1)
            distances.append(abs(of_people - of_metric))
    return 1 - float(np.mean(distances)) if distances else float("nan")


def random_signs(n: int, replicates: int, seed: int) -> Floats:
    """±1 [replicates, n], drawn as float32 uniforms and rounded: the public code's signs."""
    uniforms = np.random.default_rng(seed).random(size=(replicates, n), dtype=np.float32)
    return np.rint(uniforms).astype(np.float64) * 2 - 1
