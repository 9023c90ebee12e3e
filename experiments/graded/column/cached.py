"""Statistics of a column that an earlier run computed, looked up by what they are computed from.

They are most of the work of a repeated run: 13 to 19 s of a job of nine rates on 5,000 images
(docs/sweeps.md). The numbers are those of `column_statistics`, to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import scipy

import metaeval.experiments.graded
import metaeval.results
import metaeval.stats
from metaeval.experiments.graded.column.statistics import (
    ColumnStatistics,
    Design,
    Floats,
    column_statistics,
    comparable_statistics,
)
from metaeval.experiments.graded.differences import Comparable
from metaeval.results.graded import MEASURES, DoseCurve, GradedStatistics, SelectedStatistics
from metaeval.runs.digests import digest, file_sha256
from metaeval.runs.store import Store


class CachedColumnStatistics:
    """`column_statistics` of one design, through a store.

    A column takes about 60 kB there: three measures of 2,000 replicates, and its statistics.
    """

    def __init__(self, store: Store, design: Design) -> None:
        self._store, self._design = store, design
        self._of_design = _digest(design).hex()  # once: the drawn images are megabytes

    def __call__(
        self, tables: Sequence[Floats], higher_is_better: bool, curve: bool
    ) -> ColumnStatistics:
        """The statistics of scores [n_images, n_sets] of each seed; without `curve` no dose."""
        namespace = f"statistics of a column {_code()}"
        key = _digest([self._of_design, list(tables), higher_is_better, curve])
        if stored := self._store.get_many(namespace, [key]).get(key):
            return _unpacked(stored)
        design = self._design if curve else self._design._replace(curve=None)
        computed = column_statistics(design, tables, higher_is_better)
        self._store.put_many(namespace, {key: _packed(computed)})
        return computed

    def comparable(self, values: Floats, higher_is_better: bool) -> Comparable:
        """The measures of scores [n_images, n_sets] and their replicates."""
        namespace = f"measures of a column {_code()}"
        key = _digest([self._of_design, values, higher_is_better])
        if stored := self._store.get_many(namespace, [key]).get(key):
            return _unpacked_measures(stored)
        design = self._design
        computed = comparable_statistics(values, design.levels, design.counts, higher_is_better)
        self._store.put_many(namespace, {key: _packed_measures(computed)})
        return computed


def _packed(column: ColumnStatistics) -> bytes:
    """JSON, which contains no zero byte; a zero byte; the measures and their replicates."""
    models = [
        column.statistics.model_dump(mode="json"),
        [group.model_dump(mode="json") for group in column.groups],
        column.dose and column.dose.model_dump(mode="json"),
    ]
    return b"\0".join([json.dumps(models).encode(), _packed_measures(column.comparable)])


def _unpacked(content: bytes) -> ColumnStatistics:
    text, _, numbers = content.partition(b"\0")
    statistics, groups, dose = json.loads(text)
    return ColumnStatistics(
        GradedStatistics.model_validate(statistics),
        [SelectedStatistics.model_validate(group) for group in groups],
        None if dose is None else DoseCurve.model_validate(dose),
        _unpacked_measures(numbers),
    )


def _packed_measures(comparable: Comparable) -> bytes:
    """float64 [3, 1 + replicates]: each measure, and its replicates."""
    rows = [np.r_[comparable.values[m], comparable.replicates[m]] for m in MEASURES]
    return np.array(rows, dtype=np.float64).tobytes()


def _unpacked_measures(content: bytes) -> Comparable:
    rows = np.frombuffer(content).reshape(len(MEASURES), -1)
    pairs = list(zip(MEASURES, rows, strict=True))
    return Comparable({m: float(row[0]) for m, row in pairs}, {m: row[1:] for m, row in pairs})


def _digest(value: object) -> bytes:
    """16 bytes that identify an array, a number, a text, or a list or tuple of such."""
    if isinstance(value, np.ndarray):
        return digest(f"{value.dtype} {value.shape} ".encode() + value.tobytes())
    if isinstance(value, list | tuple):
        return digest(b"".join(map(_digest, value)))
    return digest(json.dumps(value))


@cache
def _code() -> str:
    """A digest of the statistics' own source and of the versions of their libraries."""
    packages = (metaeval.stats, metaeval.results, metaeval.experiments.graded)
    folders = [Path(package.__path__[0]).resolve() for package in packages]
    sources = [source for folder in folders for source in sorted(folder.rglob("*.py"))]
    content = [np.__version__, scipy.__version__]
    content += [f"{source.name} {file_sha256(source)}" for source in sources]
    return digest("\n".join(content)).hex()
