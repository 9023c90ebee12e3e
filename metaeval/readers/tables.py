"""Tables, strictly: CSV, lines of tab-separated fields, and Parquet, row by row.

Every record is read exactly, or the file is refused with its line: a row that is too short
or too long, a column that occurs twice, a quote that is not closed.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from metaeval.errors import InputError
from metaeval.readers.files import MOST_TEXT, TextFile, one_line, open_binary

_MOST_CELL = 1 << 24  # characters
_MOST_ROWS, _MOST_COLUMNS = 50_000_000, 10_000
_BATCH = 2_000  # rows of a Parquet file in memory at a time
_MOST_BATCH = 1 << 28  # bytes of their values


def read_fields(file: TextFile, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of a tab-separated file without a header: where, and as many fields as names."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != len(names):
            raise InputError(
                f"has {len(cells)} tab-separated fields instead of {len(names)} "
                f"({', '.join(names)})",
                file=file.path,
                record=f"line {number:,}",
            )
        yield f"line {number:,}", cells


def read_csv(file: TextFile, delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """The records of a CSV file with a header: where, and column → cell.

    Cells may be quoted, and quoted cells may hold line ends. Lines end with a line feed, a
    carriage return or both; what else Unicode calls a line end (U+2028, U+0085, a form feed) is
    part of a cell.

    Raises InputError for a row that has not as many cells as the header, a column that is there
    twice, and a quote that is not closed, or closed so late that it has swallowed whole rows.
    """
    csv.field_size_limit(_MOST_CELL)
    lines = list(io.StringIO(file.text, newline=""))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header = _row(reader, file)
    if header is None:
        raise InputError("is empty", file=file.path)
    if len(header) == 1 and (others := set(";|\t,").intersection(header[0])):
        there = "a tab" if "\t" in others else f"'{min(others)}'"
        remedy = (
            "',' (in a .tsv file: a tab)" if delimiter == "," else "a tab (in a .csv file: ',')"
        )
        raise InputError(f"the separator is {there}; use {remedy}", file=file.path, record="line 1")
    if twice := [name for name, n in Counter(header).items() if n > 1 and name]:
        raise InputError("the column occurs twice", file=file.path, field=twice[0])
    while True:
        begin = reader.line_num
        if (cells := _row(reader, file)) is None:
            return
        if not cells:
            continue  # an empty line
        where = f"line {reader.line_num:,}"
        if len(cells) != len(header):
            raise InputError(
                f"has {len(cells)} cells where the header has {len(header)}",
                file=file.path,
                record=where,
            )
        first, *inside = lines[begin : reader.line_num]  # a quoted cell may go on for lines
        whole = first.count(delimiter) >= len(header) - 1
        if whole and any(_is_row(line, delimiter, len(header)) for line in inside):
            raise InputError(
                "a quoted cell that begins here holds whole rows: is a quote not closed?",
                file=file.path,
                record=f"line {begin + 1:,}",
            )
        yield where, dict(zip(header, cells, strict=True))


def _row(reader: Any, file: TextFile) -> list[str] | None:
    try:
        row: list[str] | None = next(reader, None)
    except csv.Error as error:
        words = one_line(error)
        if "end of data" in words:
            words = "a quote is not closed"
        record = f"line {reader.line_num:,}"
        raise InputError(f"is not CSV ({words})", file=file.path, record=record) from None
    return row


def _is_row(line: str, delimiter: str, width: int) -> bool:
    """Whether a line by itself would be a row of the table."""
    if width < 2:
        return False
    try:
        return len(next(csv.reader([line], delimiter=delimiter), [])) == width
    except csv.Error:
        return False


def read_parquet(path: Path, most: int | None = MOST_TEXT) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a Parquet file: where, and column → value.

    Few rows are in memory at a time. With `most`, a file whose values take more bytes is refused,
    for callers that keep all rows. Texts are decoded from their dictionaries here: a file of 100 kB
    may name one text of a megabyte a million times.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_binary(path, most) as opened, pq.ParquetFile(opened) as plain:
            metadata = plain.metadata
            names = plain.schema_arrow.names
            if twice := [name for name, n in Counter(names).items() if n > 1]:
                raise InputError("the column occurs twice", file=path, field=twice[0])
            if metadata.num_rows > _MOST_ROWS or len(names) > _MOST_COLUMNS:
                raise InputError(
                    f"holds {metadata.num_rows:,} rows of {len(names):,} columns: too many",
                    file=path,
                )
            sizes = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            size = sum(max(0, s) for s in sizes)
            if most is not None and size > most:
                raise InputError(f"unpacks to {size:,} bytes, at most {most:,} are read", file=path)
            columns = (plain.schema.column(k) for k in range(len(plain.schema)))
            texts = [c.path for c in columns if c.physical_type == "BYTE_ARRAY"]  # also in lists
            number = 0
            with pq.ParquetFile(opened, read_dictionary=texts) as file:
                for batch in _checked_batches(file, path, most):
                    for row in zip(*map(_values, batch.columns), strict=True):
                        number += 1
                        yield f"row {number:,}", dict(zip(names, row, strict=True))
                    if not names:
                        number += len(batch)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(f"not a readable Parquet file ({one_line(error)})", file=path) from None
    except MemoryError:
        raise InputError(
            "does not fit into memory; write it in several smaller files", file=path
        ) from None
    if number != metadata.num_rows:
        raise InputError(
            f"has {number:,} rows, its metadata announces {metadata.num_rows:,}", file=path
        )


def _checked_batches(file: Any, path: Path, most: int | None) -> Iterator[Any]:
    """The batches of a file; InputError where their values take too many bytes."""
    number, size = 1, 0
    for batch in file.iter_batches(_BATCH):
        of_batch = sum(map(_decoded_bytes, batch.columns))
        size += of_batch
        if of_batch > _MOST_BATCH or (most is not None and size > most):
            taken, limit = (of_batch, _MOST_BATCH) if of_batch > _MOST_BATCH else (size, most)
            raise InputError(
                f"its values take more than {limit:,} bytes ({taken:,} by row "
                f"{number + len(batch) - 1:,}); write smaller files",
                file=path,
            )
        number += len(batch)
        yield batch


def _decoded_bytes(array: Any) -> int:
    """How many bytes the values of an Arrow array take once dictionaries are expanded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(array.dictionary)
        total = pc.sum(pc.take(lengths, array.indices)).as_py() or 0
        return int(total + array.indices.nbytes)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return int(_decoded_bytes(array.flatten()) + 4 * len(array))
    if pa.types.is_struct(kind):
        return sum(_decoded_bytes(part) for part in array.flatten())
    return int(array.nbytes)


def _values(array: Any) -> list[Any]:
    """The values of an Arrow array; equal texts of a dictionary are one object."""
    import pyarrow as pa

    if pa.types.is_list(array.type) and pa.types.is_dictionary(array.type.value_type):
        values = iter(_values(array.flatten()))
        lengths = array.value_lengths().to_pylist()
        return [None if n is None else list(islice(values, n)) for n in lengths]
    if not pa.types.is_dictionary(array.type):
        return list(array.to_pylist())
    texts = array.dictionary.to_pylist()
    return [None if k is None else texts[k] for k in array.indices.to_pylist()]
