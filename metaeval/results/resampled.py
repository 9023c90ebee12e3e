"""The replicates behind the intervals of a run: `replicates.parquet` in its folder."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.runs import files

CEILING = ""  # the name of the column of a perfect metric


class Resampled(NamedTuple):
    """A measure of a column on all images and on resampled ones; those of one run are of the same
    draws, so replicate k of two columns, or of two measures, is of the same images.

    Attributes
    ----------
    measure
        The key of the measure.
    column
        The name of a metric or control; `CEILING` is a perfect metric, where its value is not
        certain.
    items_of
        The metric on whose items alone a control was measured; "" = all its own.
    value
        On all images.
    n_units, n
        How many images and items took part.
    replicates
        float64 [replicates], of at least seven digits.
    """

    measure: str
    column: str
    items_of: str
    value: float
    n_units: int
    n: int
    replicates: npt.NDArray[np.float64]


def write_resampled(path: Path, rows: Iterable[Resampled]) -> None:
    """Write `replicates.parquet`."""
    content = resampled_bytes(rows)
    files.atomic(path, lambda p: p.write_bytes(content))


def resampled_bytes(rows: Iterable[Resampled]) -> bytes:
    """The rows as a Parquet file; replicates take four bytes each."""
    known = list(rows)
    columns = {
        name: [getattr(row, name) for row in known]
        for name in Resampled._fields
        if name != "replicates"
    }
    small = [row.replicates.astype(np.float32) for row in known]
    table = pa.table({**columns, "replicates": pa.array(small, pa.list_(pa.float32()))})
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def resampled_rows(content: bytes) -> tuple[Resampled, ...]:
    """The rows of a Parquet file."""
    return tuple(map(_row, pq.read_table(BytesIO(content)).to_pylist()))


def _row(row: Mapping[Any, Any]) -> Resampled:
    return Resampled(**{**row, "replicates": np.asarray(row["replicates"], np.float64)})


def read_resampled(path: Path) -> tuple[Resampled, ...]:
    """Read `replicates.parquet`. Raises InputError where it is missing or damaged."""
    rows = files.read_columns(path, Resampled._fields).to_dict("records")
    return tuple(map(_row, rows))
