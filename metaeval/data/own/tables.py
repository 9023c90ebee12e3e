"""Users' tables as records: CSV with a header, JSON Lines, JSON, Parquet, Excel workbooks.

A JSON file holds a list of records, or an object with such a list: under "annotations", as in
COCO's schema and FOIL, or under its only key with a list. It may also be an object from image ids
to a record, a caption or a list of either. Where a record holds several pairs or rated captions,
`unfolded` makes records of them.

The delimiter of a text is the one that splits its header and its first record alike; where it is
not that of the file's ending, this is noted. Columns of decimal commas are noted, too.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from metaeval.data.dataset import ImageId
from metaeval.data.fields import check_id, common_columns, is_common, kind
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import TextFile, read_json, read_json_lines, read_text, user_path
from metaeval.readers.tables import first_rows, read_csv, read_parquet, read_workbook
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
_WINNERS = {1: "first", 0: "tie", -1: "second"}  # BRACE's votes


class TableRow(NamedTuple):
    """One record of a table, and its place ("line 7")."""

    where: str
    fields: dict[str, object]

    def cell(self, name: str, path: Path) -> Any:
        """The record's value in a column; InputError if the column is missing."""
        if name not in self.fields:
            raise InputError("is missing", file=path, record=self.where, field=name)
        return self.fields[name]

    def image_id(self, path: Path, name: str = "image_id") -> ImageId:
        """The id in a column; InputError for an invalid one."""
        return check_id(self.cell(name, path), path, self.where, name)


class Table(NamedTuple):
    """All records of a file, and its SHA-256.

    `notes` says what was guessed. Where `untyped` is true, the file has ids only as texts.
    """

    path: Path
    rows: list[TableRow]
    sha256: str
    notes: tuple[str, ...] = ()
    untyped: bool = False


def read_table(path: Path, delimiter: str | None = None, option: str | None = None) -> Table:
    """Read a table by its suffix.

    `delimiter` is one of `DELIMITERS`, `None` to find it; `option` is the name of the option that
    sets it. What was guessed is logged. Raises InputError for another file, for an empty one, and
    for one that two delimiters split.
    """
    suffix, notes = path.suffix.lower(), list[str]()
    if suffix not in (*FORMATS, *TEXTS):
        raise InputError(f"is none of {', '.join((*FORMATS, '.txt'))}", file=path)
    if delimiter is not None and suffix not in TEXTS:
        raise ConfigError(f"{option}: {path.name} is not a text with a delimiter")
    untyped = suffix in TEXTS
    if suffix in (".parquet", ".xlsx"):
        read = read_parquet if suffix == ".parquet" else read_workbook
        rows = [TableRow(where, record) for where, record in read(path)]
        sha256 = file_sha256(path)
    elif suffix == ".json":
        value, sha256 = read_json(path)
        rows = list(_keyed(value, path, notes) or _listed(value, path))
        untyped = bool(notes)
    else:
        text = read_text(path)
        sha256 = text.sha256
        if suffix == ".jsonl":
            rows = [TableRow(where, record) for where, record in read_json_lines(text)]
        else:
            mark = DELIMITERS[delimiter] if delimiter else _delimiter(text, option)
            rows = list(_delimited(text, mark, mark if delimiter else TEXTS[suffix], notes))
    if not rows:
        raise InputError("holds no record", file=path)
    for note in notes:
        log.warning("%s", note)
    return Table(path, rows, sha256, tuple(notes), untyped)


def _delimiter(file: TextFile, option: str | None) -> str:
    """The delimiter that splits the header and the first record into as many cells.

    InputError where several do. Where none does it is the usual one, if it splits the header.
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
            remedy = "give it: " + " or ".join(f"{option}={name}" for name in names)
        problem = f"{' and '.join(names)} may both be its delimiter; {remedy}"
        raise InputError(problem, file=file.path, record="line 1")
    return DELIMITERS[names[0]] if names else usual or ","


def _delimited(file: TextFile, mark: str, expected: str, notes: list[str]) -> Iterator[TableRow]:
    """The records of a text with this delimiter, decimal commas as points."""
    header = file.text.partition("\n")[0].split(mark)
    name = next(name for name, each in DELIMITERS.items() if each == mark)
    blanks = len(header) > 1 and all(cell.startswith(" ") for cell in header[1:])
    rows = [(where, dict(record)) for where, record in read_csv(file, mark, trim=blanks)]
    columns = rows[0][1] if rows and mark != "," else ()
    decimal = [c for c in columns if _has_decimal_commas([record[c] for _, record in rows])]
    decimal = [c for c in decimal if c not in common_columns("image_id", decimal)]
    guesses = [f"the delimiter is {name}"] if mark != expected else []
    guesses += ["blanks around cells are left out"] if blanks else []
    guesses += [f"decimal commas in {', '.join(map(repr, decimal))}"] if decimal else []
    if guesses:
        notes.append(f"{file.path.name} as it was recognised: {'; '.join(guesses)}.")
    for where, record in rows:
        points = {column: record[column].replace(",", ".") for column in decimal}
        yield TableRow(where, {**record, **points})


def _has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether all cells of a column are numbers, and commas in them must be of decimals.

    >>> _has_decimal_commas(["3,5", "4", ""]), _has_decimal_commas(["1,234", "5"])
    (True, False)
    """
    if not all(_COMMA.fullmatch(cell.strip()) for cell in cells):
        return False
    return not all(_THOUSANDS.fullmatch(cell.strip()) for cell in cells if "," in cell)


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


def require_columns(table: Table, names: Sequence[str], option: str) -> None:
    """Raise InputError if one is missing in the first record, naming all that are."""
    first = table.rows[0]
    if lacking := [name for name in names if name not in first.fields]:
        raise InputError(
            f"has no column {', '.join(map(repr, lacking))}; it has "
            f"{', '.join(map(repr, first.fields))}; {option} maps names of columns",
            file=table.path,
            record=first.where,
        )


def _keyed(value: Any, path: Path, notes: list[str]) -> list[TableRow]:
    """The records of an object from image ids to a record, a caption, or a list of either.

    Empty for anything else. Where the records name their image, the keys are not ids.
    """
    if not isinstance(value, dict) or not value or any(is_common(key) for key in value):
        return []
    listed = {key: m if isinstance(m, list) else [m] for key, m in value.items()}
    members = [(key, member) for key in listed for member in listed[key]]
    several = any(isinstance(member, list) for member in value.values())
    if all(isinstance(member, dict) for _, member in members):
        named = any(common_columns("image_id", member) for _, member in members)
        is_split = named or len(value) == 1 or not _PARTS.isdisjoint(value)
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


def unfolded(
    table: Table, required: Sequence[str], given: Mapping[str, str | None] | None
) -> Table:
    """A table whose records hold several pairs or captions each, with a record for each of them.

    They are objects in a list (`{"image": 7, "pairs": [{…}, {…}]}`), recognised by the columns
    that records lack, or, as in BRACE, columns that are a list of two captions, their two systems,
    and either votes (1 for the first, -1 for the second) or an object with other columns: there
    the caption by "human" is the true one. Other tables are as they were.
    """
    first = table.rows[0].fields
    missing = [f for f in required if (given or {}).get(f) not in first]
    missing = [f for f in missing if not common_columns(f, first)]
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


def _has_columns(value: Any, names: Sequence[str], given: Mapping[str, str | None] | None) -> bool:
    """Whether a value is a list of objects with columns for all of these fields."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and all(
        (given or {}).get(name) in first or common_columns(name, first) for name in names
    )


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


def _listed(value: Any, path: Path) -> Iterator[TableRow]:
    key = ""
    if isinstance(value, dict):
        lists = [name for name, each in value.items() if isinstance(each, list)]
        key = "annotations" if "annotations" in lists else lists[0] if len(lists) == 1 else ""
        value = value.get(key, value)
    if not isinstance(value, list):
        raise InputError(f"holds {kind(value)} where a list of records is expected", file=path)
    for number, record in enumerate(value):
        where = f"{key}[{number}]"
        if not isinstance(record, dict):
            raise InputError(f"is {kind(record)}, not an object", file=path, record=where)
        yield TableRow(where, record)
