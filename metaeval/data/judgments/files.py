"""Finding and reading the files of judged captions, with errors that name file and line."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metaeval.data.files import TextFile, data_folder
from metaeval.errors import InputError


def find_files(
    names: Sequence[str],
    *,
    folder: str,
    source: str,
    root: str | Path | None = None,
    data: str | Path | None = None,
) -> dict[str, Path]:
    """The files of those names in `root` or, where none is given, in `folder` of the data folder.

    `data` is the data folder (default: METAEVAL_DATA), `source` says where the files come from.
    Raises InputError, in one line, naming all that are not there.
    """
    if root is not None:
        bases = [Path(root).expanduser()]
    else:
        top = data_folder(data)
        bases = [top / folder, top] if top else []
    places = {name: [base / name for base in bases] for name in names}
    files = {
        name: path for name, paths in places.items() if (path := _first_file(paths)) is not None
    }
    if missing := [name for name in names if name not in files]:
        looked = ", ".join(map(str, bases)) or "METAEVAL_DATA (which is not set)"
        raise InputError(
            f"{', '.join(missing)}: not there; looked in {looked}. Get "
            f"{'it' if len(missing) == 1 else 'them'} from {source}, and give the folder as "
            "dataset.root"
        )
    return files


def _first_file(paths: Sequence[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


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
    """The records of a CSV file with a header: where, and column → cell (empty if it lacks it)."""
    csv.field_size_limit(1 << 24)
    reader = csv.DictReader(file.text.splitlines(keepends=True), delimiter=delimiter, restval="")
    if reader.fieldnames is None:
        raise InputError("is empty", file=file.path)
    for record in reader:
        yield f"line {reader.line_num:,}", {k: v for k, v in record.items() if k is not None}


def read_json_lines(file: TextFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a JSON Lines file: where, and the object."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number:,}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(f"invalid JSON ({error})", file=file.path, record=where) from None
        if not isinstance(record, dict):
            raise InputError("is not an object", file=file.path, record=where)
        yield where, record


def read_rating(value: Any, file: Path, where: str, field: str) -> float:
    """A rating as a finite number, or an InputError that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise InputError(f"{value!r} is not a number", file=file, record=where, field=field)
    return number
