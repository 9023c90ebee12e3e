"""What else a column's agreement with people shows: differences, noise, labels saved, systems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metaeval.errors import InputError
from metaeval.experiments.judgments.sample import RankedScores, Ratings, Sample, varies
from metaeval.results.base import Estimate
from metaeval.results.judgments import (
    BinaryAgreement,
    FurtherAgreement,
    PreferredShare,
    RaterReplacement,
)
from metaeval.stats.agreement.ceiling import LEAST_ITEMS, alt_test, disattenuated_correlation
from metaeval.stats.agreement.controls import pair_table
from metaeval.stats.ordering.classification import classification
from metaeval.stats.ordering.pairwise import pairwise_difference_pearson, soft_pairwise_accuracy
from metaeval.stats.ordering.tie_calibration import cross_fitted_tie_calibration
from metaeval.stats.preference.difference import PreferenceCurve, preference_curve
from metaeval.stats.preference.isotonic import to_rating_scale
from metaeval.stats.resampling.items import Floats
from metaeval.stats.sample_size import label_efficiency

LABELS = 100  # of which `label_efficiency` says how many they are worth
_REPLICATES = 500  # of these intervals; logistic curves are fitted in the first 200
_CURVES = 200
_POINTS = 13  # of a drawn curve
EPSILON = 0.2  # of the alt-test: the source's advice where raters are experts


def further_agreement(
    column: RankedScores, given: Ratings, sample: Sample, dimension: str, confidence: float
) -> FurtherAgreement | None:
    """The further statistics of a column in one dimension; `None` for a constant column."""
    if not varies(column):
        return None
    x, y, image, counts = column.scores, given.mean, given.image, sample.counts[:_REPLICATES]
    differences = pairwise_difference_pearson(x, y, image, counts=counts, confidence=confidence)
    ties = cross_fitted_tie_calibration(x, y, image, counts=counts, confidence=confidence)
    saved = label_efficiency(
        x, y, image, n_labels=LABELS, counts=counts, confidence=confidence
    )  # fmt: skip
    curve = _curve(column, given, sample, confidence)
    worth = [LABELS * v for v in (saved.efficiency, saved.low, saved.high)]
    return FurtherAgreement(
        difference_pearson=Estimate(
            value=differences.r, low=differences.low, high=differences.high, n=differences.n_pairs
        ),
        cross_fitted_accuracy=Estimate(
            value=ties.accuracy, low=ties.low, high=ties.high, n=ties.n_pairs
        ),
        disattenuated=_disattenuated(column, sample, dimension, given, confidence),
        labels_worth=Estimate(value=worth[0], low=worth[1], high=worth[2], n=saved.n),
        noticed=None
        if curve is None
        else Estimate(
            value=curve.noticed, low=curve.noticed_low, high=curve.noticed_high, n=curve.n_pairs
        ),
        soft_pairwise_accuracy=_soft_pairwise(column, given, sample),
        preferred=() if curve is None else tuple(_points(curve)),
        replaces_rater=_replacement(column, given, sample, dimension),
    )


def binary_agreement(
    column: RankedScores, given: Ratings, sample: Sample, confidence: float
) -> BinaryAgreement | None:
    """Average precision and AUROC of the label 1; `None` for ratings of more than two values."""
    rated = ~np.isnan(given.mean)
    values = np.unique(given.mean[rated])
    if len(values) != 2:
        return None
    upward = sample.judged.higher_is_better
    positive = given.mean[rated] == values[1 if upward else 0]
    scores = column.scores[rated] if upward else -column.scores[rated]
    found = classification(
        scores, positive, given.image[rated], sample.counts, confidence=confidence
    )
    precision, area = found.average_precision_ci, found.auroc_ci
    return BinaryAgreement(
        positive=found.n_positive / found.n if found.n else None,
        average_precision=Estimate(
            value=found.average_precision, low=precision[0], high=precision[1], n=found.n
        ),
        auroc=Estimate(value=found.auroc, low=area[0], high=area[1], n=found.n),
    )


def _disattenuated(
    column: RankedScores, sample: Sample, dimension: str, given: Ratings, confidence: float
) -> Estimate | None:
    """r free of the raters' noise, where every rated caption has the same number of ratings."""
    judged = sample.judged.judged
    sizes = {len(j.human[dimension]) for j in judged if j.human.get(dimension)}
    if len(sizes) != 1 or (k := sizes.pop()) < 2:
        return None
    nothing = (np.nan,) * k
    ratings = np.array([j.human.get(dimension) or nothing for j in judged], dtype=np.float64)
    made = disattenuated_correlation(
        column.scores, ratings, given.image, counts=sample.counts[:_REPLICATES],
        confidence=confidence,
    )  # fmt: skip
    return Estimate(
        value=made.corrected, low=made.corrected_low, high=made.corrected_high, n=made.n
    )


def _curve(
    column: RankedScores, given: Ratings, sample: Sample, confidence: float
) -> PreferenceCurve | None:
    """P(people prefer the higher score) over the pairs that they rate differently."""
    pairs = pair_table(column.scores, given.mean, np.zeros(len(given.mean)), given.image)
    if not len(pairs.image):
        return None
    images = np.unique(pairs.image)
    return preference_curve(
        pairs.score_difference, np.ones(len(pairs.image)), pairs.image,
        counts=sample.counts[:_CURVES, images], points=_POINTS, isotonic_replicates=0,
        confidence=confidence,
    )  # fmt: skip


def _points(curve: PreferenceCurve) -> Iterator[PreferredShare]:
    columns = (curve.logistic, curve.logistic_low, curve.logistic_high)
    for k, difference in enumerate(curve.difference.tolist()):
        value, low, high = (float(column[k]) for column in columns)
        yield PreferredShare(
            difference=difference,
            logistic=Estimate(value=value, low=low, high=high),
            isotonic=float(curve.isotonic[k]),
        )


def _replacement(
    column: RankedScores, given: Ratings, sample: Sample, dimension: str
) -> RaterReplacement | None:
    """The alt-test, where it is known who gave each rating and enough captions have two."""
    judged = sample.judged.judged
    names = sorted({name for j in judged for name in j.raters})
    if len(names) < 2:
        return None
    place = {name: k for k, name in enumerate(names)}
    ratings = np.full((len(judged), len(names)), np.nan)
    for row, j in zip(ratings, judged, strict=True):
        row[[place[name] for name in j.raters]] = j.human[dimension] if j.raters else ()
    try:
        made = alt_test(
            to_rating_scale(column.scores, ratings, given.image), ratings, epsilon=EPSILON
        )
    except InputError:  # too few captions, or ratings sorted within captions
        return None
    tested = made.n_items[made.n_items >= LEAST_ITEMS]
    return RaterReplacement(
        winning_rate=made.winning_rate, advantage=made.advantage, raters=len(tested),
        items=int(tested.min()), epsilon=EPSILON,
    )  # fmt: skip


def _soft_pairwise(column: RankedScores, given: Ratings, sample: Sample) -> float | None:
    """SPA over systems; several captions of one system and image are averaged."""
    systems = sample.systems
    if len(systems) < 2:
        return None
    place = {name: k for k, name in enumerate(systems)}
    known = np.array([j.system in place for j in sample.judged.judged])
    known &= ~(np.isnan(column.scores) | np.isnan(given.mean))
    row = np.array([place.get(j.system or "", 0) for j in sample.judged.judged])
    cell = (row * given.n_images + given.image)[known]
    size = len(systems) * given.n_images
    n = np.bincount(cell, minlength=size)

    def table(values: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            means = np.bincount(cell, values[known], minlength=size) / n
        return np.asarray(means.reshape(len(systems), given.n_images))

    made = soft_pairwise_accuracy(table(given.mean), table(column.scores))
    return made.value if made.n_pairs else None
