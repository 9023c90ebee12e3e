"""The files of scored blocks: one Parquet file per block, and the manifest of them all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.experiments.score.corpus import PATTERN
from metaeval.experiments.score.rows import CaptionRow, RowBlock
from metaeval.experiments.score.worker import BlockScores
from metaeval.results.blocks import BlockEntry, ColumnSum, Manifest
from metaeval.results.files import write_manifest
from metaeval.runs import files, folder
from metaeval.runs.columns import CAPTION, IMAGE_ID

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

    def known(self, block: RowBlock) -> BlockEntry | None:
        """The manifest entry of a block that is scored already; `None` for one that is not."""
        entry = self._entry(block.number)
        if entry is None or entry.failed or entry.captions != block.digest:
            return None
        return entry

    def _entry(self, number: int) -> BlockEntry | None:
        path = self.path(number)
        try:
            metadata = pq.read_schema(path).metadata or {}
            entry = BlockEntry.model_validate_json(metadata[_KEY])
        except (OSError, pa.ArrowException, KeyError, ValueError):
            return None  # it is not there, or half of it
        return entry if entry.request == self.request else None

    def write(
        self,
        block: RowBlock,
        columns: Mapping[str, Sequence[str]],
        scores: Mapping[str, BlockScores],
    ) -> BlockEntry:
        """Write a block's scores, by metric, and return its manifest entry."""
        rows = block.rows
        table: dict[str, pa.Array] = {
            "row": pa.array(range(block.first, block.first + len(rows)), pa.int64()),
            IMAGE_ID: _ids(rows),
            CAPTION: pa.array([row.caption for row in rows], pa.string()),
        }
        sums: dict[str, ColumnSum] = {}
        for metric, names in columns.items():
            for c, name in enumerate(names):
                values = scores[metric].scores[:, c]
                numbers = values[~np.isnan(values)]
                sums[name] = ColumnSum(n=len(numbers), sum=math.fsum(numbers.tolist()))
                table[name] = pa.array(np.ascontiguousarray(values))
        entry = BlockEntry(
            part=self.path(block.number).name,
            request=self.request,
            captions=block.digest,
            first_row=block.first,
            rows=len(rows),
            failed={name: s.reason for name, s in scores.items() if s.reason},
            columns=sums,
        )
        schema = pa.table(table).schema.with_metadata({_KEY: entry.model_dump_json().encode()})
        arrow = pa.table(table).cast(schema)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(block.number)
        files.atomic(path, lambda p: pq.write_table(arrow, p, compression="zstd"))
        return entry

    def finish(self, manifest: Manifest, keep: Collection[str] = ()) -> dict[str, float | None]:
        """Write the manifest, remove the run's files of other requests except `keep`, and return
        the mean of each column; `None` for a column without scores."""
        names = {entry.part for entry in manifest.parts} | set(keep)
        for path in (*self.folder.glob("*.parquet"), *self.folder.glob(PATTERN)):
            if path.name not in names and folder.wrote(path):
                path.unlink()
        write_manifest(self.folder / MANIFEST, manifest)
        columns = dict.fromkeys(name for entry in manifest.parts for name in entry.columns)
        return {name: _mean([entry.columns[name] for entry in manifest.parts]) for name in columns}


def _mean(sums: Sequence[ColumnSum]) -> float | None:
    n = sum(part.n for part in sums)
    return math.fsum(part.sum for part in sums) / n if n else None


def _ids(rows: Sequence[CaptionRow]) -> pa.Array:
    ids = [row.image_id for row in rows]
    whole = all(isinstance(i, int) for i in ids)
    return pa.array(ids if whole else [None if i is None else str(i) for i in ids],
                    pa.int64() if whole else pa.string())  # fmt: skip
