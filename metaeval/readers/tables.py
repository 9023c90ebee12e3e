"""Tables, strictly: CSV, lines of tab-separated fields, and Parquet, row by row.

Every record is read exactly, or the file is refused with its line: a row that is too short
or too long, a column that occurs twice, a quote that is not closed.
"""

import ast
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard

from metaeval.errors import InputError
from metaeval.readers.files import MOST_TEXT, TextFile, one_line, open_binary, parse_json
from metaeval.readers.zips import open_zip

_MOST_CELL = 1 << 24  # characters
_MOST_HEADER = 1 << 16  # characters that are looked at to find the delimiter
_MOST_ROWS, _MOST_COLUMNS = 50_000_000, 10_000
_MOST_WORKBOOK = 1 << 28  # bytes to which a workbook may unpack
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


def first_rows(text: str, delimiter: str) -> tuple[list[str], list[str]]:
    """The header and the first record of a CSV text, blanks after a delimiter left out; empty where
    there is none.

    >>> first_rows("a; b\\n1; 'x, y'", ";")
    (['a', 'b'], ['1', "'x, y'"])
    """
    lines = io.StringIO(text[:_MOST_HEADER], newline="")
    rows = filter(None, csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    return next(rows, []), next(rows, [])


Quoting = Literal["csv", "none"]


def read_csv(
    file: TextFile, delimiter: str = ",", *, trim: bool = False, quoting: Quoting | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """The records of a CSV file with a header: where, and column → cell.

    Cells may be quoted, and quoted cells may hold line ends. Lines end with a line feed, a
    carriage return or both; what else Unicode calls a line end (U+2028, U+0085, a form feed) is
    part of a cell. With `trim`, blanks around cells are left out. `quoting` is "csv" where every
    quote is believed (RFC 4180), "none" where quotes are text, `None` where a quoted cell that
    holds what looks like records of the table is refused.

    Raises InputError for a row that has not as many cells as the header, a column that is there
    twice, and a quote that is not closed, or closed so late that it has swallowed whole rows.
    """
    csv.field_size_limit(_MOST_CELL)
    lines = list(io.StringIO(file.text, newline=""))
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        strict=True,
        skipinitialspace=trim,
        quoting=csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL,
    )
    header = _row(reader, file, trim)
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
    rows = list(_rows(reader, len(header), file, trim))
    looks: list[_Looks] | None = None
    for begin, end, cells in rows:
        first, *inside = lines[begin:end]  # a quoted cell may go on for lines
        if inside and quoting is None and first.count(delimiter) >= len(header) - 1:
            looks = looks or [_look(column) for column in zip(*(r[2] for r in rows), strict=True)]
            if any(_is_record(line, delimiter, looks) for line in inside):
                raise InputError(
                    "a quoted cell that begins here holds whole rows: is a quote not closed?",
                    file=file.path,
                    record=f"line {begin + 1:,}",
                )
        yield f"line {end:,}", dict(zip(header, cells, strict=True))


def _rows(
    reader: Any, width: int, file: TextFile, trim: bool
) -> Iterator[tuple[int, int, list[str]]]:
    """The rows that are not empty: the lines before and up to their ends, and their cells."""
    begin = reader.line_num
    while (cells := _row(reader, file, trim)) is not None:
        if cells and len(cells) != width:
            problem = f"has {len(cells)} cells where the header has {width}"
            raise InputError(problem, file=file.path, record=f"line {reader.line_num:,}")
        if cells:
            yield begin, reader.line_num, cells
        begin = reader.line_num


def _row(reader: Any, file: TextFile, trim: bool) -> list[str] | None:
    try:
        row: list[str] | None = next(reader, None)
    except csv.Error as error:
        words = one_line(error)
        if "end of data" in words:
            words = "a quote is not closed"
        record = f"line {reader.line_num:,}"
        raise InputError(f"is not CSV ({words})", file=file.path, record=record) from None
    return [cell.strip() for cell in row] if trim and row else row


def splits_evenly(text: str, delimiter: str) -> bool:
    """Whether every line that is not blank has as many cells as the first, quotes being text."""
    return len({line.count(delimiter) for line in text.split("\n") if line.strip()}) == 1


class _Looks(NamedTuple):
    """What cells have in common."""

    numbers: bool = False
    digits: bool = False
    words: bool = False  # without white space


def _look(cells: Iterable[str]) -> _Looks:
    """What the cells of one line have in common, as far as they are not empty."""
    looks = [
        _Looks(
            bool(_NUMBER.fullmatch(cell.strip())),
            any(map(str.isdigit, cell)),
            len(cell.split()) == 1,
        )
        for cell in cells
        if cell and "\n" not in cell and "\r" not in cell
    ]
    return _Looks(*map(all, zip(*looks, strict=True))) if looks else _Looks()


def _is_record(line: str, delimiter: str, looks: Sequence[_Looks]) -> bool:
    """Whether a line by itself would be a record of the table."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return False
    return len(cells) == len(looks) and all(
        not cell or all(has or not wanted for wanted, has in zip(look, _look([cell]), strict=True))
        for look, cell in zip(looks, cells, strict=True)
    )


def read_workbook(path: Path, sheet: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a sheet of an Excel workbook: where, and column → value, `""` for an empty cell.

    `sheet` is its name, `None` the only one that has rows. Rows without a value are left out. Texts
    stay texts: "NA" and "None" are not empty cells.

    Raises InputError where openpyxl is not installed, and for a workbook of several sheets.
    """
    import pandas as pd

    with open_zip(path, "workbook (.xlsx)") as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_WORKBOOK:
            raise InputError(f"unpacks to more than {_MOST_WORKBOOK:,} bytes", file=path)
    try:
        sheets = pd.read_excel(
            path, sheet_name=None, header=None, dtype=object, engine="openpyxl", na_filter=False
        )
    except ImportError:
        remedy = "pip install openpyxl, or save the sheet as CSV"
        raise InputError(f"needs openpyxl to be read: {remedy}", file=path) from None
    except Exception as error:  # openpyxl raises what its parsers raise
        raise InputError(f"not a readable workbook ({one_line(error)})", file=path) from None
    listed = ", ".join(one_line(name, 60) for name in sheets) or "no sheet"
    filled = [name for name in sheets if (len(sheets[name]) if sheet is None else name == sheet)]
    if len(filled) != 1:
        problem = f"holds {listed} instead of one sheet; name it (dataset.sheet=NAME)"
        problem = problem if sheet is None else f"has no sheet '{sheet}', but {listed}"
        raise InputError(problem, file=path)
    rows = sheets[filled[0]].to_numpy().tolist()
    numbered = [(n, row) for n, row in enumerate(rows, 1) if any(cell != "" for cell in row)]
    if not numbered:
        return
    (first, header), *records = numbered
    names = [str(name) for name in header if name != ""]
    if len(set(names)) < len(header):
        problem = "a column has no name, or occurs twice"
        raise InputError(problem, file=path, record=f"row {first:,}")
    for number, row in records:
        yield f"row {number:,}", dict(zip(names, row, strict=True))


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


# digits of ASCII alone: float() would also read "1_000" and the digits of other scripts
_SEPARATORS = frozenset("\x1c\x1d\x1e\x1f")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_PYTHON_LIST = re.compile(
    rf"\[\s*(?:(?:{_STRING})\s*(?:,\s*(?:{_STRING})\s*)*,?\s*)?\]", re.DOTALL | re.ASCII
)
_ONE_STRING = re.compile(_STRING, re.DOTALL)
_ADJACENT = re.compile(rf"\[\s*(?:{_STRING})\s*(?:{_STRING})", re.DOTALL)
# how other programs print what holds several captions: a tuple, a set, an array
_OTHER_LIST = re.compile(r"""\s*(?:array\(|Index\(|set\(|[({<]\s*['"])""")


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number that a float can hold; true and false are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def reads_as_number(value: Any) -> bool:
    """Whether a value is a number, or a text of one in ASCII digits; blanks around it do not
    matter, and separators of records (U+001C to U+001F), which `str.strip` takes for blanks, do."""
    if not isinstance(value, str):
        return is_number(value)
    return bool(_NUMBER.fullmatch(value.strip())) and _SEPARATORS.isdisjoint(value)


def read_number(
    value: Any,
    file: Path,
    where: str,
    field: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    whole: bool = False,
) -> float:
    """A finite number in low…high, written in ASCII digits, or an InputError that names it."""
    number = float(value) if reads_as_number(value) else math.nan
    if not math.isfinite(number):
        remedy = ""
        if isinstance(value, Mapping):
            remedy = f"; it is an object: name what is in it, as COLUMN.{next(iter(value), 'NAME')}"
        elif "," in str(value):
            remedy = "; write 1234 or 1.234, without a comma"
        problem = f"{value!r:.60} is not a number{remedy}"
        raise InputError(problem, file=file, record=where, field=field)
    if not low <= number <= high:
        scale = f"{low:g}…{high:g}" if math.isfinite(low + high) else f"above {low:g}"
        scale = f"up to {high:g}" if low == -math.inf else scale
        raise InputError(
            f"{value!r:.60} is not on the scale {scale}", file=file, record=where, field=field
        )
    if whole and number != int(number):
        raise InputError(
            f"{value!r:.60} is not a whole number", file=file, record=where, field=field
        )
    return number


def read_list(value: Any, file: Path | None, where: str, field: str) -> Any:
    """A cell of a table that holds a list, as that list; any other value as it is.

    A list is written in JSON, or as Python prints a list of strings. One without commas, as NumPy
    prints arrays, is refused, and so are tuples, sets and arrays as other programs print them: read
    as Python does, or as one text, several captions would become a single one.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _OTHER_LIST.match(text):
        raise InputError(
            f"{one_line(text, 40)} looks like several values; write a JSON list",
            file=file,
            record=where,
            field=field,
        )
    if not text.startswith("["):
        return value
    try:
        return parse_json(text, file, where)
    except InputError:
        if (listed := _python_list(text)) is not None:
            return listed
        problem = f"{one_line(text, 40)} begins like a list and is none; write a JSON list"
        if _ADJACENT.match(text):
            problem = f"{one_line(text, 40)} is a list without commas; write a JSON list"
        raise InputError(problem, file=file, record=where, field=field) from None


def _python_list(text: str) -> list[str] | None:
    """The strings of a list as Python prints it; `None` for anything else."""
    if not _PYTHON_LIST.fullmatch(text):
        return None
    try:
        return [ast.literal_eval(part) for part in _ONE_STRING.findall(text)]
    except (ValueError, SyntaxError):  # a "\x" that is none
        return None


MOST_NAME = 200  # characters; names head columns of tables and lines of figures
_SURROGATE = re.compile("[\ud800-\udfff]")


def name_problem(name: object) -> str | None:
    """What is wrong with a name, or `None`: a name is one line of 1 to 200 printable characters.

    >>> name_problem("CLIP <base>"), name_problem("a\\nb")
    (None, "'a\\\\nb' is not a name: it contains '\\\\n', which cannot be printed")
    """
    if not isinstance(name, str):
        return f"{one_line(repr(name), 40)} is not a name: it is {type(name).__name__}, not a text"
    if not name.strip():
        return f"{name!r:.40} is not a name: it is empty"
    shown = ascii(name) if _SURROGATE.search(name) else one_line(repr(name), 60)
    if half := _SURROGATE.search(name):
        return f"{shown:.60} is not a name: it contains an unpaired surrogate U+{ord(half[0]):04X}"
    if odd := next((c for c in name if not c.isprintable()), None):
        return f"{shown} is not a name: it contains {odd!r}, which cannot be printed"
    if len(name) > MOST_NAME:
        return f"{shown} is not a name: it has {len(name):,} characters, at most {MOST_NAME}"
    return None


def check_name(name: object, *, file: Path, record: str | None, field: str) -> str:
    """A name from a field of a record; InputError for an invalid one."""
    if problem := name_problem(name):
        raise InputError(problem, file=file, record=record, field=field)
    return str(name)
