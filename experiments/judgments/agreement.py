"""One column against people: correlations over rows, accuracy within images, systems, parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from metaeval.data.judgments.judged import JudgedCaption
from metaeval.errors import InputError
from metaeval.experiments.judgments.sample import (
    SYMBOL,
    Ratings,
    Sample,
    varies,
)
from metaeval.experiments.measure import Mask, ResampledValue
from metaeval.results.base import Estimate
from metaeval.stats.agreement.ceiling import LEAST_ITEMS, alt_test, disattenuated_correlation
from metaeval.stats.agreement.controls import partial_correlation
from metaeval.stats.correlation.correlations import (
    WeightedCorrelations,
    correlation,
    correlations,
)
from metaeval.stats.ordering.detection import classification
from metaeval.stats.ordering.pairwise import pairwise_difference_pearson, soft_pairwise_accuracy
from metaeval.stats.ordering.tie_calibration import (
    TieCalibration,
    calibrate,
    cross_fitted_tie_calibration,
    pair_outcomes,
    pairs_within,
)
from metaeval.stats.preference.difference import PreferenceCurve, preference_curve, to_rating_scale
from metaeval.stats.resampling.bootstrap import Counts, resampled_sums
from metaeval.stats.resampling.items import Floats, scaled, without_rounding
from metaeval.stats.sample_size import label_efficiency

Estimates = dict[str, Estimate]  # by name

LABELS = 100  # of which `label_efficiency` says how many they are worth
_REPLICATES = 500  # of these intervals; logistic curves are fitted in the first 200
_CURVES = 200
_CURVE_PAIRS = 50_000  # of more, so many are drawn
MOST_GROUPS = 10  # with more different ratings their range is divided
DIVISIONS = 5
_POINTS = 13  # of a drawn curve
EPSILON = 0.2  # of the alt-test: the source's advice where raters are experts


def further_agreement(
    scores: Floats, given: Ratings, sample: Sample, dimension: str, confidence: float
) -> tuple[Estimates, list[dict[str, Any]]]:
    """The further statistics of a column in one dimension, and the points of its curve of
    preference; nothing for a constant column."""
    if not varies(scores):
        return {}, []
    x, y, image, counts = scores, given.mean, given.image, sample.counts[:_REPLICATES]
    differences = pairwise_difference_pearson(x, y, image, counts=counts, confidence=confidence)
    ties = cross_fitted_tie_calibration(x, y, image, counts=counts, confidence=confidence)
    saved = label_efficiency(x, y, image, n_labels=LABELS, counts=counts, confidence=confidence)
    worth = saved._replace(
        value=LABELS * saved.value, low=LABELS * saved.low, high=LABELS * saved.high
    )
    estimates = {
        "difference_pearson": Estimate.of(differences),
        "cross_fitted_accuracy": Estimate.of(ties),
        "labels_worth": Estimate.of(worth),
        **_disattenuated(scores, sample, dimension, given, confidence),
        **_soft_pairwise(scores, given, sample),
        **_replacement(scores, given, sample, dimension),
    }
    curve = _curve(scores, given, sample, confidence)
    if curve is None:
        return estimates, []
    return {**estimates, "noticed": Estimate.of(curve.noticed)}, _points(curve)


def binary_agreement(
    scores: Floats, given: Ratings, sample: Sample, confidence: float
) -> Estimates:
    """Average precision and AUROC of the label 1, and the share of the captions that have it;
    nothing for ratings of more than two values.

    Where a higher label means a worse caption (`dataset.higher_is_better=false`), the lowest scores
    are expected to have it.
    """
    rated = ~np.isnan(given.mean)
    values = np.unique(given.mean[rated])
    if len(values) != 2:
        return {}
    upward = sample.judged.higher_is_better
    positive = given.mean[rated] == values[1 if upward else 0]
    signed = scores[rated] if upward else -scores[rated]
    separation = classification(
        signed, positive, given.image[rated], sample.counts, confidence=confidence
    )
    share = separation.n_positive / separation.auroc.n if separation.auroc.n else None
    return {
        "average_precision": Estimate.of(separation.average_precision),
        "auroc": Estimate.of(separation.auroc),
        "positive": Estimate(value=share),
    }


def ratings_of(judged: Sequence[JudgedCaption], dimension: str) -> Floats:
    """The ratings of each caption, float64 [n, k]: k, at least 2, is the number of ratings that
    most captions have, of several such numbers the greatest. NaN for a caption with another number;
    [n, 0] where no caption has two ratings."""
    given = [j.human.get(dimension) or () for j in judged]
    sizes = Counter(len(ratings) for ratings in given if len(ratings) > 1)
    k = max(sizes, key=lambda size: (sizes[size], size), default=0)
    table = np.full((len(given), k), np.nan)
    for row, ratings in zip(table, given, strict=True):
        if len(ratings) == k:
            row[:] = ratings
    return table


def _disattenuated(
    scores: Floats, sample: Sample, dimension: str, given: Ratings, confidence: float
) -> Estimates:
    """r free of the raters' noise, over the captions with the usual number of ratings."""
    ratings = ratings_of(sample.judged.judged, dimension)
    if ratings.shape[1] < 2:
        return {}
    made = disattenuated_correlation(
        scores, ratings, given.image, counts=sample.counts[:_REPLICATES],
        confidence=confidence,
    )  # fmt: skip
    return {"disattenuated": Estimate.of(made)}


def _curve(
    scores: Floats, given: Ratings, sample: Sample, confidence: float
) -> PreferenceCurve | None:
    """P(people prefer the higher score) over the pairs that they rate differently."""
    pairs = pairs_within(scores, given.mean, given.image, _CURVE_PAIRS)
    differ = ~pairs.tied
    if not differ.any():
        return None
    # of the caption that people prefer minus the other one
    gap = np.where(pairs.concordant, pairs.distance, -pairs.distance)[differ]
    image = pairs.group[differ]
    return preference_curve(
        gap, np.ones(len(gap)), image, counts=sample.counts[:_CURVES, np.unique(image)],
        points=_POINTS, confidence=confidence,
    )  # fmt: skip


def _points(curve: PreferenceCurve) -> list[dict[str, Any]]:
    """P(people prefer the higher score) by the difference of scores. `y` is logistic; `isotonic`
    assumes only that the curve does not fall, and shows whether the logistic curve fits."""
    names = ("x", "y", "low", "high", "isotonic")
    columns = (
        curve.difference,
        curve.logistic,
        curve.low,
        curve.high,
        curve.isotonic,
    )
    return [
        dict(zip(names, map(float, point), strict=True)) for point in zip(*columns, strict=True)
    ]


def _replacement(scores: Floats, given: Ratings, sample: Sample, dimension: str) -> Estimates:
    """The alternative annotator test (Calderon et al. 2025), where it is known who gave each rating
    and enough captions have two.

    The winning rate is the share of the `n` raters against whom the metric wins: with one half or
    more it may replace one. `advantage`: the mean probability that the metric is at least as close
    to the other raters; `n` is the fewest captions of a rater.
    """
    judged = sample.judged.judged
    names = sorted({name for j in judged for name in j.raters})
    if len(names) < 2:
        return {}
    place = {name: k for k, name in enumerate(names)}
    ratings = np.full((len(judged), len(names)), np.nan)
    for row, j in zip(ratings, judged, strict=True):
        row[[place[name] for name in j.raters]] = j.human[dimension] if j.raters else ()
    try:
        made = alt_test(to_rating_scale(scores, ratings, given.image), ratings, epsilon=EPSILON)
    except InputError:  # too few captions, or ratings sorted within captions
        return {}
    tested = made.n_items[made.n_items >= LEAST_ITEMS]
    return {
        "winning_rate": Estimate(value=made.winning_rate, n=len(tested)),
        "advantage": Estimate(value=made.advantage, n=int(tested.min())),
    }


def _soft_pairwise(scores: Floats, given: Ratings, sample: Sample) -> Estimates:
    """SPA over systems; several captions of one system and image are averaged."""
    score, human, n = _system_tables(scores, given, sample).transpose(0, 2, 1)
    with np.errstate(invalid="ignore"):
        made = soft_pairwise_accuracy(human / n, score / n)
    return {} if np.isnan(made) else {"soft_pairwise_accuracy": Estimate(value=made)}


def score_groups(scores: Floats, given: Ratings, counts: Counts, confidence: float) -> Estimates:
    """The mean score of captions that people rated alike, and how far it lies above the group
    below, in standard deviations of all scores; nothing where there are fewer than two groups.

    After TIGEr's Figs. 4 and 8: a metric that agrees with people scores each group above the one
    below.
    """
    labels, group = rating_groups(given.mean)
    known = (group >= 0) & ~np.isnan(scores)
    if len(labels) < 2 or not known.any():
        return {}
    scores = scores[known]
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
    estimates = {}
    for k, label in enumerate(labels):
        estimates[f"mean_score_{label}"] = Estimate.resampled(
            means[k], replicates[:, k], confidence, int((n[:, k] > 0).sum()), int(n[:, k].sum())
        )
        if k:
            step = (means[k] - means[k - 1]) / spread if spread else float("nan")
            estimates[f"step_{label}"] = Estimate(value=step)
    return estimates


def rating_groups(means: Floats) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the groups, and the group of each mean rating (−1 where it is NaN).

    Integers are groups of their own. Where some rating is not an integer, and with more than
    MOST_GROUPS integers, the range of the ratings is cut into DIVISIONS equal parts, which are
    named; each part but the last one is without its upper end.

    >>> rating_groups(np.array([1.0, 2.0, np.nan, 5.0]))
    (('1', '2', '5'), array([ 0,  1, -1,  2]))
    >>> rating_groups(np.array([0.0, 0.45, np.nan, 1.0]))[1]
    array([ 0,  2, -1,  4])
    """
    means = without_rounding(means)
    is_known = ~np.isnan(means)
    values = np.unique(means[is_known])
    group = np.full(len(means), -1, dtype=np.int64)
    if len(values) < 2:
        return (), group
    if len(values) <= MOST_GROUPS and (values == np.round(values)).all():
        group[is_known] = np.searchsorted(values, means[is_known])
        return tuple(f"{value:g}" for value in values), group
    edges = np.linspace(values[0], values[-1], DIVISIONS + 1)
    place = np.searchsorted(edges, means[is_known], "right") - 1
    group[is_known] = np.minimum(place, DIVISIONS - 1)
    ends = next(e for d in range(3, 18) if len(set(e := [f"{x:.{d}g}" for x in edges])) == len(e))
    return tuple(f"{a} to {b}" for a, b in pairwise(ends)), group


def agreement_of(
    scores: Floats, given: Ratings, sample: Sample, statistic: str, confidence: float
) -> Estimates:
    """A column's agreement in one dimension apart from that over rows, pairs and systems, by the
    name of each number."""
    estimates: Estimates = {}
    for name, captions in sample.views.items():
        estimates |= of_view(scores, given, name, captions, sample.counts, statistic, confidence)
    return {
        **estimates,
        **binary_agreement(scores, given, sample, confidence),
        "length_controlled": _length_controlled(scores, given, sample, confidence),
        **score_groups(scores, given, sample.counts, confidence),
    }


def _length_controlled(
    scores: Floats, given: Ratings, sample: Sample, confidence: float
) -> Estimate:
    """Partial Pearson's r with the ratings, given the number of words of the caption."""
    words = np.array([len(j.candidate.split()) for j in sample.judged.judged], dtype=np.float64)
    image = given.image[given.row]
    partial = partial_correlation(
        scores[given.row], given.value, words[given.row], image, statistic="pearson",
        counts=sample.counts[:, np.unique(image)], confidence=confidence,
    )  # fmt: skip
    return Estimate.of(partial)


def accuracy_estimates(
    accuracy: ResampledValue, calibrated: TieCalibration, confidence: float
) -> Estimates:
    """Pairwise accuracy within images, with tie calibration (Deutsch et al. 2023): the ε within
    which scores count as tied, the share of pairs that it ties, and the accuracy at ε = 0."""
    return {
        "accuracy": accuracy.estimate(confidence),
        "uncalibrated": Estimate(value=calibrated.uncalibrated),
        "epsilon": Estimate(value=calibrated.epsilon),
        "tied": Estimate(value=calibrated.tied),
        "pairs": Estimate(value=calibrated.total),
    }


def pair_accuracy(
    scores: Floats, given: Ratings, counts: Counts
) -> tuple[ResampledValue, TieCalibration]:
    """The accuracy on pairs of captions of an image with ties calibrated, at an ε that the
    replicates keep, and the calibration. The units are images that have a pair, the items pairs."""
    pairs = pairs_within(scores, given.mean, given.image)
    made = calibrate(pairs)
    # `pairs_within` numbers the images from 0 in ascending order, as `given.image` does
    right, total = pair_outcomes(pairs, made.epsilon, given.n_images)
    shares = right / np.maximum(total, 1)
    sums, n = resampled_sums(np.stack([shares, 1.0 * (total > 0)], axis=1), counts).T
    with np.errstate(invalid="ignore"):
        replicates = sums / n
    return ResampledValue(made.accuracy, replicates, made.n_groups, made.n_pairs), made


def system_statistics(scores: Floats, given: Ratings, sample: Sample) -> dict[str, ResampledValue]:
    """Agreement over systems, mean scores against mean ratings, by name; `n` systems."""
    tables = _system_tables(scores, given, sample)
    once = np.ones((1, given.n_images), dtype=np.int8)
    point, resampled = (
        system_correlations(*_system_means(tables, counts)) for counts in (once, sample.counts)
    )
    n_images, n = int(tables[2].any(axis=1).sum()), int(tables[2].any(axis=0).sum())
    return {
        f"system_{name}": ResampledValue(float(values[0]), replicates, n_images, n)
        for name, values, replicates in zip(point._fields, point, resampled, strict=True)
    }


def _system_tables(scores: Floats, given: Ratings, sample: Sample) -> Floats:
    """Sums of scores, sums of ratings, and captions: [3, images, systems]."""
    rated = ~(np.isnan(scores) | np.isnan(given.mean)) & (sample.system >= 0)
    k, every = len(sample.systems), np.ones(len(scores))
    cell = given.image[rated] * k + sample.system[rated]
    sums = [
        np.bincount(cell, part[rated], given.n_images * k) for part in (scores, given.mean, every)
    ]
    return np.reshape(sums, (3, given.n_images, k))


def _system_means(tables: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """Mean score and mean rating [r, systems] from tables [3, images, systems]."""
    three, images, systems = tables.shape
    flat = tables.transpose(1, 0, 2).reshape(images, three * systems)
    score, human, n = resampled_sums(flat, counts).reshape(-1, three, systems).transpose(1, 0, 2)
    with np.errstate(invalid="ignore"):
        return score / n, human / n


class SystemCorrelations(NamedTuple):
    """Pearson's r, τ-b and pairwise accuracy over systems, float64 [r] each."""

    pearson: Floats
    kendall_tau_b: Floats
    accuracy: Floats


def system_correlations(metric: Floats, human: Floats) -> SystemCorrelations:
    """Correlations over systems from means [r, systems].

    Pairwise accuracy (Kocmi et al. 2021): the share of pairs of systems that metric and people put
    in the same order. Means of people that differ by rounding alone are equal.
    """
    people = without_rounding(human)
    x, y = (scaled(v) for v in (metric, human))
    x, y = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
    first, second = np.triu_indices(metric.shape[1], 1)
    a = np.sign(metric[:, first] - metric[:, second])
    b = np.sign(people[:, first] - people[:, second])
    with np.errstate(invalid="ignore", divide="ignore"):
        pearson = (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
        pearson[(people == people[:, :1]).all(axis=1)] = np.nan
        tau = (a * b).sum(axis=1) / np.sqrt((a != 0).sum(axis=1) * (b != 0).sum(axis=1))
    undefined = np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)
    accuracy = np.where(undefined, np.nan, (a == b).mean(axis=1))
    return SystemCorrelations(pearson, tau, accuracy)


def of_view(
    scores: Floats,
    given: Ratings,
    view: str,
    captions: Mask,
    counts: Counts,
    statistic: str,
    confidence: float,
) -> Estimates:
    """The correlations on a part of the captions, the protocol's with its interval."""
    rows = captions[given.row]
    x, y, unit = scores[given.row[rows]], given.value[rows], given.image[given.row[rows]]
    weighted = WeightedCorrelations(x, y, unit, given.n_images, names=(statistic,))
    n_images = len(np.unique(unit[~np.isnan(x)]))
    values, n = correlations(x, y), int((~np.isnan(x)).sum())
    estimates = {f"{name}_{view}": Estimate(value=getattr(values, name), n=n) for name in SYMBOL}
    replicates = getattr(weighted.of(counts), statistic)
    tested = Estimate.resampled(getattr(values, statistic), replicates, confidence, n_images, n)
    return {**estimates, f"{statistic}_{view}": tested}


def on_common_rows(
    columns: Mapping[str, Floats], given: Ratings, statistic: str
) -> dict[str, Estimate]:
    """Column → the correlation on the `n` rows that all metrics could score.

    Empty where all metrics scored the same rows. A metric that scored fewer than half of the rows
    does not take part, so that its gaps do not reduce the rows of the others.
    """
    of_rows = {name: scores[given.row] for name, scores in columns.items()}
    scored = {name: ~np.isnan(scores) for name, scores in of_rows.items()}
    taking_part = [name for name, rows in scored.items() if 2 * rows.sum() >= len(given.row)]
    if not taking_part or len({scored[name].tobytes() for name in taking_part}) < 2:
        return {}
    rows = np.logical_and.reduce([scored[name] for name in taking_part])
    return {
        name: Estimate(
            value=correlation(statistic, of_rows[name][rows], given.value[rows]), n=int(rows.sum())
        )
        for name in taking_part
    }
