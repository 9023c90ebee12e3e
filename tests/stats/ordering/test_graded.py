"""The record of one metric: its keys, its degenerate cases, and that it repeats to the byte."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from metaeval.errors import InputError
from metaeval.stats.correlation.spearman import spearman
from metaeval.stats.ordering.graded import GradedRecord, graded_statistics, summary
from metaeval.stats.resampling.bootstrap import bootstrap_counts

ESTIMATES = {
    "rank_order_rho",
    "rank_order_rho_within",
    "spearman_rho",
    "kendall_tau_b",
    "pairwise_accuracy",
    "monotone_rate",
    "inversion_rate",
}
NAMES = ["Random", "Replace 50%", "Replace 25%", "Human"]
LEVELS = np.arange(4)


def scores(n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.round(rng.normal(size=(n, 4)) + 0.5 * LEVELS, 1)


def numbers(value) -> list[float]:
    """All numbers of a record below `sets`."""
    if isinstance(value, GradedRecord):
        return numbers([*value._replace(sets={}, variance=()), *value.variance[:3]])
    if isinstance(value, list | tuple):
        return [x for part in value for x in numbers(part)]
    return [] if isinstance(value, str | dict) else [value]


def test_the_record_is_complete_and_plain() -> None:
    record = graded_statistics(scores(), LEVELS, NAMES, replicates=300)
    json.dumps(record, allow_nan=False)  # neither NaN nor NumPy's scalars
    assert list(record.sets) == NAMES
    assert [(s.lower, s.upper) for s in record.adjacent_auc] == list(pairwise(NAMES))
    for name in ESTIMATES:
        value, low, high = getattr(record, name)
        assert low < value < high
    for step in record.adjacent_auc:
        assert step.auc.low < step.auc.value < step.auc.high
    low, high = record.rank_order_rho_bounds
    assert low < record.rank_order_rho.value < high
    shares = [record.pairwise_accuracy.value, record.pairwise_ties, record.inversion_rate.value]
    assert sum(shares) == pytest.approx(1, abs=1e-15)


def test_the_summary_of_a_set_is_numpys() -> None:
    values = scores()
    values[:5, 2] = np.nan
    entry = graded_statistics(values, LEVELS, NAMES, replicates=0).sets["Replace 25%"]
    column = values[5:, 2]
    assert (entry.level, entry.n) == (2, 195)
    assert entry.mean == pytest.approx(column.mean(), abs=1e-15)
    assert entry.std == pytest.approx(column.std(ddof=1), abs=1e-15)
    assert entry.quantiles["0.25"] == np.percentile(column, 25)
    assert (entry.quantiles["0"], entry.quantiles["1"]) == (column.min(), column.max())


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads() -> None:
    def run(**options) -> str:
        return json.dumps(graded_statistics(scores(), LEVELS, NAMES, replicates=400, **options))

    assert run(threads=1) == run(threads=2) == run(threads=None)
    assert run(seed=1) != run(seed=0)
    assert run(counts=bootstrap_counts(200, 400, seed=0)) == run()


def test_lower_is_better_mirrors_the_order_and_keeps_the_summaries() -> None:
    values = scores()
    down = graded_statistics(-values, LEVELS, NAMES, higher_is_better=False, replicates=100)
    up = graded_statistics(values, LEVELS, NAMES, replicates=100)
    assert down.sets["Human"].mean == -up.sets["Human"].mean
    assert numbers(down) == numbers(up)


def test_columns_may_come_in_any_order() -> None:
    turned = [2, 0, 3, 1]
    values = scores()
    a = graded_statistics(values, LEVELS, NAMES, replicates=100)
    b = graded_statistics(
        values[:, turned], LEVELS[turned], [NAMES[i] for i in turned], replicates=100
    )
    assert numbers(a) == pytest.approx(numbers(b), abs=1e-12)


def test_constant_scores() -> None:
    record = graded_statistics(np.zeros((20, 4)), LEVELS, NAMES, replicates=50)
    assert record.rank_order_rho.value == record.rank_order_rho_within.value == 0
    assert record.rank_order_rho == (0, 0, 0)
    assert record.rank_order_rho_bounds == (-1, 1)
    assert all(math.isnan(x) for x in record.spearman_rho + record.kendall_tau_b)
    assert record.tie_fraction == record.pairwise_ties == 1
    assert [step.auc.value for step in record.adjacent_auc] == [0.5] * 3
    assert record.monotone_rate.value == 0


def test_nothing_scored() -> None:
    record = graded_statistics(np.full((5, 4), np.nan), LEVELS, NAMES, replicates=50)
    assert all(math.isnan(x) for x in numbers(record))
    assert record.sets["Human"].n == 0


def test_a_set_without_scores_leaves_the_others_their_statistics() -> None:
    values = scores()
    values[:, 1] = np.nan
    record = graded_statistics(values, LEVELS, NAMES, replicates=50)
    rest = graded_statistics(values[:, [0, 2, 3]], [0, 2, 3], ["a", "b", "c"], replicates=50)
    for name in set(GradedRecord._fields) - {"sets", "adjacent_auc", "monotone_rate"}:
        assert getattr(record, name) == getattr(rest, name)
    assert [math.isnan(s.auc.value) for s in record.adjacent_auc] == [True, True, False]
    assert math.isnan(record.monotone_rate.value)  # no image is complete


def test_one_image() -> None:
    record = graded_statistics([[0.1, 0.2, 0.3, 0.4]], LEVELS, NAMES, replicates=50)
    assert (
        record.rank_order_rho.value == record.spearman_rho.value == record.monotone_rate.value == 1
    )
    assert math.isnan(record.rank_order_rho.low)
    assert math.isnan(record.sets["Human"].std)


def test_equal_levels_are_pooled() -> None:
    names = ["a", "b", "c"]
    record = graded_statistics(scores()[:, :3], [0, 1, 1], names, replicates=50)
    (step,) = record.adjacent_auc
    assert (step.lower, step.upper) == ("a", "b + c")
    assert record.spearman_rho.value == spearman(scores()[:, :3], [0, 1, 1]).rho


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="infinite"):
        graded_statistics([[0.1, -np.inf]], [0, 1], ["a", "b"])
    with pytest.raises(InputError, match="names"):
        graded_statistics(scores(), LEVELS, NAMES[:3])
    with pytest.raises(InputError, match="names"):
        graded_statistics(np.empty((0, 4)), LEVELS, NAMES)


def test_a_standard_deviation_needs_two_scores() -> None:
    two = summary(0, np.array([1.0, np.nan, 3.0]))
    assert (two.n, two.mean, two.std) == (2, 2, pytest.approx(np.sqrt(2)))
    assert np.isnan(summary(0, np.array([1.0])).std)
