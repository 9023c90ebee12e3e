"""Users' tables as records: CSV with a header, JSON Lines, JSON, Parquet.

A JSON file holds a list of records, or an object with such a list: under "annotations", as in
COCO's schema and FOIL, or under its only key with a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.data.dataset import ImageId
from metaeval.data.fields import check_id, kind
from metaeval.errors import InputError
from metaeval.readers.files import read_json, read_json_lines, read_text, user_path
from metaeval.readers.tables import read_csv, read_parquet
from metaeval.runs.files import file_sha256

FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")


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
    """All records of a file, and its SHA-256."""

    path: Path
    rows: list[TableRow]
    sha256: str


def read_table(path: Path) -> Table:
    """Read a table by its suffix. Raises InputError for another file and for an empty one."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"is none of {', '.join(FORMATS)}", file=path)
    if suffix == ".parquet":
        rows = [TableRow(where, record) for where, record in read_parquet(path)]
        sha256 = file_sha256(path)
    elif suffix == ".json":
        value, sha256 = read_json(path)
        rows = list(_listed(value, path))
    else:
        text = read_text(path)
        sha256 = text.sha256
        if suffix == ".jsonl":
            rows = [TableRow(where, record) for where, record in read_json_lines(text)]
        else:
            delimiter = "\t" if suffix == ".tsv" else ","
            rows = [TableRow(where, dict(r)) for where, r in read_csv(text, delimiter)]
    if not rows:
        raise InputError("holds no record", file=path)
    return Table(path, rows, sha256)


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
