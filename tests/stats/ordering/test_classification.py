"""Average precision and AUROC against slow loops over definitions, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.ordering.classification import classification
from metaeval.stats.resampling.bootstrap import bootstrap_counts

NO_REPLICATES = np.empty((0, 200), np.int8)


def _cases() -> list[tuple[list[float], list[bool]]]:
    rng = np.random.default_rng(7)
    cases = []
    for levels in (2, 5, 1000):
        scores = rng.integers(levels, size=60).astype(float)
        cases.append((scores.tolist(), (rng.random(60) < 0.3).tolist()))
    return cases


@pytest.mark.parametrize(("scores", "positive"), _cases())
def test_both_follow_their_definitions(scores: list[float], positive: list[bool]) -> None:
    """AUROC over all pairs, average precision over thresholds: plain loops."""
    up = [s for s, p in zip(scores, positive, strict=True) if p]
    down = [s for s, p in zip(scores, positive, strict=True) if not p]
    auroc = sum((a > b) + (a == b) / 2 for a in up for b in down) / (len(up) * len(down))
    precision = 0.0
    for own in up:
        passed = [p for s, p in zip(scores, positive, strict=True) if s >= own]
        precision += sum(passed) / len(passed) / len(up)
    found = classification(scores, positive, range(60), NO_REPLICATES)
    assert found.auroc == pytest.approx(auroc, abs=1e-12)
    assert found.average_precision == pytest.approx(precision, abs=1e-12)
    assert (found.n, found.n_positive) == (60, len(up))


@pytest.mark.parametrize(("scores", "positive"), _cases())
def test_both_are_those_of_scikit_learn(scores: list[float], positive: list[bool]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    found = classification(scores, positive, range(60), NO_REPLICATES)
    assert found.auroc == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)
    expected = metrics.average_precision_score(positive, scores)
    assert found.average_precision == pytest.approx(expected, abs=1e-12)


def test_a_replicate_repeats_whole_images() -> None:
    """One replicate that draws images by `counts` is the statistic of the repeated captions."""
    rng = np.random.default_rng(3)
    scores, positive = rng.integers(6, size=40).astype(float), rng.random(40) < 0.5
    image = np.repeat(np.arange(10), 4)
    counts = bootstrap_counts(10, 1, seed=5)
    again = np.repeat(np.arange(40), counts[0][image])
    drawn = classification(scores[again], positive[again], image[again], np.empty((0, 10)))
    found = classification(scores, positive, image, counts)
    assert found.auroc_ci == pytest.approx((drawn.auroc,) * 2, abs=1e-12)
    assert found.average_precision_ci == pytest.approx((drawn.average_precision,) * 2, abs=1e-12)


def test_captions_without_a_score_and_empty_classes() -> None:
    found = classification([1.0, np.nan, 0.0], [True, True, False], [0, 1, 2], NO_REPLICATES)
    assert (found.n, found.n_positive, found.auroc) == (2, 1, 1.0)
    one_class = classification([1.0, 2.0], [True, True], [0, 1], NO_REPLICATES)
    assert np.isnan([one_class.auroc, one_class.average_precision]).all()
    assert np.isnan(classification([], [], [], NO_REPLICATES).average_precision)
