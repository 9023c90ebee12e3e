"""Harmed files, in children with a limit of memory and of time: refused, or read right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metaeval.errors import InputError
from tests.fuzz.base import Loader, one_file
from tests.fuzz.loaders import LOADERS
from tests.fuzz.run import (
    ACCEPTED,
    DIED,
    HANG,
    MEMORY_OVER,
    REFUSED,
    SILENT,
    TRACEBACK,
    UNNAMED,
    one_case,
)

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


def numbers(value_of: Callable[[str], float]) -> Loader:
    """A loader of a column of numbers, whose strict reading has the same fault."""

    def read(path: Path) -> Any:
        try:
            return [value_of(line) for line in path.read_text().split("\n")]
        except ValueError as error:
            raise InputError(str(error), file=path) from None

    return one_file("numbers", "n.csv", lambda path: path.write_text("0.5\n0.25\n7"), read, read)


def first_bad(loader: Loader, folder: Path, cases: int) -> str:
    """The reason of the first of the cases that goes wrong; empty where none does."""
    (folder / "made").mkdir()
    loader.make(folder / "made")
    shutil.copytree(folder / "made", folder / "whole", symlinks=True)
    whole = loader.read(folder / "whole")
    for case in range(cases):
        shutil.copytree(folder / "made", folder / f"{case}", symlinks=True)
        outcome = one_case(loader, case, folder / f"{case}", whole)
        if outcome["what"] not in (REFUSED, ACCEPTED):
            return str(outcome["why"])
    return ""


def test_a_number_that_is_not_known_and_read_as_0_is_seen(tmp_path: Path) -> None:
    def counted_as_0(cell: str) -> float:
        return 0.0 if cell.strip() in ("", "null", "None", "NA", "-", "?") else float(cell)

    def unknown(cell: str) -> float:
        return counted_as_0(cell) or (0.0 if "0" in cell else float("nan"))

    (tmp_path / "good").mkdir()
    assert "is read as 0" in first_bad(numbers(counted_as_0), tmp_path, 100)
    assert not first_bad(numbers(unknown), tmp_path / "good", 100)


def test_a_file_that_no_run_wrote_and_that_is_removed_is_seen(tmp_path: Path) -> None:
    loader = next(loader for loader in LOADERS if loader.name == "folder of a run")

    def by_name(folder: Path) -> Any:
        left = loader.read(folder)
        return {name: of for name, of in left.items() if not name.startswith("run/tables/")}

    (tmp_path / "good").mkdir()
    assert " instead of " in first_bad(replace(loader, read=by_name), tmp_path, 100)
    assert not first_bad(loader, tmp_path / "good", 100)


def test_a_file_of_scores_by_ids_of_the_engine_is_seen(tmp_path: Path) -> None:
    loader = next(loader for loader in LOADERS if loader.name == "scores, joined")

    def derived(folder: Path) -> Any:
        seen, scores = loader.read(folder)
        return [[(f"{image}\t2", text) for image, text in seen], scores]

    assert "\\t2" in first_bad(replace(loader, read=derived), tmp_path, 20)
