"""The files of a run against human judgements, which have schemas of their own.

`judgments.parquet`: one judged caption a row; `scores.parquet`: one score a row, with the number of
its caption. See docs/judgments.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.data.judgments.judged import Judgments
from metaeval.runs import files
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats


def write_judgments(out: Path, judged: Judgments) -> None:
    """`caption` (its number), image_id, system, candidate, references, and the ratings."""
    columns: dict[str, object] = {
        "caption": pa.array(range(len(judged)), pa.int64()),
        "image_id": pa.array([j.image for j in judged.judged], pa.string()),
        "system": pa.array([j.system for j in judged.judged], pa.string()),
        "candidate": pa.array([j.candidate for j in judged.judged], pa.string()),
        "references": pa.array([list(j.references) for j in judged.judged], pa.list_(pa.string())),
    }
    for name in judged.dimensions:
        given = [list(j.human.get(name, ())) for j in judged.judged]
        columns[f"human_{name}"] = pa.array(given, pa.list_(pa.float64()))
    write_table(out / files.JUDGMENTS, pa.table(columns))


def write_scores(out: Path, scored: Sequence[MetricScores]) -> None:
    """caption, metric, score (NaN = could not be scored); the ok metrics, one after another."""
    parts = [
        (column.name, values)
        for s in scored
        if s.scores is not None
        for column, values in zip(s.columns, s.scores.T, strict=True)
    ]
    write_score_columns(out, "caption", parts)


def write_score_columns(
    out: Path, unit: str, parts: Sequence[tuple[str, Floats]], **constant: Sequence[int]
) -> None:
    """scores.parquet from the scores of each column; `constant` adds a column per part."""
    empty: Floats = np.empty(0)
    sizes = [len(v) for _, v in parts]
    numbers = [np.arange(n) for n in sizes]
    names = np.array([name for name, _ in parts], dtype=object)
    columns = {
        unit: pa.array(np.concatenate([np.arange(0), *numbers]), pa.int64()),
        **{
            key: pa.array(np.repeat(np.asarray(values, dtype=np.int64), sizes), pa.int64())
            for key, values in constant.items()
        },
        "metric": pa.array(np.repeat(names, sizes), pa.string()),
        "score": pa.array(np.concatenate([v for _, v in parts] or [empty]), pa.float64()),
    }
    write_table(out / files.SCORES, pa.table(columns))


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file, whole or not at all."""
    files.atomic(path, lambda p: pq.write_table(table, p, compression="zstd"))
