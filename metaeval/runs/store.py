"""The content store: what was computed once, kept under a key that says exactly what it was.

One SQLite file in the cache folder holds scores and parsed sentences of all runs. A value is found
under a *namespace* (who computed it: a metric's signatures, a parser's identity) and a *key* (a
digest of what it was computed from). Same namespace, same key: same value, for ever; so nothing
is ever updated, and several processes can share the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from metaeval.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespace (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS content (
  namespace INTEGER NOT NULL REFERENCES namespace (id),
  key BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
"""
_CHUNK = 900  # SQLite's oldest limit on variables in a statement is 999


class Store(Protocol):
    """What metrics may keep things in."""

    def get_many(self, namespace: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known; the others are left out."""
        ...

    def put_many(self, namespace: str, items: Mapping[bytes, bytes]) -> None:
        """Keep all the items or, if the process dies, none of them. Known keys stay as they are."""
        ...


class MemoryStore:
    """A store that lasts as long as the process, for runs with `cache.enabled=false`."""

    def __init__(self) -> None:
        self._content: dict[tuple[str, bytes], bytes] = {}

    def get_many(self, namespace: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        values = ((key, self._content.get((namespace, key))) for key in keys)
        return {key: value for key, value in values if value is not None}

    def put_many(self, namespace: str, items: Mapping[bytes, bytes]) -> None:
        for key, value in items.items():
            self._content.setdefault((namespace, key), value)

    def close(self) -> None:
        self._content.clear()


class SqliteStore:
    """The store of the cache folder, safe with several threads and processes.

    Write-ahead logging lets readers go on while one process writes; each `put_many` is one
    transaction, so a process that is killed loses at most the batch under way. Where the file
    system cannot do write-ahead logging (some network mounts) SQLite's rollback journal serves.
    """

    def __init__(self, path: Path, *, timeout: float = 120.0) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = threading.Lock()
        self._namespaces: dict[str, int] = {}
        try:
            self._db = sqlite3.connect(path, timeout=timeout, check_same_thread=False)
            with contextlib.suppress(sqlite3.OperationalError):
                self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            with self._db:
                self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from None

    def _broken(self, error: sqlite3.Error) -> InputError:
        return InputError(
            f"the score cache cannot be used ({error}); delete the file, or run with "
            "cache.enabled=false",
            file=self._path,
        )

    def get_many(self, namespace: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        values: dict[bytes, bytes] = {}
        try:
            with self._lock:
                number = self._namespace(namespace)
                for chunk in _chunks(keys):
                    marks = ",".join("?" * len(chunk))
                    values.update(
                        self._db.execute(
                            "SELECT key, value FROM content "
                            f"WHERE namespace = ? AND key IN ({marks})",
                            (number, *chunk),
                        )
                    )
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from None
        return values

    def put_many(self, namespace: str, items: Mapping[bytes, bytes]) -> None:
        try:
            with self._lock:
                number = self._namespace(namespace)
                with self._db:  # one transaction
                    self._db.executemany(
                        "INSERT OR IGNORE INTO content VALUES (?, ?, ?)",
                        ((number, key, value) for key, value in items.items()),
                    )
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from None

    def _namespace(self, name: str) -> int:
        if name not in self._namespaces:
            with self._db:
                self._db.execute("INSERT OR IGNORE INTO namespace (name) VALUES (?)", (name,))
            row = self._db.execute("SELECT id FROM namespace WHERE name = ?", (name,)).fetchone()
            self._namespaces[name] = int(row[0])
        return self._namespaces[name]

    def close(self) -> None:
        self._db.close()


def item_key(context: bytes, caption: str) -> bytes:
    """The key of one scored item: what the score depends on, and the caption itself."""
    return hashlib.sha256(context + caption.encode()).digest()[:16]


def content_digest(texts: Sequence[str]) -> bytes:
    """16 bytes that identify a sequence of strings (lengths included, so no two ever collide)."""
    h = hashlib.sha256()
    for text in texts:
        raw = text.encode()
        h.update(len(raw).to_bytes(8, "big") + raw)
    return h.digest()[:16]


def _chunks(keys: Sequence[bytes]) -> Iterable[Sequence[bytes]]:
    return (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))
