"""The only module that opens input files: regular files of a limited size.

All files that the project did not write in the same run are read through this package, which gives
checked values or one `InputError` that names the file. `tests/fuzz` checks both: that
no other module opens files, and that every reader reads its input correctly or refuses it.
"""

import codecs
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.errors import ConfigError, InputError, MetaevalError

MOST_TEXT = 1 << 30  # bytes of a table or of JSON: COCO's largest file has 470 million


class TextFile(NamedTuple):
    """The text of a file and its SHA-256."""

    path: Path
    text: str
    sha256: str


def user_path(path: str | Path) -> Path:
    """A path, with the user's home folder in the place of `~`; InputError where that is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        remedy = "write the path without ~; of the cache: METAEVAL_CACHE=FOLDER"
        raise InputError(f"the home folder is not known; {remedy}", file=path) from None


def open_binary(path: Path, most: int | None = None) -> BufferedReader:
    """A regular file, opened for reading.

    Raises InputError for a file that does not exist or cannot be read, that is not a regular file
    (a pipe would wait for ever, a device has no end), or that has more than `most` bytes.
    """
    if os.path.isdir(path):
        raise InputError("is a folder, not a file", file=path)
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        problem = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read ({problem})", file=path) from None
    state = os.fstat(file.fileno())
    too_large = most is not None and state.st_size > most
    if too_large or not stat.S_ISREG(state.st_mode):
        file.close()
        size = f"has {state.st_size:,} bytes, and at most {most:,} are read"
        raise InputError(size if too_large else "is not a regular file", file=path)
    return file


def read_bytes(path: Path, most: int = MOST_TEXT) -> bytes:
    """All bytes of a regular file of at most `most`; InputError for other files."""
    try:
        with open_binary(path, most) as file:
            size = os.fstat(file.fileno()).st_size
            raw = file.read(min(size, most) + 1)  # one more, to see that it has not grown
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    if len(raw) > size:
        raise InputError("has grown while it was read", file=path)
    return raw


def read_text(
    path: Path,
    most: int = MOST_TEXT,
    encoding: str | None = None,
    remedy: str = "save it as UTF-8",
) -> TextFile:
    """A text file in UTF-8, in UTF-16 with a byte-order mark, or in a given encoding.

    Raises InputError for other files, with the remedy; ConfigError for an unknown encoding.
    """
    raw = read_bytes(path, most)
    utf16 = raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    called = encoding or ("utf-16" if utf16 else "utf-8-sig")
    try:
        return TextFile(path, raw.decode(called), hashlib.sha256(raw).hexdigest())
    except UnicodeDecodeError as error:
        # the offset is that within the file, which a byte-order mark moves
        start = error.start + 3 * (called == "utf-8-sig" and raw.startswith(codecs.BOM_UTF8))
        name = "UTF-8" if called == "utf-8-sig" else called.upper()
        problem = f"not {name}: byte 0x{raw[start]:02x} at offset {start:,}; {remedy}"
        raise InputError(problem, file=path) from None
    except (LookupError, ValueError):
        raise ConfigError(f"'{encoding}' is not an encoding of texts; e.g. cp1252") from None


def one_line(error: object, most: int = 160) -> str:
    """Words from elsewhere (another library's error, a file) in one line of at most `most`
    characters; characters that cannot be printed are escaped."""
    joined = " ".join(str(error).split())
    words = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
    return words if len(words) <= most else f"{words[: most - 1]}…"


def read_json(path: Path, most: int = MOST_TEXT) -> tuple[Any, str]:
    """The value in a JSON file, whose text `read_text` reads, and the file's SHA-256."""
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


@contextmanager
def native_errors(
    path: Path, what: str, problem: str = "is not a readable {}", field: str | None = None
) -> Iterator[None]:
    """Turn whatever a library raises while it reads `path` into an InputError that names it.

    `problem` is the beginning of the message, with `what` in it.
    Libraries in Rust raise `PanicException`, which is not an `Exception`, for malformed files: it
    would end the whole run. Interrupts and exits pass through.
    """
    try:
        yield
    except (MetaevalError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        words = one_line(error) or type(error).__name__
        raise InputError(f"{problem.format(what)} ({words})", file=path, field=field) from None
