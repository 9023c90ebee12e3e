"""Distinct beginnings, worked by hand."""

from __future__ import annotations

import numpy as np

from metaeval.metrics.scan.grounding import PrefixTrie


def test_beginnings_worked_by_hand() -> None:
    tokens = np.array([[1, 5, 2, 0], [1, 5, 6, 2], [1, 5, 2, 0], [7, 0, 0, 0]])
    found = PrefixTrie.of(tokens, np.array([3, 4, 3, 1]))
    # 1: (1), 2: (7), 3: (1 5), 4: (1 5 2), 5: (1 5 6), 6: (1 5 6 2)
    assert found.word.tolist() == [1, 7, 5, 2, 6, 2]
    assert found.parent.tolist() == [0, 0, 1, 3, 3, 5]
    assert found.levels == (1, 3, 4, 6, 7)
    assert found.place.tolist() == [[1, 3, 4, 0], [1, 3, 5, 6], [1, 3, 4, 0], [2, 0, 0, 0]]
