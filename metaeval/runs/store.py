"""The content store: computed values under a key that identifies them exactly.

One SQLite file in the cache folder holds scores and parsed sentences of all runs. A value is found
under a *namespace* (who computed it: a metric's signatures, a parser's identity) and a *key* (a
digest of what it was computed from). Same namespace, same key: same value, for ever; so nothing
is ever updated, and several processes can share the file. `get_many` leaves out the keys that are
not known; of the items of `put_many` all are kept or, if the process dies, none.

Every value has a checksum. One that is damaged is as good as unknown: it is counted, computed again
and replaced; a store's `damaged` is how many there were.
"""

import contextlib
import hashlib
import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

from metaeval.errors import InputError

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespace (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS checked (
  namespace INTEGER NOT NULL REFERENCES namespace (id),
  key BLOB NOT NULL,
  value BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
"""
_CHUNK = 900  # SQLite's oldest limit on variables in a statement is 999
_TOLD: set[Path] = set()  # files of which this process has said that they cannot be written
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")  # errors of a file that is none


class CacheError(InputError):
    """The cache's file is damaged, or is not a cache."""


class MemoryStore:
    """A store that lasts as long as the process, for runs with `cache.enabled=false`."""

    def __init__(self) -> None:
        self.damaged = 0
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

    Where nothing can be written (a full disk, a read-only folder, one that cannot be made) what is
    there is read, if it can be, and what is new is kept in memory until the store is closed; a
    warning says so, once a process. Raises CacheError for a file that is damaged as a whole.
    """

    def __init__(self, path: Path, *, timeout: float = 120.0) -> None:
        self.damaged = 0
        self._path = path
        self._lock = threading.Lock()
        self._namespaces: dict[str, int] = {}
        self._unsound: set[tuple[int, bytes]] = set()
        self._memory: MemoryStore | None = None  # what takes new values where the file cannot
        self._db: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=timeout, check_same_thread=False)
            with contextlib.suppress(sqlite3.OperationalError):
                self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            with self._db:
                self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.DatabaseError) as error:
            self._give_up_writing(error)
            self._db = self._read_only()

    def get_many(self, namespace: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        values: dict[bytes, bytes] = {}
        with self._lock:
            try:
                if self._db is not None and (number := self._number(self._db, namespace)):
                    for start in range(0, len(keys), _CHUNK):
                        chunk = keys[start : start + _CHUNK]
                        values.update(self._checked(self._db, number, chunk))
            except sqlite3.DatabaseError as error:
                self._give_up_writing(error)
            if self._memory is not None:
                values |= self._memory.get_many(namespace, keys)
        return values

    def _checked(
        self, db: sqlite3.Connection, number: int, keys: Sequence[bytes]
    ) -> dict[bytes, bytes]:
        """The sound values of some keys; the damaged ones are noted."""
        values = {}
        marks = ",".join("?" * len(keys))
        question = (
            f"SELECT key, value, checksum FROM checked WHERE namespace = ? AND key IN ({marks})"
        )
        for key, value, checksum in db.execute(question, (number, *keys)):
            if isinstance(value, bytes) and checksum == _checksum(key, value):
                values[key] = value
            else:
                self._unsound.add((number, key))
                self.damaged += 1
        return values

    def put_many(self, namespace: str, items: Mapping[bytes, bytes]) -> None:
        with self._lock:
            if self._memory is None and self._db is not None:
                try:
                    self._write(self._db, namespace, items)
                    return
                except sqlite3.DatabaseError as error:
                    self._give_up_writing(error)
            if self._memory is not None:
                self._memory.put_many(namespace, items)

    def _write(self, db: sqlite3.Connection, namespace: str, items: Mapping[bytes, bytes]) -> None:
        number = self._number(db, namespace)
        with db:  # one transaction
            if not number:
                db.execute("INSERT OR IGNORE INTO namespace (name) VALUES (?)", (namespace,))
                number = self._number(db, namespace, keep=False)
            unsound = self._unsound.intersection((number, key) for key in items)
            db.executemany("DELETE FROM checked WHERE namespace = ? AND key = ?", unsound)
            db.executemany(
                "INSERT OR IGNORE INTO checked VALUES (?, ?, ?, ?)",
                ((number, key, value, _checksum(key, value)) for key, value in items.items()),
            )
        self._namespaces[namespace] = number
        self._unsound -= unsound

    def _number(self, db: sqlite3.Connection, name: str, keep: bool = True) -> int:
        """The number of a namespace, 0 where there is none. One under way may be rolled back."""
        if name in self._namespaces:
            return self._namespaces[name]
        row = db.execute("SELECT id FROM namespace WHERE name = ?", (name,)).fetchone()
        if row is None:
            return 0
        if keep:
            self._namespaces[name] = int(row[0])
        return int(row[0])

    def _give_up_writing(self, error: Exception) -> None:
        """Go on in memory; CacheError where the file itself is the trouble."""
        if getattr(error, "sqlite_errorname", "").startswith(_DAMAGED):
            raise CacheError(
                f"the score cache is damaged ({error}); delete the file, or run with "
                "cache.enabled=false",
                file=self._path,
            ) from None
        if self._memory is None:
            self._memory = MemoryStore()
            if self._path in _TOLD:
                return
            _TOLD.add(self._path)
            log.warning(
                "%s: the score cache cannot be written (%s); new values are kept in "
                "memory for this run only",
                self._path,
                getattr(error, "strerror", None) or error,
            )

    def _read_only(self) -> sqlite3.Connection | None:
        """The file as it is, to be read, if it can be."""
        if self._db is not None:
            self._db.close()
        if not self._path.is_file():
            return None
        # "immutable": write-ahead logging needs files next to this one, even for reading
        for how in ("mode=ro", "immutable=1"):
            try:
                db = sqlite3.connect(
                    f"{self._path.resolve().as_uri()}?{how}", uri=True, check_same_thread=False
                )
                question = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'checked'"
                if db.execute(question).fetchone() is not None:
                    return db
            except sqlite3.DatabaseError:
                continue
        return None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


Store = MemoryStore | SqliteStore  # what metrics may keep things in


def _checksum(key: bytes, value: bytes) -> int:
    """CRC-32 of both: it finds every damage of up to 32 bits in a row, and one in 4 billion others
    escapes it."""
    return zlib.crc32(value, zlib.crc32(key))


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


_STORE: ContextVar[Store | None] = ContextVar("store", default=None)


@contextlib.contextmanager
def remembering(store: Store) -> Iterator[None]:
    """Within the block, `remember` looks into this store."""
    token = _STORE.set(store)
    try:
        yield
    finally:
        _STORE.reset(token)


def remember(code: str, content: str, compute: Callable[[], bytes]) -> bytes:
    """What `compute` returns, from the store where it was computed before; computed anew outside of
    a block `remembering`.

    `code` names what computes, with its `digest_of_code`; `content` is all else that it depends on.
    Empty bytes are not kept.
    """
    store = _STORE.get()
    if store is None:
        return compute()
    key = content_digest([content])
    known = store.get_many(code, [key]).get(key)
    if known is None:
        known = compute()
        if known:
            store.put_many(code, {key: known})
    return known
