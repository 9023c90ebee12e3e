"""Tests between columns: every pair of metrics, and every metric against the best control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from metaeval.experiments.controls import merged
from metaeval.experiments.judgments.sample import Columns, RankedScores, Ratings, Sample
from metaeval.progress import progress_bar
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.judgments import Correlation, JudgmentSettings
from metaeval.stats.correlation.correlations import Correlations, correlation
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    correlation_difference,
    resampled_difference,
    swapped_correlation_difference,
)
from metaeval.stats.significance.paired_differences import williams_test

Pair = tuple[str, str]
Accuracy = Callable[[Floats, Ratings, Sample], tuple[float, Floats]]


def differences(
    columns: Sequence[RankedScores],
    given: Ratings,
    sample: Sample,
    replicates: Mapping[str, Correlations],
    statistic: Correlation,
    settings: JudgmentSettings,
) -> Comparisons:
    """Every pair of metrics, by three tests, each with Holm's correction over all pairs."""
    permuted: dict[Pair, PairTest] = {}
    resampled: dict[Pair, PairTest] = {}
    correlated: dict[Pair, PairTest] = {}
    common = []
    n = len(columns)
    with progress_bar(total=n * (n - 1) // 2, desc="differences") as bar:
        for a, b in combinations(columns, 2):
            pair, x, y = (a.name, b.name), a.scores[given.row], b.scores[given.row]
            permuted[pair] = swapped_correlation_difference(
                x, y, given.value, sample.units[given.row], statistic=statistic,
                replicates=settings.permutations, seed=settings.seed,
            )  # fmt: skip
            resampled[pair] = _resampled(
                a, b, permuted[pair].difference, given, sample.counts, replicates, statistic,
                settings.confidence,
            )  # fmt: skip
            williams = williams_test(a.scores, b.scores, given.mean)
            nan = float("nan")
            correlated[pair] = PairTest(
                permuted[pair].difference, nan, nan, williams.p_two_sided, "williams",
                williams.df + 3,
            )  # fmt: skip
            common.append(int((~np.isnan(x + y)).sum()))
            bar.update()
    tested = [
        compare(tests, "pairs of metrics", alpha=settings.alpha)
        for tests in (permuted, resampled, correlated)
    ]
    return merged(statistic, settings.alpha, common, *tested)


def against_controls(
    columns: Columns,
    given: Ratings,
    counts: Counts,
    replicates: Mapping[str, Correlations],
    statistic: Correlation,
    settings: JudgmentSettings,
) -> AgainstControl | None:
    """Every metric against the best control, by the paired bootstrap over images.

    Holm's correction is over the metrics. `None` without controls or metrics.
    """
    if not columns.ranked or not columns.controls:
        return None
    by_name = {c.name: c for c in (*columns.ranked, *columns.controls)}

    def agreement(column: RankedScores, other: RankedScores) -> float:
        """On the rows that both could score."""
        x = np.where(np.isnan(other.scores), np.nan, column.scores)[given.row]
        return correlation(statistic, x, given.value)

    def test(hypotheses: Sequence[tuple[str, str, str]]) -> list[PairTest]:
        return [
            _resampled(
                metric, control, agreement(metric, control) - agreement(control, metric), given,
                counts, replicates, statistic, settings.confidence,
            )
            for metric, control in ((by_name[m], by_name[c]) for _, m, c in hypotheses)
        ]  # fmt: skip

    values = {"": {name: agreement(c, c) for name, c in by_name.items()}}
    tested = against_best_control(
        values,
        [c.name for c in columns.ranked],
        [c.name for c in columns.controls],
        test,
        "metrics against the best control",
        alpha=settings.alpha,
        gapped=_gapped(columns, given),
        difference=lambda _, m, c: (
            agreement(by_name[m], by_name[c]) - agreement(by_name[c], by_name[m])
        ),
    )
    return AgainstControl.of(tested[""], statistic, settings.alpha)


def accuracy_against_controls(
    columns: Columns, given: Ratings, sample: Sample, accuracy: Accuracy, measure: str,
    settings: JudgmentSettings,
) -> AgainstControl | None:  # fmt: skip
    """As `against_controls`, for an accuracy on pairs of captions, or of systems.

    p by the normal distribution of the difference's replicates.
    """
    if not columns.ranked or not columns.controls:
        return None
    by_name = {c.name: c.scores for c in (*columns.ranked, *columns.controls)}
    whole = {name: accuracy(scores, given, sample) for name, scores in by_name.items()}

    def on_common(name: str, other: str) -> tuple[float, Floats]:
        unknown = np.isnan(by_name[other]) & ~np.isnan(by_name[name])
        if not unknown[given.row].any():
            return whole[name]
        return accuracy(np.where(unknown, np.nan, by_name[name]), given, sample)

    def test(hypotheses: Sequence[tuple[str, str, str]]) -> list[PairTest]:
        tests = []
        for _, metric, control in hypotheses:
            (a, first), (b, second) = on_common(metric, control), on_common(control, metric)
            if np.isnan(a - b):
                tests.append(PairTest(np.nan, np.nan, np.nan, np.nan, "bootstrap, normal", 0, 1.0))
                continue
            n = given.images_of(by_name[metric] + by_name[control])
            tests.append(
                resampled_difference(a, b, first, second, n, confidence=settings.confidence)
            )
        return tests

    values = {"": {name: value for name, (value, _) in whole.items()}}
    tested = against_best_control(
        values,
        [c.name for c in columns.ranked],
        [c.name for c in columns.controls],
        test,
        "metrics against the best control",
        alpha=settings.alpha,
        gapped=_gapped(columns, given),
        difference=lambda _, m, c: on_common(m, c)[0] - on_common(c, m)[0],
    )
    return AgainstControl.of(tested[""], measure, settings.alpha)


def _gapped(columns: Columns, given: Ratings) -> list[str]:
    """The metrics that could not score every row."""
    return [c.name for c in columns.ranked if np.isnan(c.scores[given.row]).any()]


def _resampled(
    a: RankedScores,
    b: RankedScores,
    difference: float,
    given: Ratings,
    counts: Counts,
    replicates: Mapping[str, Correlations],
    statistic: Correlation,
    confidence: float,
) -> PairTest:
    """The paired bootstrap of two columns whose observed difference is known."""
    if (np.isnan(a.scores) == np.isnan(b.scores)).all():
        first, second = (getattr(replicates[c.name], statistic) for c in (a, b))
        return resampled_difference(
            difference, 0.0, first, second, given.images_of(a.scores), method="bootstrap",
            confidence=confidence,
        )  # fmt: skip
    # captions that one of the two could not score are left out of both
    return correlation_difference(
        a.scores[given.row], b.scores[given.row], given.value, given.image[given.row],
        statistic=statistic, counts=counts[:, np.unique(given.image[given.row])],
        confidence=confidence,
    )  # fmt: skip
