"""The mean score of captions that people rated alike, and how far neighbouring groups lie apart.

After TIGEr's Figs. 4 and 8: a metric that agrees with people scores each group above the one below.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from metaeval.experiments.judgments.sample import RankedScores, Ratings
from metaeval.results.base import Estimate
from metaeval.results.judgments import ScoreGroup
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.means import resampled_sums

MOST_GROUPS = 10  # with more different integers the range of the ratings is divided
DIVISIONS = 5


def score_groups(
    column: RankedScores, given: Ratings, counts: Counts, confidence: float
) -> tuple[ScoreGroup, ...]:
    """The groups of a column, lowest rating first; empty where there are fewer than two."""
    labels, group = rating_groups(given.mean)
    known = (group >= 0) & ~np.isnan(column.scores)
    if len(labels) < 2 or not known.any():
        return ()
    scores = column.scores[known]
    greatest = float(np.abs(scores).max()) or 1.0  # of small scores the squares would be 0
    spread = greatest * float((scores / greatest).std())
    cell = given.image[known] * len(labels) + group[known]
    size = given.n_images * len(labels)
    sums = np.bincount(cell, scores, minlength=size).reshape(given.n_images, -1)
    n = np.bincount(cell, minlength=size).reshape(given.n_images, -1)
    with np.errstate(invalid="ignore"):
        means = sums.sum(axis=0) / n.sum(axis=0)
        both = resampled_sums(np.concatenate([sums, n.astype(np.float64)], axis=1), counts)
        replicates = both[:, : len(labels)] / both[:, len(labels) :]
    groups = []
    for k, label in enumerate(labels):
        low, high = percentile_interval(replicates[:, k], confidence, int((n[:, k] > 0).sum()))
        step = (means[k] - means[k - 1]) / spread if k and spread else float("nan")
        groups.append(
            ScoreGroup(
                rating=label,
                mean=Estimate(value=means[k], low=low, high=high, n=int(n[:, k].sum())),
                step=step,
            )
        )
    return tuple(groups)


def rating_groups(means: Floats) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the groups, and the group of each mean rating (−1 where it is NaN).

    A mean rating belongs to the nearest integer, halves to the upper one. With more than
    MOST_GROUPS integers, or one, the range of the ratings is cut into DIVISIONS equal parts.

    >>> rating_groups(np.array([1.0, 1.4, 1.5, np.nan, 3.0]))
    (('1', '2', '3'), array([ 0,  0,  1, -1,  2]))
    """
    known = means[~np.isnan(means)]
    group = np.full(len(means), -1, dtype=np.int64)
    if not len(known) or known.min() == known.max():
        return (), group
    rounded = np.floor(known + 0.5)
    values = np.unique(rounded)
    if 2 <= len(values) <= MOST_GROUPS:
        group[~np.isnan(means)] = np.searchsorted(values, rounded)
        return tuple(f"{value:g}" for value in values), group
    edges = np.linspace(known.min(), known.max(), DIVISIONS + 1)
    group[~np.isnan(means)] = np.clip(np.searchsorted(edges, known, "right") - 1, 0, DIVISIONS - 1)
    return tuple(f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges)), group
