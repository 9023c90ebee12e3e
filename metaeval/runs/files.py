"""The files of a run: their schemas, and reading and writing them whole or not at all.

Each stage of a run reads only the files that the stage before wrote, so that a run can be resumed,
a report rebuilt and a sweep gathered from files alone. Every write goes to a temporary file in the
same folder and is then renamed: a killed run leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.errors import InputError

CAPTIONS = "captions.parquet"
REFERENCES = "references.parquet"
SCORES = "scores.parquet"
SEED_SCORES = "seed_scores.parquet"
STATISTICS = "statistics.json"
EXPLANATIONS = "explanations.json"
RUN = "run.json"
CONFIG = "config.yaml"
REPORT = "report.html"
FIGURES = "figures"

# EXPLANATIONS is {"schema": 1, "images_per_column": N, "metrics": {name: {"columns": [column, …],
# "images": [{"image_id": id, "sets": {set: payload}}, …]}}}: of the metrics that tell how a score
# came about, by their names in the configuration, what `Scorer.explain` says of each version of an
# image; a run need not have it.

_EDIT = pa.struct([("position", pa.int32()), ("before", pa.string()), ("after", pa.string())])

# column → type; image_id is int64 or string, whichever the dataset uses
_COLUMNS: dict[str, dict[str, pa.DataType]] = {
    # one version of one caption: the fields of `metaeval.runs.records.Version`
    CAPTIONS: {
        "set": pa.string(),
        "level": pa.int32(),
        "caption": pa.string(),
        "source_caption": pa.string(),
        "applied": pa.bool_(),
        "expected": pa.string(),
        "effect": pa.string(),
        "harm": pa.float64(),
        "requested_rate": pa.float64(),
        "realised_rate": pa.float64(),
        "edits": pa.list_(_EDIT),
    },
    # one image: what its captions are compared with
    REFERENCES: {"references": pa.list_(pa.string()), "image_path": pa.string()},
    # one score; NaN = could not be scored
    SCORES: {
        "set": pa.string(),
        "level": pa.int32(),
        "metric": pa.string(),
        "score": pa.float64(),
    },
    # one score of a version that another corruption seed made; only where corruption.seeds > 1
    SEED_SCORES: {
        "seed": pa.int64(),
        "set": pa.string(),
        "level": pa.int32(),
        "metric": pa.string(),
        "score": pa.float64(),
    },
}


def atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a temporary path beside `path`, then rename it to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)  # mkstemp's 0600 would make a shared run unreadable to others
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write captions, references or scores (told by the file's name) under their schema."""
    ids = pa.int64() if pd.api.types.is_integer_dtype(table["image_id"]) else pa.string()
    schema = pa.schema([("image_id", ids), *_COLUMNS[path.name].items()])
    arrow = pa.Table.from_pandas(table[schema.names], schema=schema, preserve_index=False)
    arrow = arrow.replace_schema_metadata(None)  # pandas' metadata holds library versions
    atomic(path, lambda p: pq.write_table(arrow, p, compression="zstd"))


def read_table(path: Path) -> pd.DataFrame:
    """Read captions, references or scores, refusing a file that lacks one of its columns."""
    if not path.is_file():
        raise InputError("no such file: is this the directory of a finished run?", file=path)
    try:
        table: pd.DataFrame = pq.read_table(path).to_pandas()
    except pa.ArrowInvalid as error:
        raise InputError(f"not a readable Parquet file ({error})", file=path) from None
    for column in ["image_id", *_COLUMNS[path.name]]:
        if column not in table:
            raise InputError("the column is missing", file=path, field=column)
    return table


def write_json(path: Path, value: Any, *, indent: int | None = 1) -> None:
    """Write JSON with stable formatting; NaN and infinities become null, as JSON has none.

    `indent=None` puts everything on one line, for files that are all numbers.
    """
    separators = (",", ": ") if indent else (",", ":")
    text = json.dumps(
        _plain(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
    )
    atomic(path, lambda p: p.write_text(f"{text}\n", encoding="utf-8"))


def read_json(path: Path) -> Any:
    """Read a JSON file of a run, naming the file where it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            "no such file: is this the directory of a finished run?", file=path
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(f"invalid JSON ({error})", file=path) from None


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays, tuples and paths as what JSON knows."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Path):
        return str(value)
    return value
