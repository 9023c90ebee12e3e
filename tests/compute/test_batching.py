"""Rows of one kind, by hand and against all pairs."""

from __future__ import annotations

import numpy as np

from metaeval.compute.batching import group_rows_by_keys


def test_kinds_by_hand() -> None:
    found = group_rows_by_keys(np.array([2, 1, 2, 2, 1]), np.array([0, 5, 7, 0, 4]))
    assert [rows.tolist() for rows in found] == [[4], [1], [0, 3], [2]]
    assert [rows.tolist() for rows in group_rows_by_keys(np.array([7]))] == [[0]]
    assert group_rows_by_keys(np.array([], dtype=np.int64)) == []


def test_rows_are_together_exactly_where_they_agree() -> None:
    keys = np.random.default_rng(0).integers(0, 3, (3, 200))
    found = group_rows_by_keys(*keys)
    assert sorted(np.concatenate(found).tolist()) == list(range(200))
    kinds = [keys[:, rows[0]].tolist() for rows in found]
    assert kinds == sorted(kinds)
    for rows, kind in zip(found, kinds, strict=True):
        assert (kind == keys[:, rows].T).all()
        assert (np.diff(rows) > 0).all()
    assert len({tuple(kind) for kind in kinds}) == len(found)
