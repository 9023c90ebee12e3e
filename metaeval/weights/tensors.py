"""Which weights these are: the SHA-256 of a file, computed once per state of the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from metaeval.errors import InputError
from metaeval.runs.store import Store

_NAMESPACE = "sha256 of files by path, size and time of change"


def sha256(path: Path, store: Store | None = None) -> str:
    """The hexadecimal SHA-256 of a file; large files are read once as long as they do not change.

    Raises InputError where the file cannot be read.
    """
    try:
        stat = path.stat()
        state = f"{path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()
        key = hashlib.sha256(state).digest()[:16]
        if store is not None and (known := store.get_many(_NAMESPACE, [key]).get(key)):
            return known.decode()
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    if store is not None:
        store.put_many(_NAMESPACE, {key: found.encode()})
    return found
