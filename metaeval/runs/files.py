"""The files of a run: their schemas, and reading and writing them whole or not at all.

Each stage of a run reads only the files that the stage before wrote, so that a run can be resumed,
a report rebuilt and a sweep gathered from files alone. Every write goes to a temporary file in the
same folder and is then renamed: a killed run leaves the old file or the new one, never half of one.
"""

import csv
import hashlib
import io
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from metaeval.errors import ConfigError, InputError
from metaeval.options import is_unicode
from metaeval.readers import files as readers
from metaeval.readers.files import one_line, open_binary
from metaeval.runs import folder
from metaeval.runs.records import (
    APPLIED,
    CAPTION,
    EDITS,
    EFFECT,
    EXPECTED,
    HARM,
    IMAGE_ID,
    IMAGE_PATH,
    LEVEL,
    METRIC,
    REALISED_RATE,
    REFERENCES as _REFERENCE_TEXTS,
    REQUESTED_RATE,
    SCORE,
    SEED,
    SET,
    SEVERITY,
    SOURCE_CAPTION,
)
from metaeval.runs.store import Store

CAPTIONS = "captions.parquet"
REFERENCES = "references.parquet"
SCORES = "scores.parquet"
SEED_SCORES = "seed_scores.parquet"
STATISTICS = "statistics.json"
REPLICATES = "replicates.parquet"
EXPLANATIONS = "explanations.json"
RUN = folder.RUN
CONFIG = "config.yaml"
REPORT = "report.html"
FIGURES = "figures"
JUDGMENTS = "judgments.parquet"  # see docs/judgments.md
PAIRS = "pairs.parquet"  # see docs/pairs.md
ACCURACIES = "accuracies.csv"  # see docs/pairs.md
TO_SCORE = "captions_to_score.jsonl"  # of a run without metrics, see docs/own.md
JUDGES = "judges.json"  # see docs/judges.md
TABLES = "tables"  # a folder of tables for papers, see docs/own.md
BLOCKS = "scores"  # a folder of scored blocks and their manifest, see docs/scale.md
MANIFEST = "_manifest.json"  # pandas.read_parquet(folder) skips names that begin with "_"
BY_REFERENCES = "references_"  # and a number: folders with SCORES, see docs/sweeps.md
AGAINST_HUMAN = "against_human"  # a folder with SCORES, of captioners against the other references

FINISHED = "finished"  # the "status" in `RUN` of a run that reached its end

# EXPLANATIONS is {"schema": 1, "images_per_column": N, "metrics": {name: {"columns": [column, …],
# "images": [{"image_id": id, "sets": {set: payload}}, …]}}}: of the metrics that explain how a
# score came about, by their names in the configuration, what `Scorer.explain` returns for each
# version of an image; a run need not have it.

_BLOCK = 20_000  # rows that are made at a time

_EDIT = pa.struct([("position", pa.int32()), ("before", pa.string()), ("after", pa.string())])

# column → type; image_id is int64 or string, whichever the dataset uses
_COLUMNS: dict[str, dict[str, pa.DataType]] = {
    # one version of one caption: the fields of `metaeval.runs.records.Version`
    CAPTIONS: {
        SET: pa.string(),
        LEVEL: pa.int32(),
        CAPTION: pa.string(),
        SOURCE_CAPTION: pa.string(),
        APPLIED: pa.bool_(),
        EXPECTED: pa.string(),
        SEVERITY: pa.string(),
        EFFECT: pa.string(),
        HARM: pa.float64(),
        REQUESTED_RATE: pa.float64(),
        REALISED_RATE: pa.float64(),
        EDITS: pa.list_(_EDIT),
    },
    # one image: what its captions are compared with
    REFERENCES: {_REFERENCE_TEXTS: pa.list_(pa.string()), IMAGE_PATH: pa.string()},
    # one score; NaN = could not be scored
    SCORES: {
        SET: pa.string(),
        LEVEL: pa.int32(),
        METRIC: pa.string(),
        SCORE: pa.float64(),
    },
    # one score of a version that another corruption seed made; only where corruption.seeds > 1
    SEED_SCORES: {
        SEED: pa.int64(),
        SET: pa.string(),
        LEVEL: pa.int32(),
        METRIC: pa.string(),
        SCORE: pa.float64(),
    },
}

# columns that files of older versions do not have
_ADDED_COLUMNS = {CAPTIONS: (SEVERITY,)}


def atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a temporary path in the folder of `path`, then rename it to `path`.

    Raises InputError where the disk is full, where nothing can be written there, and for a file in
    the folder of a run that no run wrote.
    """
    folder.add(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        # unlike mkstemp's 0600, this mode leaves it to the user's umask who may read the file
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        temporary = new
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", file=path) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def require_unicode(path: Path) -> None:
    """Raise ConfigError for a folder whose name is not UTF-8: no page or table could name it."""
    if not is_unicode(str(path)):
        raise ConfigError(
            f"the name of the run's folder is not UTF-8: {str(path)!a}; "
            "give another: hydra.run.dir=FOLDER"
        )


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write captions, references or scores (by the file's name) under their schema."""
    ids = pa.int64() if pd.api.types.is_integer_dtype(table[IMAGE_ID]) else pa.string()
    schema = _schema(path, ids)
    arrow = pa.Table.from_pandas(table[schema.names], schema=schema, preserve_index=False)
    write_arrow(path, arrow.replace_schema_metadata(None))  # pandas' holds library versions


def write_rows(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """`write_table` from at least one row after another, of which few are in memory at a time.

    A row is `image_id` and the values of the file's columns in their order.
    """
    blocks, iterator = [], iter(rows)
    while block := list(islice(iterator, _BLOCK)):
        schema = _schema(path, pa.int64() if isinstance(block[0][0], int) else pa.string())
        columns = zip(*block, strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
        blocks.append(pa.Table.from_arrays(arrays, schema=schema))
    write_arrow(path, pa.concat_tables(blocks).combine_chunks())


def write_score_table(
    path: Path, keys: pd.DataFrame, columns: Iterable[tuple[str, npt.NDArray[np.float64]]]
) -> None:
    """SCORES from the keys of n captions (image_id, set, level) and the n scores of each column."""
    whole = pd.api.types.is_integer_dtype(keys[IMAGE_ID])
    schema = _schema(path, pa.int64() if whole else pa.string())
    shared = [pa.array(keys[name], schema.field(name).type) for name in schema.names[:3]]
    parts = [  # which share the keys
        pa.Table.from_arrays([*shared, pa.repeat(name, len(keys)), pa.array(scores)], schema=schema)
        for name, scores in columns
    ]
    write_arrow(path, pa.concat_tables(parts) if parts else schema.empty_table())


def _schema(path: Path, ids: pa.DataType) -> pa.Schema:
    return pa.schema([(IMAGE_ID, ids), *_COLUMNS[path.name].items()])


def write_arrow(path: Path, table: pa.Table) -> None:
    """Write a Parquet file of any schema."""
    atomic(path, lambda p: pq.write_table(table, p, compression="zstd"))


def read_run_table(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read captions, references or scores; a missing column is an error.

    With `columns` only these: edits and texts take memory that not every reader has use for. A
    column that older versions did not write is filled with null.
    """
    added = _ADDED_COLUMNS.get(path.name, ())
    needed = [IMAGE_ID, *(c for c in _COLUMNS[path.name] if c not in added)]
    optional = [c for c in added if columns is None or c in columns]
    return read_columns(path, needed, columns, optional)


def read_columns(
    path: Path,
    needed: Sequence[str],
    columns: Sequence[str] | None = None,
    optional: Sequence[str] = (),
) -> pd.DataFrame:
    """Read any Parquet file of a run; a missing column of `needed` is an error.

    With `columns` only these. A missing column of `optional` is filled with null.
    """
    if not path.is_file():
        raise InputError(
            "file not found; give the directory of a finished run that has it", file=path
        )
    try:
        there = pq.read_schema(path).names
        for column in needed:
            if column not in there:
                raise InputError("the column is missing", file=path, field=column)
        absent = [c for c in optional if c not in there]
        chosen = None if columns is None else [c for c in columns if c not in absent]
        arrow = pq.read_table(path, columns=chosen)
        arrow.validate(full=True)  # that texts are UTF-8, which reading alone does not look at
        table: pd.DataFrame = arrow.to_pandas()
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(f"not a readable Parquet file ({one_line(error)})", file=path) from None
    return table.assign(**dict.fromkeys(absent)) if absent else table


def write_json(path: Path, value: Any, *, indent: int | None = 1) -> None:
    """Write JSON with stable formatting; NaN and infinities become null, as JSON has none.

    `indent=None` puts everything on one line, for files that are all numbers.
    """
    # half characters (of file names that are not UTF-8) as JSON escapes, which is what they become
    raw = f"{json_text(value, indent=indent)}\n".encode("utf-8", "backslashreplace")
    atomic(path, lambda p: p.write_bytes(raw))


def json_text(value: Any, *, indent: int | None = 1) -> str:
    """What `write_json` writes."""
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(
        _plain(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
    )


def read_run_json(path: Path) -> Any:
    """Read a JSON file of a run, naming the file where it is missing or broken."""
    if not path.is_file():
        raise InputError("file not found; give the directory of a finished run", file=path)
    return readers.read_json(path)[0]


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


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?")


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as the text of a CSV file, with line feeds; cells are those of `spreadsheet_cell`."""
    out = io.StringIO()
    cells = ([spreadsheet_cell(cell) for cell in row] for row in rows)
    csv.writer(out, lineterminator="\n").writerows(cells)
    return out.getvalue()


def spreadsheet_cell(value: Any) -> Any:
    """The value; a text that a spreadsheet would run as a formula gets an apostrophe before it.

    >>> [spreadsheet_cell(x) for x in ("=cmd()|A0", "-0.5", -0.5, "@name", "a dog")]
    ["'=cmd()|A0", '-0.5', -0.5, "'@name", 'a dog']
    """
    if not isinstance(value, str) or not value.lstrip(" ").startswith(_FORMULA):
        return value
    return value if _NUMBER.fullmatch(value.strip()) else f"'{value}"


_NAMESPACE = "sha256 of files by path, size and time of change"


def digest(content: bytes | str) -> bytes:
    """16 bytes of the SHA-256 of bytes or of a text in UTF-8: a key for the content store."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).digest()[:16]


def file_state(path: Path) -> bytes:
    """16 bytes that change when a file does: of its path, size and time of change.

    Raises OSError where the file does not exist.
    """
    stat = path.stat()
    return digest(f"{path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}")


def file_sha256(path: Path, store: Store | None = None) -> str:
    """The hexadecimal SHA-256 of a file.

    With a store, large files are read once for as long as they do not change. Raises InputError
    where the file cannot be read.
    """
    try:
        state = file_state(path)
        if store is not None and (known := store.get_many(_NAMESPACE, [state]).get(state)):
            return known.decode()
        with open_binary(path) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    if store is not None:
        store.put_many(_NAMESPACE, {state: sha256.encode()})
    return sha256
