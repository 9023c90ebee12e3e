"""Runs of texts that are worked on together: all of them, in order, none too costly."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.text.numbered import places_of, runs_of_cost


def test_a_costly_text_is_in_a_run_without_the_next() -> None:
    assert list(runs_of_cost(np.array([1, 1, 1, 9, 1]), 3)) == [(0, 2), (2, 3), (3, 5)]
    assert list(runs_of_cost(np.array([], dtype=np.int64), 3)) == []


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(1, 25))
def test_runs_contain_every_text_once_within_the_stated_cost(costs: list[int], most: int) -> None:
    runs = list(runs_of_cost(np.array(costs, dtype=np.int64), most))
    assert [k for begin, end in runs for k in range(begin, end)] == list(range(len(costs)))
    for begin, end in runs:
        assert sum(costs[begin:end]) < most + max(costs[begin:end])


def test_places_count_within_each_group() -> None:
    assert places_of(np.array([2, 0, 3])).tolist() == [0, 1, 0, 1, 2]
