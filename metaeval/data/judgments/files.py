"""Finding and reading the files of judged captions, with errors that name file and line."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from metaeval.data.tidy import Tidy
from metaeval.errors import InputError


class Text(NamedTuple):
    """The text of a file and its SHA-256."""

    path: Path
    text: str
    sha256: str


def find(
    names: Sequence[str],
    *,
    folder: str,
    source: str,
    root: str | Path | None = None,
    data: str | Path | None = None,
) -> dict[str, Path]:
    """The files of those names in `root` or, where none is given, in `folder` of the data folder.

    `data` is the data folder (default: METAEVAL_DATA), `source` says where the files come from.
    Raises InputError, in one line, for the first that is not there.
    """
    if root is not None:
        bases = [Path(root).expanduser()]
    else:
        top = data if data is not None else os.environ.get("METAEVAL_DATA")
        bases = [Path(top).expanduser() / folder, Path(top).expanduser()] if top else []
    found = {}
    for name in names:
        at = next((base / name for base in bases if (base / name).is_file()), None)
        if at is None:
            looked = ", ".join(str(base / name) for base in bases)
            where = looked or "METAEVAL_DATA (which is not set)"
            raise InputError(
                f"{name} was not found; looked at {where}. Get it from {source}, and give its "
                "folder as dataset.root"
            )
        found[name] = at
    return found


def read(path: Path) -> Text:
    """A UTF-8 text file (a byte-order mark is allowed)."""
    try:
        raw = path.read_bytes()
        return Text(path, raw.decode("utf-8-sig"), hashlib.sha256(raw).hexdigest())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start:,}", file=path
        ) from None


def fields(file: Text, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
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


def table(file: Text, delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """The records of a CSV file with a header: where, and column → cell (empty if it lacks it)."""
    csv.field_size_limit(1 << 24)
    reader = csv.DictReader(file.text.splitlines(keepends=True), delimiter=delimiter, restval="")
    if reader.fieldnames is None:
        raise InputError("is empty", file=file.path)
    for record in reader:
        yield f"line {reader.line_num:,}", {k: v for k, v in record.items() if k is not None}


def rating(text: object, file: Path, where: str, name: str) -> float:
    """A rating as a finite number, or an InputError that names it."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = float("nan")
    if isinstance(text, bool) or value != value or value in (float("inf"), float("-inf")):
        raise InputError(f"{text!r} is not a number", file=file, record=where, field=name)
    return value


def tidied(text: str, tidy: Tidy, file: Path, where: str, name: str) -> str:
    """A caption in one line, or an InputError that names it."""
    try:
        return tidy(text)
    except ValueError as error:
        raise InputError(str(error), file=file, record=where, field=name) from None
