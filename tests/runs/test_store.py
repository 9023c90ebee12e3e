"""The content store: what goes in comes out, whole or not at all, with several processes, after
damage, and on disks that cannot be written."""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.runs.store import CacheError, MemoryStore, SqliteStore, Store, item_key
from metaeval.scoring import score_captions


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "c.sqlite")


def test_known_keys_come_back_unchanged_and_unknown_ones_are_left_out(store: Store) -> None:
    store.put_many("a", {b"1": b"one"})
    store.put_many("a", {b"1": b"other", b"2": b"two"})
    assert store.get_many("a", [b"2", b"3", b"1"]) == {b"1": b"one", b"2": b"two"}
    assert store.get_many("b", [b"1"]) == {}


def test_more_keys_than_one_statement_takes(store: Store) -> None:
    items = {str(i).encode(): bytes([i % 256]) for i in range(5000)}
    store.put_many("a", items)
    assert store.get_many("a", list(items)) == items


_WRITER = """
import sys
from pathlib import Path
from metaeval.runs.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
print("ready", flush=True)
for batch in range(int(sys.argv[3])):
    store.put_many(sys.argv[2], {f"{batch}/{i}".encode(): b"x" * 64 for i in range(500)})
"""


def _writer(path: Path, namespace: str, batches: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(path), namespace, str(batches)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    # two each write the same items, as runs of one experiment do
    writers = [_writer(path, f"n{i % 2}", 20) for i in range(4)]
    assert [writer.wait(300) for writer in writers] == [0] * 4
    keys = [f"{batch}/{i}".encode() for batch in range(20) for i in range(500)]
    store = SqliteStore(path)
    assert all(len(store.get_many(f"n{i}", keys)) == len(keys) for i in range(2))


def test_a_killed_writer_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    writer = _writer(path, "n", 100_000)
    writer.stdout.readline()
    time.sleep(0.5)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    store, batch = SqliteStore(path), 0
    while True:
        found = len(store.get_many("n", [f"{batch}/{i}".encode() for i in range(500)]))
        assert found in (0, 500)
        if not found:
            break
        batch += 1
    assert batch > 0


def test_the_key_separates_context_and_caption() -> None:
    context = bytes(16)
    keys = {item_key(context, "a"), item_key(context, "b"), item_key(b"\1" + bytes(15), "a")}
    assert [len(key) for key in keys] == [16] * 3


ITEMS = {b"1": b"one", b"2": b"two"}


def filled(path: Path) -> Path:
    with closing(SqliteStore(path)) as store:
        store.put_many("a", ITEMS)
    return path


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE checked SET value = x'6f6e66' WHERE key = x'31'",  # one bit: "onf"
        "UPDATE checked SET value = x'' WHERE key = x'31'",
        "UPDATE checked SET value = 'one' WHERE key = x'31'",  # text, not bytes
        "UPDATE checked SET checksum = checksum + 1 WHERE key = x'31'",
    ],
)
def test_a_damaged_value_is_counted_and_replaced(tmp_path: Path, damage: str) -> None:
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(damage)
    with closing(SqliteStore(path)) as store:
        assert store.get_many("a", [b"1", b"2"]) == {b"2": b"two"}
        assert store.damaged == 1
        store.put_many("a", {b"1": b"one", b"2": b"other"})
    with closing(SqliteStore(path)) as store:  # what was sound stays as it was
        assert store.get_many("a", [b"1", b"2"]) == ITEMS
        assert store.damaged == 0


@pytest.mark.parametrize(
    ("damaged", "n_damaged"),
    [("a row", 0), ("the whole", 0), ("a row and the whole", 1)],
)
def test_damaged_scores_are_never_taken(tmp_path: Path, damaged: str, n_damaged: int) -> None:
    """A request is kept as a whole and by rows: what is sound of the two serves, else it is
    computed again."""
    captions = ["a cat on a mat", "two dogs run", "a red bus"]
    ids = (1, 2, 3)
    dataset = CaptionDataset("three", ids, tuple(captions), (("a cat",),) * 3, ids, tuple(captions))
    metric, index, path = Bleu(tokenizer="whitespace"), np.arange(3), tmp_path / "c.sqlite"
    with closing(SqliteStore(path)) as store:
        first = score_captions(metric, dataset, captions, index, store)
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT key, value FROM checked ORDER BY length(value)").fetchall()
        assert [len(value) for _, value in rows] == [32, 32, 32, 96]
        for key, value in rows[0:1] * ("row" in damaged) + rows[-1:] * ("whole" in damaged):
            scores = np.frombuffer(value) + 0.5  # plausible numbers, and wrong ones
            db.execute("UPDATE checked SET value = ? WHERE key = ?", (scores.tobytes(), key))
    for expected in (
        (n_damaged, 3 - n_damaged, n_damaged),
        (0, 3, 0),
    ):  # and what is repaired stays
        with closing(SqliteStore(path)) as store:
            again = score_captions(metric, dataset, captions, index, store)
        assert (again.n_scored, again.n_cached, again.n_damaged) == expected
        assert again.scores.tobytes() == first.scores.tobytes()


def test_a_page_of_garbage_is_named(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.sqlite"
    foreign.write_bytes(b"not a database, but long enough to be taken for a damaged one" * 100)
    with pytest.raises(InputError, match=r"foreign\.sqlite: the score cache is damaged .*delete"):
        SqliteStore(foreign)
    path = tmp_path / "c.sqlite"
    with closing(SqliteStore(path)) as store:
        store.put_many("a", {i.to_bytes(4, "big"): bytes(500) for i in range(2000)})
    with path.open("r+b") as file:  # behind the first pages, which hold the schema
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 50)
    keys = [i.to_bytes(4, "big") for i in range(2000)]
    with (
        pytest.raises(CacheError, match=r"c\.sqlite: the score cache is damaged .*delete the file"),
        closing(SqliteStore(path)) as store,
    ):
        store.get_many("a", keys)


def full(monkeypatch: pytest.MonkeyPatch, path: Path) -> SqliteStore:
    """SQLite's own limit on the pages of a file: what it says is what a full disk makes it say."""
    store = SqliteStore(path)
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    return store


def in_the_way(monkeypatch: pytest.MonkeyPatch, path: Path) -> SqliteStore:
    """A file where the folder should be."""
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("a file")
    return SqliteStore(path)


def missing(monkeypatch: pytest.MonkeyPatch, path: Path) -> SqliteStore:
    """A folder below one that does not exist and cannot be made."""
    return SqliteStore(Path("/proc/no/such/folder/c.sqlite"))


def read_only(monkeypatch: pytest.MonkeyPatch, path: Path) -> SqliteStore:
    """A file and a folder that may be read alone."""
    path.chmod(0o444)
    path.parent.chmod(0o555)
    return SqliteStore(path)


ROOT_WRITES = pytest.mark.skipif(os.geteuid() == 0, reason="root may write what is read-only")


@pytest.mark.parametrize(
    ("make", "known"),
    [
        (full, ITEMS),
        (in_the_way, {}),
        (missing, {}),
        pytest.param(read_only, ITEMS, marks=ROOT_WRITES),
    ],
)
def test_where_nothing_can_be_written_memory_serves(
    make: Callable[[pytest.MonkeyPatch, Path], SqliteStore],
    known: dict[bytes, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = filled(tmp_path / "cache" / "c.sqlite")
    caplog.set_level(logging.WARNING)
    new = {f"{k}".encode(): bytes(9000) for k in range(100, 120)}
    with closing(make(monkeypatch, path)) as store:
        assert store.get_many("a", list(ITEMS)) == known
        store.put_many("a", new)
        store.put_many("b", new)
        assert store.get_many("a", [*ITEMS, *new]) == {**known, **new}
        assert store.get_many("b", list(new)) == new
    assert caplog.text.count("the score cache cannot be written") == 1  # once, not at each batch
