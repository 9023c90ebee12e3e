"""Users' tables as records: CSV with a header, JSON Lines, JSON, Parquet, Excel workbooks.

A JSON file holds a list of records, or an object with such a list: under "annotations", as in
COCO's schema and FOIL, or under its only key with a list. It may also be an object from image ids
to a record, a caption or a list of either, or a list of such objects with an image each; and it may
hold JSON Lines. Where a record holds several pairs or rated captions, `unfolded` makes records of
them.

The delimiter of a text is the one that splits its header and its first record alike; where it is
not that of the file's ending, this is noted. Columns of decimal commas are noted, too, and quotes
that are text. Every loader of users' tables reads them here, and finds their columns with
`metaeval.data.fields.rename_fields`.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

from metaeval.data.fields import Fields, common_columns, fields_in, is_common
from metaeval.data.identity import is_decimal
from metaeval.data.records import json_type
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import (
    MOST_TEXT,
    TextFile,
    parse_json,
    read_json_lines,
    read_text,
    user_path,
)
from metaeval.readers.tables import (
    Quoting,
    first_rows,
    read_csv,
    read_parquet,
    read_workbook,
    splits_evenly,
)
from metaeval.runs.files import file_sha256

log = logging.getLogger(__name__)

FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")
TEXTS = {".csv": ",", ".tsv": "\t", ".txt": ""}  # ending → its usual delimiter
Delimiter = Literal["comma", "semicolon", "tab", "pipe"]
DELIMITERS: dict[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
# a number with a decimal comma or without a fraction; and one whose comma may part thousands
_COMMA = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?|[nN]a[nN]|")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
# keys of an object with several lists of records that are not image ids
_PARTS = frozenset(("train", "val", "valid", "validation", "dev", "test", "images", "annotations"))
_ROW_IDS = ("id", "seg_id", "item_id")  # which may be the number of a record, too
_WINNERS = {1: "first", 0: "tie", -1: "second"}  # BRACE's votes


class Reading(TypedDict, total=False):
    """How a table is read, where that is not found: options of every loader of users' tables.

    `delimiter` and `encoding` are of texts ("semicolon", "cp1252"); `quoting` is "none" where the
    quotes in a text of cells are text, "csv" where each encloses a cell (RFC 4180); `sheet` is the
    name of one of several sheets of a workbook.
    """

    delimiter: Delimiter | None
    quoting: Quoting | None
    encoding: str | None
    sheet: str | None


def take_reading(options: Any) -> Reading:
    """The options of a loader that say how a table is read, removed from the others."""
    return Reading(**{key: options.pop(key, None) for key in Reading.__annotations__})  # type: ignore[typeddict-item]


class TableRow(NamedTuple):
    """One record of a table, and its place ("line 7")."""

    where: str
    fields: dict[str, Any]


class Table(NamedTuple):
    """All records of a file, and its SHA-256.

    `notes` says what was guessed. Where `untyped` is true, the file has ids only as texts.
    """

    path: Path
    rows: list[TableRow]
    sha256: str
    notes: tuple[str, ...] = ()
    untyped: bool = False


def read_table(path: Path, reading: Reading | None = None, option: str | None = None) -> Table:
    """Read a table by its suffix.

    `reading` is how, where that is not to be found; `option` the name of the options that set it
    ("dataset"). What was guessed is logged. Raises InputError for another file, for an empty one,
    and for one that two delimiters split; ConfigError for options that are not of such a file.
    """
    suffix, notes, how = path.suffix.lower(), list[str](), reading or Reading()
    _check_reading(how, suffix, path, option)
    if suffix in (".parquet", ".xlsx"):
        read = read_parquet(path) if suffix == ".parquet" else read_workbook(path, how.get("sheet"))
        rows = [TableRow(where, record) for where, record in read]
        rows = _with_decimal_points(rows, path, [], notes) if suffix == ".xlsx" else rows
        table = Table(path, rows, file_sha256(path))
    elif suffix == ".json":
        value, sha256 = read_json_or_lines(path, how.get("encoding"), option, notes)
        n_notes = len(notes)
        rows = value if notes else _keyed(value, path, notes) or list(listed_records(value, path))
        table = Table(path, rows, sha256, untyped=len(notes) > n_notes)
    else:
        text = read_own_text(path, how.get("encoding"), option)
        if suffix == ".jsonl":
            rows = [TableRow(where, record) for where, record in read_json_lines(text)]
        else:
            rows = _delimited(text, how, option, notes)
        table = Table(path, rows, text.sha256, untyped=suffix in TEXTS)
    if not table.rows:
        raise InputError("holds no record", file=path)
    for note in notes:
        log.warning("%s", note)
    return table._replace(notes=tuple(notes))


def _check_reading(how: Reading, suffix: str, path: Path, option: str | None) -> None:
    """Refuse an unknown ending, and options that are not of a file with this ending."""
    if suffix not in (*FORMATS, *TEXTS):
        raise InputError(f"is none of {', '.join((*FORMATS, '.txt'))}", file=path)
    prefix = f"{option}." if option else ""
    kinds = {
        "delimiter": (tuple(TEXTS), "a text with a delimiter"),
        "quoting": (tuple(TEXTS), "a text with a delimiter"),
        "encoding": ((*TEXTS, ".json", ".jsonl"), "a text"),
        "sheet": ((".xlsx",), "a workbook"),
    }
    for name, (suffixes, called) in kinds.items():
        if how.get(name) is not None and suffix not in suffixes:
            raise ConfigError(f"{prefix}{name}: {path.name} is not {called}")


def read_own_text(path: Path, encoding: str | None = None, option: str | None = None) -> TextFile:
    """A text of the user's, whose encoding an option may name."""
    remedy = "save it as UTF-8"
    if option is not None:
        remedy += f", or name its encoding: {option}.encoding=cp1252"
    return read_text(path, MOST_TEXT, encoding, remedy)


def read_json_or_lines(
    path: Path, encoding: str | None, option: str | None, notes: list[str]
) -> tuple[Any, str]:
    """The value in a JSON file and its SHA-256; of JSON Lines the records, as rows, with a note."""
    text = read_own_text(path, encoding, option)
    try:
        return parse_json(text.text, path), text.sha256
    except InputError as error:
        try:
            rows = [TableRow(where, record) for where, record in read_json_lines(text)]
        except InputError:
            raise error from None
        notes.append(f"{path.name} as it was recognised: JSON Lines.")
        return rows, text.sha256


def _delimiter(file: TextFile, option: str | None) -> str:
    """The delimiter that splits the header and the first record into as many cells.

    InputError where several do, or none splits the header. Where none splits both alike it is the
    usual one, if it splits the header.
    """
    usual = TEXTS[file.path.suffix.lower()]
    rows = {name: first_rows(file.text, mark) for name, mark in DELIMITERS.items()}
    splitting = [name for name, (header, _) in rows.items() if len(header) > 1]
    names = [name for name in splitting if len(rows[name][0]) == len(rows[name][1])]
    if not names:  # a file that is not as it should be, which its reader says
        names = [n for n in splitting if DELIMITERS[n] == usual] or splitting
    if len(names) > 1:
        remedy = "write it with one that its header does not contain"
        if option is not None:
            remedy = "give it: " + " or ".join(f"{option}.delimiter={name}" for name in names)
        problem = f"{' and '.join(names)} may both be its delimiter; {remedy}"
        raise InputError(problem, file=file.path, record="line 1")
    if not names and len(file.text.partition("\n")[0].split()) > 1:
        problem = "blanks do not separate columns; write a comma, a semicolon, a tab or '|'"
        raise InputError(problem, file=file.path, record="line 1")
    return DELIMITERS[names[0]] if names else usual or ","


def _delimited(
    file: TextFile, how: Reading, option: str | None, notes: list[str]
) -> list[TableRow]:
    """The records of a text of cells, decimal commas as points."""
    given, quoting = how.get("delimiter"), how.get("quoting")
    mark = DELIMITERS[given] if given else _delimiter(file, option)
    expected = mark if given else TEXTS[file.path.suffix.lower()]
    header = file.text.partition("\n")[0].split(mark)
    name = next(name for name, each in DELIMITERS.items() if each == mark)
    blanks = len(header) > 1 and all(cell.startswith(" ") for cell in header[1:])
    guesses = [f"the delimiter is {name}"] if mark != expected else []
    guesses += ["blanks around cells are left out"] if blanks else []
    try:
        records = list(read_csv(file, mark, trim=blanks, quoting=quoting))
    except InputError as error:
        if quoting is not None or '"' not in file.text or not splits_evenly(file.text, mark):
            raise
        if mark != "\t":  # programs that write tabs often write quotes as they are
            remedy = f"; if quotes are text: {option}.quoting=none" if option else ""
            raise InputError(f"{error}{remedy}") from None
        records = list(read_csv(file, mark, trim=blanks, quoting="none"))
        guesses.append("quotes are text")
    rows = [TableRow(where, dict(record)) for where, record in records]
    return (
        rows
        if mark == "," and not guesses
        else _with_decimal_points(rows, file.path, guesses, notes, commas=mark != ",")
    )


def _with_decimal_points(
    rows: Sequence[TableRow],
    path: Path,
    guesses: list[str],
    notes: list[str],
    commas: bool = True,
) -> list[TableRow]:
    """The rows with points for decimal commas, where `commas` may be such; notes the guesses."""
    columns = rows[0].fields if rows and commas else ()
    decimal = [c for c in columns if _has_decimal_commas([row.fields.get(c) for row in rows])]
    decimal = [c for c in decimal if c not in common_columns("image_id", decimal)]
    guesses = guesses + ([f"decimal commas in {', '.join(map(repr, decimal))}"] if decimal else [])
    if guesses:
        notes.append(f"{path.name} as it was recognised: {'; '.join(guesses)}.")
    made = []
    for where, record in rows:
        texts = {c: cell for c in decimal if isinstance(cell := record.get(c), str)}
        points = {column: cell.replace(",", ".") for column, cell in texts.items()}
        made.append(TableRow(where, {**record, **points}))
    return made


def _has_decimal_commas(cells: Sequence[Any]) -> bool:
    """Whether all texts of a column are numbers, and commas in them must be of decimals.

    >>> _has_decimal_commas(["3,5", "4", "", 2.5]), _has_decimal_commas(["1,234", "5"])
    (True, False)
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if len(texts) < sum(not isinstance(cell, int | float) for cell in cells):
        return False
    if not all(map(_COMMA.fullmatch, texts)):
        return False
    return not all(_THOUSANDS.fullmatch(text) for text in texts if "," in text)


def table_files(given: str | Path | Sequence[str | Path], option: str) -> list[Path]:
    """The given files: one, several, or those of a folder. Raises InputError for none."""
    paths: list[Path] = []
    for one in [given] if isinstance(given, str | Path) else given:
        path = user_path(one)
        if path.is_dir():
            paths += tables_in(path)
        elif path.is_file():
            paths.append(path)
        else:
            raise InputError(f"file not found; correct {option}", file=path)
    return paths


def tables_in(folder: Path) -> list[Path]:
    """The tables of a folder, by name; those whose names begin with a dot or an underscore are not
    data for pandas and pyarrow either. Raises InputError for none."""
    visible = (p for p in folder.iterdir() if not p.name.startswith(("_", ".")))
    inside = sorted(p for p in visible if p.suffix.lower() in FORMATS and p.is_file())
    if not inside:
        raise InputError(f"the folder holds no table ({', '.join(FORMATS)})", file=folder)
    return inside


def _keyed(value: Any, path: Path, notes: list[str]) -> list[TableRow]:
    """The records of an object from image ids to a record, a caption, or a list of either.

    Empty for anything else. Where the records name their image, the keys are not ids. So is a list
    of objects read that have a caption under one key each.
    """
    if isinstance(value, list):
        pairs = [pair for m in value if isinstance(m, dict) and len(m) == 1 for pair in m.items()]
        if len(pairs) < len(value) or any(is_common(k) or not isinstance(t, str) for k, t in pairs):
            return []
        notes.append(f"{path.name} as it was recognised: objects whose only key is image_id.")
        records = [{"image_id": key, "caption": text} for key, text in pairs]
        return [TableRow(f"[{n}]", record) for n, record in enumerate(records)]
    if not isinstance(value, dict) or not value or any(is_common(key) for key in value):
        return []
    listed = {key: m if isinstance(m, list) else [m] for key, m in value.items()}
    members = [(key, member) for key in listed for member in listed[key]]
    if any(isinstance(member, dict) for _, member in members):
        members = [(k, {"caption": m} if isinstance(m, str) else m) for k, m in members]
    several = any(isinstance(member, list) for member in value.values())
    if all(isinstance(member, dict) for _, member in members):
        named = any(common_columns("image_id", member, _ROW_IDS) for _, member in members)
        is_part = len(value) == 1 and not is_decimal(next(iter(value)))
        is_split = named or is_part or not _PARTS.isdisjoint(value)
        if several and (is_split or not all(listed.values())):  # its keys are not images
            return []
        records = [m if named else {"image_id": key, **m} for key, m in members]
    elif all(isinstance(member, str) for _, member in members):
        named, field = False, "captions" if several else "caption"
        members = list(value.items())
        records = [{"image_id": key, field: member} for key, member in members]
    else:
        return []
    keys = "records" if named else "image_id"
    notes.append(f"{path.name} as it was recognised: an object whose keys are {keys}.")
    places = (f"{key!r:.40}" for key, _ in members)
    return [TableRow(where, record) for where, record in zip(places, records, strict=True)]


def unfolded(table: Table, required: Sequence[str], given: Fields | None) -> Table:
    """A table whose records hold several pairs or captions each, with a record for each of them.

    They are objects in a list (`{"image": 7, "pairs": [{…}, {…}]}`), recognised by the columns
    that records lack, or, as in BRACE, columns that are a list of two captions, their two systems,
    and either votes (1 for the first, -1 for the second) or an object with other columns: there
    the caption by "human" is the true one. Other tables are as they were.
    """
    first = table.rows[0].fields
    missing = _without_column(required, given, first)
    lists = [c for c, value in first.items() if missing and _has_columns(value, missing, given)]
    pairs = [c for row in table.rows for c, value in row.fields.items() if _is_pair(value)]
    columns = lists[:1] or list(dict.fromkeys(pairs))
    if not missing or not columns:
        return table
    rows = []
    for where, record in table.rows:
        alone = {c: v for c, v in record.items() if c not in columns}
        for column in columns if lists else [c for c in columns if c in record]:
            value: Any = record.get(column)
            if not lists and _is_pair(value):
                value = _of_pair(column, value)
            if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
                problem = "is not a list of objects"
                if not lists:
                    problem = "is not a pair with its votes, or with one caption by 'human'"
                raise InputError(problem, file=table.path, record=where, field=column)
            rows += [TableRow(f"{where}, {column}", {**alone, **each}) for each in value]
    note = f"{table.path.name} as it was recognised: several records each in "
    note += f"{', '.join(map(repr, columns))}."
    log.warning("%s", note)
    return table._replace(rows=rows, notes=(*table.notes, note))


def _has_columns(value: Any, names: Sequence[str], given: Fields | None) -> bool:
    """Whether a value is a list of objects with columns for all of these fields."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and not _without_column(names, given, first)


def _without_column(
    names: Sequence[str], given: Fields | None, record: Mapping[str, Any]
) -> list[str]:
    """The fields that have no column in a record, as the user says or by a common name."""
    known = fields_in(given, record)
    return [name for name in names if name not in known and not common_columns(name, record)]


def _is_pair(value: Any) -> bool:
    """Whether a value is a pair of captions as in BRACE."""
    return (
        isinstance(value, list)
        and len(value) == 5
        and all(isinstance(text, str) for text in value[:4])
        and isinstance(value[4], list | dict)
    )


def _of_pair(column: str, value: list[Any]) -> list[dict[str, Any]] | None:
    """The records of a pair as in BRACE: one, or one a vote; `None` where none is the true one."""
    first, second, one, other, more = value
    kind_of_pair = re.sub(r"_[0-9]+$", "", column)
    if isinstance(more, dict):
        if (one == "human") == (other == "human"):
            return None
        true, false = (first, second) if one == "human" else (second, first)
        return [{"true": true, "false": false, "kind": kind_of_pair, **more}]
    systems = {} if one == other else {"first_system": one, "second_system": other}
    pair = {"first": first, "second": second, "category": kind_of_pair, **systems}
    votes = enumerate(more or [""], start=1)
    winners = ((k, _WINNERS.get(v, v) if type(v) is int else v) for k, v in votes)
    return [{**pair, "winner": winner, "rater": f"rater {k}"} for k, winner in winners]


def listed_records(value: Any, path: Path) -> Iterator[TableRow]:
    """The records of a list, or of the only list (or that of annotations) in an object."""
    key = ""
    if isinstance(value, dict):
        lists = [name for name, each in value.items() if isinstance(each, list)]
        key = "annotations" if "annotations" in lists else lists[0] if len(lists) == 1 else ""
        value = value.get(key, value)
    if not isinstance(value, list):
        raise InputError(f"holds {json_type(value)} where a list of records is expected", file=path)
    for number, record in enumerate(value):
        where = f"{key}[{number}]"
        if not isinstance(record, dict):
            raise InputError(f"is {json_type(record)}, not an object", file=path, record=where)
        yield TableRow(where, record)
