"""Comparisons of metrics with each other and with controls, and of steps."""

from typing import Any

import numpy as np
import pytest

from metaeval.experiments.graded.column import (
    ColumnRecord,
    comparable_of,
    comparable_statistics,
    compare_columns,
    extreme_steps,
)
from metaeval.results.base import Measured
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.graded import MEASURES
from metaeval.runs.records import ScoreColumn
from metaeval.stats.ordering.graded import graded_result
from metaeval.stats.resampling.bootstrap import bootstrap_counts

N = 300
COUNTS = bootstrap_counts(N, 400, seed=0)
NAMES = ["Random", "Half", "Human"]


def scores(signal: float, seed: int, steps: tuple[float, ...] = (0, 1, 2)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 3)) + signal * np.array(steps)


def column(
    name: str, values: np.ndarray, family: str = "", counts: np.ndarray = COUNTS, **fields: Any
) -> ColumnRecord:
    measures = comparable_statistics(values, [0, 1, 2], counts)
    none = Measured(values={})
    return ColumnRecord(ScoreColumn(name, **fields), family, values, measures, none, {}, [])


def compared(
    columns: list[ColumnRecord], counts: np.ndarray = COUNTS
) -> tuple[dict[str, Comparisons], dict[str, AgainstControl]]:
    comparisons, controls, _ = compare_columns(
        columns, lambda values: comparable_statistics(values, [0, 1, 2], counts), 0.95
    )
    return comparisons, controls


def test_pairs_are_of_metrics_alone_and_separated_where_they_differ() -> None:
    columns = [
        column("good", scores(2.0, 1)),
        column("poor", scores(0.3, 2)),
        column("twin", scores(2.0, 3)),
        column("part", scores(0.0, 4), part_of="good"),
        column("control", scores(0.0, 5), control=True),
    ]
    tested = compared(columns)[0]["rank_order_rho_within"]
    pairs = {(p.a, p.b): p for p in tested.pairs}
    expected = [("good", "poor"), ("good", "twin"), ("poor", "twin")]
    assert (tested.alpha, list(pairs)) == (0.05, expected)
    real, equal = pairs["good", "poor"], pairs["good", "twin"]
    assert real.test.p_adjusted < 0.001
    assert real.difference.value > real.power.detectable > 0
    assert not equal.is_significant()
    # fewer would have shown the first
    assert real.power.images_needed < N < equal.power.images_needed


def test_a_pair_is_compared_on_the_items_that_both_have() -> None:
    """ "Tested in pairs over the same images" was not so where one column had no score.

    Both have equal scores wherever both have one. Where b has none, a orders the images the wrong
    way round: on all its own items a is worse, on common items they are equal.
    """
    a = scores(2.0, 1)
    a[:60] = a[:60, ::-1]
    b = a.copy()
    b[:60] = np.nan
    columns = [column("a", a), column("b", b)]
    own, other = (each.comparable["pairwise_accuracy"].value for each in columns)
    assert own < other - 0.1
    for measure, tested in compared(columns)[0].items():
        (pair,) = tested.pairs
        made = (pair.difference.value, pair.n, pair.is_significant())
        assert made == (0.0, 240, False), measure


def test_measures_alone_are_those_of_the_whole_statistics() -> None:
    """What pairs are compared by, computed alone and with everything else: the same bits."""
    values = scores(1.0, 1).round(1)
    values[3, 1] = np.nan
    for up in (True, False):
        whole = comparable_of(
            graded_result(values, range(3), NAMES, higher_is_better=up, counts=COUNTS), N
        )
        alone = comparable_statistics(values if up else -values, [0, 1, 2], COUNTS)
        for key, expected in whole.items():
            assert alone[key][:1] + alone[key][2:] == expected[:1] + expected[2:]
            np.testing.assert_array_equal(alone[key].replicates, expected.replicates)


def test_without_replicates_nothing_is_claimed() -> None:
    none = bootstrap_counts(N, 0, seed=0)
    columns = [column(name, scores(0.0, k), counts=none) for k, name in enumerate("ab")]
    (pair,) = compared(columns, none)[0]["rank_order_rho"].pairs
    assert (pair.test.p_adjusted, pair.power.detectable) == (None, None)


def test_a_metric_is_above_the_best_control_or_is_not() -> None:
    columns = [
        column("good", scores(2.0, 1)),
        column("weak", scores(0.1, 2)),
        column("length", scores(0.0, 4), control=True),
        column("model", scores(0.5, 5), control=True),
        column("Ceiling", scores(9.0, 6), family="ceiling", control=True),
    ]
    tested = compared(columns)[1]
    assert tuple(tested) == MEASURES
    for against in tested.values():
        assert (against.control, against.above) == ("model", ("good",))
        above = {(c.a, c.b): c.is_significant() and c.difference.value > 0
                 for c in against.comparisons}  # fmt: skip
        assert above == {("good", "model"): True, ("weak", "model"): False}
    assert compared(columns[:2])[1] == {}


@pytest.mark.parametrize(
    ("steps", "named"),
    [((0, 3, 3.3), ("Half → Human", "Random → Half")), ((0, 1, 2), (None, None))],
)
def test_a_step_is_named_only_where_it_differs_from_all_others(
    steps: tuple[float, ...], named: tuple[str | None, ...]
) -> None:
    result = graded_result(scores(1.0, 2, steps), range(3), NAMES, counts=COUNTS)
    assert extreme_steps(result, N, 0.95) == named
