"""One column against people: correlations over rows, accuracy within images, systems, parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from metaeval.experiments.judgments.further import Estimates, binary_agreement, score_groups
from metaeval.experiments.judgments.sample import (
    SYMBOL,
    Correlation,
    RankedScores,
    Ratings,
    RowCorrelations,
    Sample,
    View,
)
from metaeval.results.base import Estimate
from metaeval.stats.agreement.controls import partial_correlation
from metaeval.stats.correlation.correlations import (
    WeightedCorrelations,
    correlation,
    correlations,
)
from metaeval.stats.ordering.tie_calibration import pair_outcomes, pairs_within, tie_calibration
from metaeval.stats.resampling.bootstrap import Counts, interval_estimate, percentile_interval
from metaeval.stats.resampling.items import Floats, scaled, without_rounding
from metaeval.stats.resampling.means import resampled_sums


def agreement_of(
    column: RankedScores,
    rows: RowCorrelations,
    sample: Sample,
    statistic: Correlation,
    confidence: float,
) -> Estimates:
    """A column's agreement in one dimension, by the name of each number."""
    given = rows.given
    values, replicates = rows.of(column.scores)
    n, n_images = int((~np.isnan(column.scores[given.row])).sum()), given.images_of(column.scores)
    estimates: Estimates = {
        name: Estimate.of(
            interval_estimate(
                getattr(values, name), getattr(replicates, name), confidence, n_images
            )
        ).model_copy(update={"n": n})
        for name in SYMBOL
    }
    estimates |= _accuracy(column, given, sample.counts, confidence)
    if len(sample.systems) > 1:
        estimates |= _system(column, given, sample, confidence)
    for view in sample.views:
        estimates |= of_view(column, given, view, sample.counts, statistic, confidence)
    return {
        **estimates,
        **binary_agreement(column, given, sample, confidence),
        "length_controlled": _length_controlled(column, given, sample, confidence),
        **score_groups(column, given, sample.counts, confidence),
    }


def _length_controlled(
    column: RankedScores, given: Ratings, sample: Sample, confidence: float
) -> Estimate:
    """Partial Pearson's r with the ratings, given the number of words of the caption."""
    words = np.array([len(j.candidate.split()) for j in sample.judged.judged], dtype=np.float64)
    image = given.image[given.row]
    partial = partial_correlation(
        column.scores[given.row], given.value, words[given.row], image, statistic="pearson",
        counts=sample.counts[:, np.unique(image)], confidence=confidence,
    )  # fmt: skip
    return Estimate(value=partial.partial, low=partial.low, high=partial.high, n=partial.n)


def _accuracy(column: RankedScores, given: Ratings, counts: Counts, confidence: float) -> Estimates:
    """Pairwise accuracy within images, with tie calibration (Deutsch et al. 2023): the ε within
    which scores count as tied, the share of pairs that it ties, and the accuracy at ε = 0."""
    calibrated = tie_calibration(column.scores, given.mean, given.image)
    replicates = _accuracy_replicates(column.scores, given, calibrated.epsilon, counts)
    accuracy = Estimate.of(
        interval_estimate(calibrated.accuracy, replicates, confidence, calibrated.n_groups)
    )
    distance = pairs_within(column.scores, given.mean, given.image).distance
    tied = float((distance <= calibrated.epsilon).mean()) if len(distance) else float("nan")
    return {
        "accuracy": accuracy.model_copy(update={"n": calibrated.n_pairs}),
        "uncalibrated": Estimate(value=calibrated.uncalibrated),
        "epsilon": Estimate(value=calibrated.epsilon),
        "tied": Estimate(value=tied),
        "pairs": Estimate(value=calibrated.total),
    }


def pair_accuracy(scores: Floats, given: Ratings, sample: Sample) -> tuple[float, Floats]:
    """The accuracy on pairs of captions of an image with ties calibrated, and its replicates."""
    calibrated = tie_calibration(scores, given.mean, given.image)
    replicates = _accuracy_replicates(scores, given, calibrated.epsilon, sample.counts)
    return calibrated.accuracy, replicates


def _accuracy_replicates(scores: Floats, given: Ratings, epsilon: float, counts: Counts) -> Floats:
    """The accuracy [replicates] over resampled images, with a fixed ε."""
    pairs = pairs_within(scores, given.mean, given.image)
    # `pairs_within` numbers the images from 0 in ascending order, as `given.image` does
    right, total = pair_outcomes(pairs, epsilon, given.n_images)
    has_pairs = total > 0
    if not has_pairs.any():
        return np.full(len(counts), np.nan)
    shares = np.where(has_pairs, right / np.maximum(total, 1), 0.0)
    sums = resampled_sums(np.stack([shares, has_pairs.astype(np.float64)], axis=1), counts)
    with np.errstate(invalid="ignore"):
        means: Floats = sums[:, 0] / sums[:, 1]
    return means


def _system(column: RankedScores, given: Ratings, sample: Sample, confidence: float) -> Estimates:
    """Agreement over systems: their mean scores against their mean ratings; `n` systems."""
    tables = _system_tables(column.scores, given, sample)
    point = system_correlations(*_system_means(tables, np.ones((1, given.n_images), dtype=np.int8)))
    resampled = system_correlations(*_system_means(tables, sample.counts))
    n_images, n = int(tables[2].any(axis=1).sum()), int(tables[2].any(axis=0).sum())
    return {
        f"system_{name}": Estimate.of(
            interval_estimate(float(values[0]), replicates, confidence, n_images)
        ).model_copy(update={"n": n})
        for name, values, replicates in zip(point._fields, point, resampled, strict=True)
    }


def system_means(
    column: RankedScores, given: Ratings, sample: Sample
) -> Iterator[tuple[str, float, float]]:
    """Each system with its mean score and its mean rating; NaN without a scored caption."""
    tables = _system_tables(column.scores, given, sample)
    metric, human = _system_means(tables, np.ones((1, given.n_images), dtype=np.int8))
    yield from zip(sample.systems, metric[0].tolist(), human[0].tolist(), strict=True)


def system_accuracy(scores: Floats, given: Ratings, sample: Sample) -> tuple[float, Floats]:
    """The share of pairs of systems in the order of their mean ratings, and its replicates."""
    tables = _system_tables(scores, given, sample)
    point = system_correlations(*_system_means(tables, np.ones((1, given.n_images), dtype=np.int8)))
    resampled = system_correlations(*_system_means(tables, sample.counts))
    return float(point.accuracy[0]), resampled.accuracy


def _system_tables(scores: Floats, given: Ratings, sample: Sample) -> Floats:
    """Sums of scores, sums of ratings, and captions: [3, images, systems]."""
    rated = ~(np.isnan(scores) | np.isnan(given.mean))
    tables = np.zeros((3, given.n_images, len(sample.systems)))
    place = {name: k for k, name in enumerate(sample.systems)}
    for j in np.flatnonzero(rated).tolist():
        name = sample.judged.judged[j].system
        if name is not None:
            tables[:, given.image[j], place[name]] += scores[j], given.mean[j], 1
    return tables


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
    column: RankedScores,
    given: Ratings,
    view: View,
    counts: Counts,
    statistic: Correlation,
    confidence: float,
) -> Estimates:
    """The correlations on a part of the captions, the protocol's with its interval."""
    rows = view.captions[given.row]
    x, y, unit = column.scores[given.row[rows]], given.value[rows], given.image[given.row[rows]]
    weighted = WeightedCorrelations(x, y, unit, given.n_images, names=(statistic,))
    n_images = len(np.unique(unit[~np.isnan(x)]))
    low, high = percentile_interval(getattr(weighted.of(counts), statistic), confidence, n_images)
    values, n = correlations(x, y), int((~np.isnan(x)).sum())
    estimates = {
        f"{name}_{view.name}": Estimate(value=getattr(values, name), n=n) for name in SYMBOL
    }
    tested = Estimate(value=getattr(values, statistic), low=low, high=high, n=n)
    return {**estimates, f"{statistic}_{view.name}": tested}


def on_common_rows(
    columns: Sequence[RankedScores], given: Ratings, statistic: Correlation
) -> dict[str, Estimate]:
    """Column → the correlation on the `n` rows that all metrics could score.

    Empty where all metrics scored the same rows. A metric that scored fewer than half of the rows
    does not take part, so that its gaps do not reduce the rows of the others.
    """
    scored = {c.name: ~np.isnan(c.scores[given.row]) for c in columns}
    taking_part = [c for c in columns if 2 * scored[c.name].sum() >= len(given.row)]
    if not taking_part or len({scored[c.name].tobytes() for c in taking_part}) < 2:
        return {}
    rows = np.logical_and.reduce([scored[c.name] for c in taking_part])
    return {
        c.name: Estimate(
            value=correlation(statistic, c.scores[given.row[rows]], given.value[rows]),
            n=int(rows.sum()),
        )
        for c in taking_part
    }
