"""Soft pairwise accuracy: do metric and people agree on how sure each pair of systems is?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats, as_scores


class SoftPairwiseAccuracy(NamedTuple):
    """What `soft_pairwise_accuracy` returns.

    Attributes
    ----------
    value
        SPA in [0, 1]; NaN without a pair of systems that share an item.
    accuracy
        Plain pairwise accuracy of the same means: the share of pairs ordered alike; a tie on one
        side only is half right.
    human_p, metric_p
        float64 [systems, systems], upper triangle: one-sided p-values of "the first system is
        better"; NaN elsewhere.
    n_pairs
        How many pairs of systems count.
    """

    value: float
    accuracy: float
    human_p: Floats
    metric_p: Floats
    n_pairs: int


def soft_pairwise_accuracy(
    human: npt.ArrayLike, metric: npt.ArrayLike, *, replicates: int = 1000, seed: int = 4
) -> SoftPairwiseAccuracy:
    """Agreement of a metric with people about systems, weighing pairs by how clear they are.

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
    >>> round(soft_pairwise_accuracy(human, human).value, 3)
    1.0
    >>> soft_pairwise_accuracy(human, -human).value < 0.5
    True
    """
    people, scores = as_scores(human), as_scores(metric)
    if people.ndim != 2 or people.shape != scores.shape:
        raise InputError(
            f"shapes {people.shape} and {scores.shape} are not both [systems, items]", field="human"
        )
    k, n = people.shape
    signs = random_signs(n, replicates, seed)
    tables = np.full((2, k, k), np.nan)
    agree, pairs = 0.0, 0
    for i in range(k):
        for j in range(i + 1, k):
            gaps = np.stack([people[i] - people[j], scores[i] - scores[j]])
            common = ~np.isnan(gaps).any(axis=0)
            if not common.any():
                continue
            gaps = np.where(common, gaps, 0.0)
            observed, margin = gaps.sum(axis=1), 1e-9 * np.abs(gaps).sum(axis=1)
            swapped = gaps @ signs.T
            tables[:, i, j] = (swapped >= (observed - margin)[:, None]).mean(axis=1)
            order = np.sign(np.where(np.abs(observed) <= margin, 0.0, observed))
            agree += 1 - abs(order[0] - order[1]) / 2
            pairs += 1
    if not pairs:
        return SoftPairwiseAccuracy(float("nan"), float("nan"), tables[0], tables[1], 0)
    value = 1 - float(np.nanmean(np.abs(tables[0] - tables[1])))
    return SoftPairwiseAccuracy(value, agree / pairs, tables[0], tables[1], pairs)


def random_signs(n: int, replicates: int, seed: int) -> Floats:
    """±1 [replicates, n], drawn as float32 uniforms and rounded: the public code's signs."""
    uniforms = np.random.default_rng(seed).random(size=(replicates, n), dtype=np.float32)
    return np.rint(uniforms).astype(np.float64) * 2 - 1
