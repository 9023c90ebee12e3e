"""Rows of equal keys, by hand and against all pairs."""

from __future__ import annotations

import numpy as np

from metaeval.compute.batching import fill_rows, group_rows_by_keys, group_rows_by_length


def test_groups_by_hand() -> None:
    groups = group_rows_by_keys(np.array([2, 1, 2, 2, 1]), np.array([0, 5, 7, 0, 4]))
    assert [rows.tolist() for rows in groups] == [[4], [1], [0, 3], [2]]
    assert [rows.tolist() for rows in group_rows_by_keys(np.array([7]))] == [[0]]
    assert group_rows_by_keys(np.array([], dtype=np.int64)) == []
    parts = group_rows_by_keys(np.array([2, 1, 2, 2, 1]), most=2)
    assert [rows.tolist() for rows in parts] == [[1, 4], [0, 2], [3]]


def test_rows_of_a_length_come_shortest_first() -> None:
    by_length = [(length, rows.tolist()) for length, rows in group_rows_by_length([3, 0, 3, 1])]
    assert by_length == [(0, [1]), (1, [3]), (3, [0, 2])]
    assert list(group_rows_by_length([])) == []


def test_a_batch_is_filled_up_with_its_first_row() -> None:
    assert fill_rows(np.array([4, 2]), 5).tolist() == [4, 2, 4, 4, 4]
    assert fill_rows(np.array([4, 2]), 2).tolist() == [4, 2]


def test_rows_are_together_exactly_where_they_agree() -> None:
    keys = np.random.default_rng(0).integers(0, 3, (3, 200))
    groups = group_rows_by_keys(*keys)
    assert sorted(np.concatenate(groups).tolist()) == list(range(200))
    kinds = [keys[:, rows[0]].tolist() for rows in groups]
    assert kinds == sorted(kinds)
    for rows, kind in zip(groups, kinds, strict=True):
        assert (kind == keys[:, rows].T).all()
        assert (np.diff(rows) > 0).all()
    assert len({tuple(kind) for kind in kinds}) == len(groups)
