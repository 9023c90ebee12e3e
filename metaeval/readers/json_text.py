"""JSON and JSON Lines, strictly: no key twice in an object, nothing too deep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metaeval.errors import InputError
from metaeval.readers.files import MOST_TEXT, TextFile, one_line, read_text


def read_json(path: Path, most: int = MOST_TEXT) -> tuple[Any, str]:
    """The value in a UTF-8 JSON file (a byte-order mark is allowed) and the file's SHA-256."""
    file = read_text(path, most)
    return parse_json(file.text, path), file.sha256


def read_json_lines(file: TextFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a JSON Lines file: where, and the object. Lines end with a line feed alone."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number:,}"
        record = parse_json(line, file.path, where)
        if not isinstance(record, dict):
            raise InputError("is not an object", file=file.path, record=where)
        yield where, record


def parse_json(text: str, file: Path | str | None, record: str | None = None) -> Any:
    """The value of a JSON text; InputError, naming file and record, for invalid JSON.

    An object that has a key twice is refused: it is unknown which of the two values is meant.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise InputError("invalid JSON (nested too deep)", file=file, record=record) from None
    except ValueError as error:  # JSONDecodeError, a key twice, numbers of thousands of digits
        raise InputError(f"invalid JSON ({one_line(error)})", file=file, record=record) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r:.40} occurs twice in one object")
    return value
