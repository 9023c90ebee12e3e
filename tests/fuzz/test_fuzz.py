"""Harmed files, in children with a limit of memory and of time: refused, or read right."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from metaeval.errors import InputError
from tests.fuzz.base import Loader
from tests.fuzz.loaders import LOADERS
from tests.fuzz.run import DIED, HANG, MEMORY_OVER, SILENT, TRACEBACK, UNNAMED

ROOT = Path(__file__).parents[2]
N, MANY = 300, 5_000


def check(first: int, n: int) -> None:
    """The command, in a process of its own: a fork of one with other tests' threads may hang."""
    command = [sys.executable, "-m", "tests.fuzz", str(n), "--first", str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{n:,} cases, 0 went wrong" in done.stdout
    assert all(loader.name in done.stdout for loader in LOADERS)


def test_three_hundred_damaged_files() -> None:
    check(0, N)


@pytest.mark.slow
def test_five_thousand_damaged_files() -> None:
    check(N, MANY)


def broken(read: Any) -> Loader:
    def make(folder: Path) -> None:
        (folder / "broken.dat").write_bytes(b"right")

    def reading(folder: Path) -> Any:
        raw = (folder / "broken.dat").read_bytes()
        return raw if raw == b"right" else read(folder)

    return Loader("broken", make, reading, None)


def silent(folder: Path) -> Any:
    return "something else"


def unnamed(folder: Path) -> Any:
    raise InputError("no file is named here")


def crash(folder: Path) -> Any:
    os.abort()


def memory(folder: Path) -> Any:
    return len(bytes(1 << 31))


def bug(folder: Path) -> Any:
    return {}["key"]


def hang(folder: Path) -> Any:
    time.sleep(60)


FAULTS = {
    silent: SILENT, unnamed: UNNAMED, crash: DIED, memory: MEMORY_OVER, bug: TRACEBACK, hang: HANG
}  # fmt: skip
SEEN = """
from tests.fuzz import run, test_fuzz
run.SECONDS = 2.0
for fault, what in test_fuzz.FAULTS.items():
    seen = {outcome["what"] for outcome in run.run([test_fuzz.broken(fault)], range(3))}
    assert seen == {what}, (fault, seen)
print("seen")
"""


def test_what_goes_wrong_is_seen() -> None:
    """A loader with each of the faults: the runner must name them all. In a process of its own, as
    the limit of memory is."""
    done = subprocess.run(
        [sys.executable, "-c", SEEN], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "seen\n", done.stderr
