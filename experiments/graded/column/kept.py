"""Statistics of a column that a run before has computed, looked up by what they are computed from.

They are most of what a repeated run would still have to do: 13 to 19 s of a job of nine rates on
5,000 images (docs/sweeps.md). The numbers are those of `column_statistics`, to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import scipy

import experiments.graded
import metaeval.stats
from experiments.graded.column.statistics import ColumnStatistics, Design, Floats, column_statistics
from metaeval.runs.digests import digest, file_sha256
from metaeval.runs.store import Store


class KeptColumns:
    """`column_statistics` of one design, through a store.

    A column takes about 60 kB there: three measures of 2,000 replicates, and what is told of it.
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
        if known := self._store.get_many(namespace, [key]).get(key):
            return _unpacked(known)
        design = self._design if curve else self._design._replace(curve=None)
        computed = column_statistics(design, tables, higher_is_better)
        self._store.put_many(namespace, {key: _packed(computed)})
        return computed


def _packed(column: ColumnStatistics) -> bytes:
    """JSON, which holds no zero byte; a zero byte; the replicates."""
    told = json.dumps([column.record, column.groups, column.dose, list(column.replicates)])
    return b"\0".join([told.encode(), np.array(list(column.replicates.values())).tobytes()])


def _unpacked(content: bytes) -> ColumnStatistics:
    told, _, numbers = content.partition(b"\0")
    record, groups, dose, measures = json.loads(told)
    rows = np.frombuffer(numbers).reshape(len(measures), -1)
    return ColumnStatistics(record, groups, dose, dict(zip(measures, rows, strict=True)))


def _digest(value: object) -> bytes:
    """16 bytes that identify an array, a number, a text, or a list or tuple of such."""
    if isinstance(value, np.ndarray):
        return digest(f"{value.dtype} {value.shape} ".encode() + value.tobytes())
    if isinstance(value, list | tuple):
        return digest(b"".join(map(_digest, value)))
    return digest(json.dumps(value))


@cache
def _code() -> str:
    """The statistics' own source and their libraries: whatever changes there is computed anew."""
    folders = [Path(package.__path__[0]) for package in (metaeval.stats, experiments.graded)]
    sources = [source for folder in folders for source in sorted(folder.rglob("*.py"))]
    content = [np.__version__, scipy.__version__]
    content += [f"{source.name} {file_sha256(source)}" for source in sources]
    return digest("\n".join(content)).hex()
