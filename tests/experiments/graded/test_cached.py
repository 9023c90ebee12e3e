"""Cached statistics: the same as computed ones, and only of the same input."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from metaeval.experiments.graded import column
from metaeval.experiments.graded.column import (
    CachedColumnStatistics,
    ColumnStatistics,
    Curve,
    Design,
    column_statistics,
)
from metaeval.runs.store import SqliteStore
from metaeval.stats.resampling.bootstrap import bootstrap_counts

N = 30
APPLIED = np.random.default_rng(3).random((N, 5)) < 0.9
GROUP = np.arange(N) < 10
DESIGN = Design(
    names=["Random", "High", "Middle", "Low", "Human"],
    levels=[0, 1, 2, 3, 4],
    applied=APPLIED,
    floor=True,
    groups=[GROUP, ~GROUP],
    curve=Curve([4, 3, 2, 1], [0.0, 0.2, 0.4, 0.6], [0.0, 0.2, 0.4, 0.6]),
    counts=bootstrap_counts(N, 200, 0),
    confidence=0.95,
    tie_seeds=[0, 1],
)


def table(seed: int = 0) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=(N, 5)).round(1) + np.arange(5)
    scores[3, 1] = np.nan
    return scores


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "content.sqlite")


def forbid_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column, "column_statistics", Mock(side_effect=AssertionError("computed")))


def bytes_of(made: ColumnStatistics) -> tuple[str, list[tuple[str, bytes]]]:
    replicates = made.comparable.replicates.items()
    return made.record.model_dump_json(), [(name, part.tobytes()) for name, part in replicates]


@pytest.mark.parametrize("curve", [True, False])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("seeds", [1, 3])
def test_looked_up_equal_computed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, curve: bool, higher: bool, seeds: int
) -> None:
    tables = [table(seed) for seed in range(seeds)]
    design = DESIGN if curve else DESIGN._replace(curve=None)
    plain = column_statistics(design, tables, higher)
    assert ("dose" in plain.record.rows) == curve
    assert ("seeds" in plain.record.rows) == (seeds > 1)
    assert np.unique(plain.comparable.replicates["rank_order_rho"]).size > 50
    first = CachedColumnStatistics(store, DESIGN)(tables, higher, curve)
    forbid_computing(monkeypatch)
    again = CachedColumnStatistics(store, DESIGN)(tables, higher, curve)
    assert (bytes_of(first), bytes_of(again)) == (bytes_of(plain), bytes_of(plain))


def test_without_replicates(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    design = DESIGN._replace(counts=bootstrap_counts(N, 0, 0))
    first = CachedColumnStatistics(store, design)([table()], True, True)
    forbid_computing(monkeypatch)
    assert bytes_of(CachedColumnStatistics(store, design)([table()], True, True)) == bytes_of(first)


OTHER_DESIGNS: dict[str, dict[str, Any]] = {
    "names": {"names": ["Random", "High", "Middle", "Less", "Human"]},
    "levels": {"levels": [0, 1, 1, 2, 3]},
    "applied": {"applied": ~APPLIED},
    "floor": {"floor": False},
    "groups": {"groups": [~GROUP, GROUP]},
    "fewer groups": {"groups": [GROUP]},
    "doses": {"curve": Curve([4, 3, 2, 1], [0.0, 0.2, 0.4, 0.5], [0.0, 0.2, 0.4, 0.6])},
    "images": {"counts": bootstrap_counts(N, 200, 1)},
    "replicates": {"counts": bootstrap_counts(N, 100, 0)},
    "confidence": {"confidence": 0.9},
    "ties": {"tie_seeds": [0, 2]},
}


GIVEN = ([table()], True, True)


@pytest.mark.parametrize(
    ("design", "given", "code"),
    [
        *((changes, GIVEN, "") for changes in OTHER_DESIGNS.values()),
        ({}, ([table(1)], True, True), ""),
        ({}, ([table(), table(1)], True, True), ""),
        ({}, ([table()], False, True), ""),
        ({}, ([table()], True, False), ""),
        ({}, GIVEN, "other"),
    ],
    ids=[*OTHER_DESIGNS, "scores", "seeds", "direction", "curve", "code"],
)
def test_another_input_is_computed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, design: Any, given: Any, code: str
) -> None:
    CachedColumnStatistics(store, DESIGN)(*GIVEN)
    if code:
        monkeypatch.setattr(column, "code_digest", lambda: code)
    forbid_computing(monkeypatch)
    with pytest.raises(AssertionError, match="computed"):
        CachedColumnStatistics(store, DESIGN._replace(**design))(*given)


def test_measures_alone_are_those_of_the_whole_statistics(store: SqliteStore) -> None:
    """What pairs are compared by, computed alone and with everything else: the same bits."""
    for higher in (True, False):
        whole = column_statistics(DESIGN, [table()], higher).comparable
        lookup = CachedColumnStatistics(store, DESIGN)
        for measures in (lookup.comparable(table(), higher), lookup.comparable(table(), higher)):
            assert measures.values == whole.values
            for name, replicates in whole.replicates.items():
                np.testing.assert_array_equal(measures.replicates[name], replicates)
