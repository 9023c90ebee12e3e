"""The files of a run on true and false captions, which have schemas of their own: docs/pairs.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pairs.statistics import PairScores
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.runs import files


def write_pairs(out: Path, pairs: CaptionPairs) -> None:
    """One pair a row: `pair` (its number), image_id, kind, true, false, paraphrase, references."""
    columns = {
        "pair": pa.array(range(len(pairs)), pa.int64()),
        "image_id": pa.array([p.image for p in pairs.pairs], pa.string()),
        "kind": pa.array([p.kind for p in pairs.pairs], pa.string()),
        "true": pa.array([p.true for p in pairs.pairs], pa.string()),
        "false": pa.array([p.false for p in pairs.pairs], pa.string()),
        "paraphrase": pa.array([p.paraphrase for p in pairs.pairs], pa.string()),
        "references": pa.array(
            [list(p.references or ()) for p in pairs.pairs], pa.list_(pa.string())
        ),
    }
    _write(out / files.PAIRS, pa.table(columns))


def write_scores(out: Path, scores: Mapping[str, tuple[PairScores, bool]]) -> None:
    """scores.parquet, a pair and metric a row: `true`, `false`, `paraphrase` as the metric gave
    them (NaN = could not be scored); `scores` says of each column whether higher is better."""
    signed = {
        name: [None if x is None else (x if higher else -x) for x in given]
        for name, (given, higher) in scores.items()
    }
    n = len(next(iter(signed.values()))[0]) if signed else 0  # type: ignore[arg-type]
    columns: dict[str, Any] = {
        "pair": pa.array([k for _ in signed for k in range(n)], pa.int64()),
        "metric": pa.array([name for name in signed for _ in range(n)], pa.string()),
    }
    for place, role in enumerate(("true", "false", "paraphrase")):
        parts = [given[place] for given in signed.values()]
        if all(part is not None for part in parts):
            values = [x for part in parts for x in part.tolist()]  # type: ignore[union-attr]
            columns[role] = pa.array(values, pa.float64())
    _write(out / files.SCORES, pa.table(columns))


def write_accuracies(out: Path, statistics: Mapping[str, Any]) -> None:
    """accuracies.csv: a line a comparison, metric and kind, in full precision."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        ["comparison", "metric", "control", "kind", "accuracy", "low", "high", "ties", "untied",
         "n", "refined_accuracy", "refined_n"]
    )  # fmt: skip
    refined = statistics["refinement"]
    for comparison in statistics["comparisons"]:
        for record in statistics["metrics"]:
            of_metric = (record.get("accuracy") or {}).get(comparison, {})
            for kind, a in of_metric.items():
                after: Sequence[Any] = ("", "")
                if refined is not None:
                    cell = refined["accuracy"][record["metric"]][comparison][kind]
                    after = (_plain(cell["value"]), cell["n"])
                table.writerow(
                    [comparison, record["metric"], int(record["control"]), kind,
                     *map(_plain, (a["value"], *a["ci"], a["ties"], a["untied"])), a["n"], *after]
                )  # fmt: skip
    files.atomic(out / files.ACCURACIES, lambda p: p.write_text(text.getvalue(), encoding="utf-8"))


def _plain(value: float) -> str:
    return "" if value != value else repr(float(value))


def _write(path: Path, table: pa.Table) -> None:
    files.atomic(path, lambda p: pq.write_table(table, p, compression="zstd"))
