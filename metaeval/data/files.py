"""The data folder, and text files that are read whole, with their checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from metaeval.errors import InputError


class TextFile(NamedTuple):
    """The text of a file and its SHA-256."""

    path: Path
    text: str
    sha256: str


def data_folder(data: str | Path | None = None) -> Path | None:
    """The folder of data sets: `data` or, where none is given, METAEVAL_DATA; `None` without."""
    folder = data if data is not None else os.environ.get("METAEVAL_DATA")
    return Path(folder).expanduser() if folder else None


def read_text(path: Path) -> TextFile:
    """A UTF-8 text file (a byte-order mark is allowed). Raises InputError where it is none."""
    try:
        raw = path.read_bytes()
        return TextFile(path, raw.decode("utf-8-sig"), hashlib.sha256(raw).hexdigest())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    except UnicodeDecodeError as error:
        utf16 = ", it looks like UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise InputError(
            f"not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start:,}{utf16}", file=path
        ) from None
