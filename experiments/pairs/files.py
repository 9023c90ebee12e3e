"""The files of a run on true and false captions, which have schemas of their own: docs/pairs.md."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments.pairs.statistics import PairScores
from metaeval.results.pairs import Accuracy, AccuracyByKind, PairsResult
from metaeval.runs import files
from metaeval.runs.csv_text import CsvWriter


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
    columns: dict[str, object] = {
        "pair": pa.array([k for _ in signed for k in range(n)], pa.int64()),
        "metric": pa.array([name for name in signed for _ in range(n)], pa.string()),
    }
    for place, role in enumerate(("true", "false", "paraphrase")):
        parts = [given[place] for given in signed.values()]
        if all(part is not None for part in parts):
            values = [x for part in parts for x in part.tolist()]  # type: ignore[union-attr]
            columns[role] = pa.array(values, pa.float64())
    _write(out / files.SCORES, pa.table(columns))


def write_accuracies(out: Path, result: PairsResult) -> None:
    """accuracies.csv: a line a comparison, metric and kind, in full precision."""
    text = io.StringIO()
    table = CsvWriter(text)
    table.writerow(
        ["comparison", "metric", "control", "kind", "accuracy", "low", "high", "ties", "untied",
         "n", "refined_accuracy", "refined_n"]
    )  # fmt: skip
    for comparison in result.comparisons:
        for metric in result.metrics:
            if metric.statistics is None:
                continue
            after = metric.statistics.refined
            left = dict(_lines(after[comparison])) if after is not None else {}
            for kind, a in _lines(metric.statistics.accuracy[comparison]):
                refined = left.get(kind)
                cells = (a.value, a.low, a.high, a.ties, a.untied)
                table.writerow(
                    [comparison, metric.name, int(metric.column.control), kind,
                     *map(_plain, cells), a.n,
                     *(("", "") if refined is None else (_plain(refined.value), refined.n))]
                )  # fmt: skip
    files.atomic(out / files.ACCURACIES, lambda p: p.write_text(text.getvalue(), encoding="utf-8"))


def _lines(accuracy: AccuracyByKind) -> Iterator[tuple[str, Accuracy]]:
    yield from accuracy.kinds.items()
    yield "mean", accuracy.mean
    if accuracy.mean_of_shown is not None:
        yield "mean of kinds that show something", accuracy.mean_of_shown


def _plain(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _write(path: Path, table: pa.Table) -> None:
    files.atomic(path, lambda p: pq.write_table(table, p, compression="zstd"))
