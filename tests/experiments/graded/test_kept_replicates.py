"""Replicates that are looked up: the same as computed ones, and of the same numbers only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.graded import kept_replicates
from experiments.graded.kept_replicates import KeptReplicates
from metaeval.runs.store import SqliteStore
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.replicates import replicate_statistics

LEVELS = np.array([0, 1, 2, 2])
COUNTS = bootstrap_counts(30, 200, 0)


def scores(seed: int = 0) -> np.ndarray:
    table = np.random.default_rng(seed).normal(size=(30, 4)).round(1)
    table[3, 1] = np.nan
    return table


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "content.sqlite")


def none_computed(*_: object) -> None:
    raise AssertionError("computed")


@pytest.mark.parametrize("levels", [LEVELS, np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])])
def test_looked_up_equal_computed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, levels: np.ndarray
) -> None:
    plain = replicate_statistics(scores(), levels, COUNTS)
    assert len(plain.adjacent_auc) == len(set(levels.tolist())) - 1
    assert np.unique(plain.rank_order_rho).size > 50
    first = KeptReplicates(store, COUNTS)(scores(), levels)
    monkeypatch.setattr(kept_replicates, "replicate_statistics", none_computed)
    again = KeptReplicates(store, COUNTS)(scores(), levels)
    for expected, *found in zip(plain, first, again, strict=True):
        for values in found:
            np.testing.assert_array_equal(values, expected)
            assert values.shape == expected.shape


def test_other_scores_levels_and_images_are_computed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptReplicates(store, COUNTS)(scores(), LEVELS)
    monkeypatch.setattr(kept_replicates, "replicate_statistics", none_computed)
    others = bootstrap_counts(30, 200, 1)
    for values, levels, counts in (
        (scores(1), LEVELS, COUNTS),
        (scores(), np.array([0, 1, 1, 2]), COUNTS),
        (scores(), LEVELS, others),
        (scores(), LEVELS, COUNTS[:100]),
    ):
        with pytest.raises(AssertionError, match="computed"):
            KeptReplicates(store, counts)(values, levels)


def test_changed_code_is_another_number(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptReplicates(store, COUNTS)(scores(), LEVELS)
    monkeypatch.setattr(kept_replicates, "_code", lambda: "other")
    monkeypatch.setattr(kept_replicates, "replicate_statistics", none_computed)
    with pytest.raises(AssertionError, match="computed"):
        KeptReplicates(store, COUNTS)(scores(), LEVELS)
