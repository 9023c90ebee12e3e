"""The files of scored blocks: one Parquet file per block, and the manifest of them all."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.experiments.score.corpus import PATTERN
from metaeval.experiments.score.rows import Block
from metaeval.experiments.score.worker import BlockScores
from metaeval.runs import files

FOLDER, MANIFEST = files.BLOCKS, files.MANIFEST
_KEY = b"metaeval"


class Parts:
    """The scored blocks of a run's folder.

    A part is of a request (tables, block size, signatures, as a digest) and of a block's
    content. One of another request or content, or one that a metric broke in, is made again.
    """

    def __init__(self, out: Path, request: str) -> None:
        self.folder, self.request = out / FOLDER, request

    def path(self, number: int) -> Path:
        return self.folder / f"part-{number:05d}.parquet"

    def known(self, block: Block) -> dict[str, Any] | None:
        """The manifest entry of a block that is scored already; `None` for one that is not."""
        entry = self._entry(block.number)
        if entry is None or entry["failed"] or entry["captions"] != block.digest:
            return None
        return entry

    def _entry(self, number: int) -> dict[str, Any] | None:
        path = self.path(number)
        try:
            metadata = pq.read_schema(path).metadata or {}
            entry: dict[str, Any] = json.loads(metadata[_KEY])
        except (OSError, pa.ArrowException, KeyError, ValueError):
            return None  # it is not there, or half of it
        return entry if entry.get("request") == self.request else None

    def write(
        self, block: Block, columns: Mapping[str, Sequence[str]], scores: Mapping[str, BlockScores]
    ) -> dict[str, Any]:
        """Write a block's scores, by metric, and return its manifest entry."""
        rows = block.rows
        entry: dict[str, Any] = {
            "part": self.path(block.number).name,
            "request": self.request,
            "captions": block.digest,
            "first_row": block.first,
            "rows": len(rows),
            "failed": {name: s.reason for name, s in scores.items() if s.reason},
            "columns": {},
        }
        table: dict[str, pa.Array] = {
            "row": pa.array(range(block.first, block.first + len(rows)), pa.int64()),
            "image_id": _ids(rows),
            "caption": pa.array([row.caption for row in rows], pa.string()),
        }
        for metric, names in columns.items():
            for c, name in enumerate(names):
                values = scores[metric].scores[:, c]
                numbers = values[~np.isnan(values)]
                entry["columns"][name] = {"n": len(numbers), "sum": math.fsum(numbers.tolist())}
                table[name] = pa.array(np.ascontiguousarray(values))
        schema = pa.table(table).schema.with_metadata({_KEY: json.dumps(entry).encode()})
        arrow = pa.table(table).cast(schema)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(block.number)
        files.atomic(path, lambda p: pq.write_table(arrow, p, compression="zstd"))
        return entry

    def finish(
        self,
        entries: Sequence[Mapping[str, Any]],
        facts: Mapping[str, Any],
        keep: Collection[str] = (),
    ) -> dict[str, float | None]:
        """Write the manifest, remove the files of other requests except `keep`, and return the mean
        of each column; `None` for a column without scores."""
        names = {part["part"] for part in entries} | set(keep)
        for path in (*self.folder.glob("*.parquet"), *self.folder.glob(PATTERN)):
            if path.name not in names:
                path.unlink()
        for path in self.folder.glob(".*"):  # of one that was killed while it wrote
            path.unlink()
        files.write_json(self.folder / MANIFEST, {"schema": 1, **facts, "parts": list(entries)})
        columns = dict.fromkeys(name for part in entries for name in part["columns"])
        return {name: _mean([part["columns"][name] for part in entries]) for name in columns}


def _mean(parts: Sequence[Mapping[str, Any]]) -> float | None:
    n = sum(part["n"] for part in parts)
    return math.fsum(part["sum"] for part in parts) / n if n else None


def _ids(rows: Sequence[Any]) -> pa.Array:
    ids = [row.image_id for row in rows]
    whole = all(isinstance(i, int) for i in ids)
    return pa.array(ids if whole else [None if i is None else str(i) for i in ids],
                    pa.int64() if whole else pa.string())  # fmt: skip
