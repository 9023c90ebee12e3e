"""The content store: what goes in comes out, whole or not at all, with several processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metaeval.errors import InputError
from metaeval.runs.store import MemoryStore, SqliteStore, Store, item_key


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


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"not a database, but long enough to be taken for a damaged one" * 100)
    with pytest.raises(InputError, match=r"c\.sqlite: the score cache is damaged .*delete"):
        SqliteStore(path)


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
    # four each write the same items, as runs of one experiment do
    writers = [_writer(path, f"n{i % 2}", 20) for i in range(8)]
    assert [writer.wait(300) for writer in writers] == [0] * 8
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
