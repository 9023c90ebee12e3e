"""Cached statistics: the same as computed ones, and only of the same input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    def computed(*_: object) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr(column, "column_statistics", computed)


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
    assert bytes_of(first) == bytes_of(plain)
    assert bytes_of(again) == bytes_of(plain)


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


@pytest.mark.parametrize("what", OTHER_DESIGNS)
def test_another_design_is_computed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    CachedColumnStatistics(store, DESIGN)([table()], True, True)
    forbid_computing(monkeypatch)
    other = DESIGN._replace(**OTHER_DESIGNS[what])
    with pytest.raises(AssertionError, match="computed"):
        CachedColumnStatistics(store, other)([table()], True, True)


@pytest.mark.parametrize(
    ("tables", "higher", "curve"),
    [
        ([table(1)], True, True),
        ([table(), table(1)], True, True),
        ([table()], False, True),
        ([table()], True, False),
    ],
    ids=["scores", "seeds", "direction", "curve"],
)
def test_other_scores_are_computed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, tables: Any, higher: bool, curve: bool
) -> None:
    CachedColumnStatistics(store, DESIGN)([table()], True, True)
    forbid_computing(monkeypatch)
    with pytest.raises(AssertionError, match="computed"):
        CachedColumnStatistics(store, DESIGN)(tables, higher, curve)


def test_changed_code_is_another_number(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    CachedColumnStatistics(store, DESIGN)([table()], True, True)
    monkeypatch.setattr(column, "code_digest", lambda: "other")
    forbid_computing(monkeypatch)
    with pytest.raises(AssertionError, match="computed"):
        CachedColumnStatistics(store, DESIGN)([table()], True, True)


def test_measures_alone_are_those_of_the_whole_statistics(store: SqliteStore) -> None:
    """What pairs are compared by, computed alone and with everything else: the same bits."""
    for higher in (True, False):
        whole = column_statistics(DESIGN, [table()], higher).comparable
        lookup = CachedColumnStatistics(store, DESIGN)
        for measures in (lookup.comparable(table(), higher), lookup.comparable(table(), higher)):
            assert measures.values == whole.values
            for name, replicates in whole.replicates.items():
                np.testing.assert_array_equal(measures.replicates[name], replicates)
