"""SHA-256 of texts, bytes and files: keys of the content store, and parts of signatures."""

from __future__ import annotations

import hashlib
from pathlib import Path

from metaeval.errors import InputError
from metaeval.readers.files import open_binary
from metaeval.runs.store import Store

_NAMESPACE = "sha256 of files by path, size and time of change"


def digest(content: bytes | str) -> bytes:
    """16 bytes of the SHA-256 of bytes or of a text in UTF-8: a key for the content store."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).digest()[:16]


def file_state(path: Path) -> bytes:
    """16 bytes that change when a file does: of its path, size and time of change.

    Raises OSError where the file does not exist.
    """
    stat = path.stat()
    return digest(f"{path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}")


def file_sha256(path: Path, store: Store | None = None) -> str:
    """The hexadecimal SHA-256 of a file.

    With a store, large files are read once for as long as they do not change. Raises InputError
    where the file cannot be read.
    """
    try:
        state = file_state(path)
        if store is not None and (known := store.get_many(_NAMESPACE, [state]).get(state)):
            return known.decode()
        with open_binary(path) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    if store is not None:
        store.put_many(_NAMESPACE, {state: sha256.encode()})
    return sha256
