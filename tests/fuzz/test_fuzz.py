"""Harmed files, in children with a limit of memory and of time: refused, or read right."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metaeval.data.judgments.table import load_table
from metaeval.errors import InputError
from tests.fuzz import mutations
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
N, MANY = 100, 2_000


def check(first: int, n: int) -> None:
    """The command, in a process of its own: a fork of one with other tests' threads may hang."""
    command = [sys.executable, "-m", "tests.fuzz", str(n), "--first", str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{n:,} cases, 0 went wrong" in done.stdout
    assert all(loader.name in done.stdout for loader in LOADERS)


def test_a_hundred_damaged_files() -> None:
    check(0, N)


@pytest.mark.slow
def test_two_thousand_damaged_files() -> None:
    check(N, MANY)


def broken(read: Any) -> Loader:
    def make(folder: Path) -> None:
        (folder / "broken.dat").write_bytes(b"right")

    def reading(folder: Path) -> Any:
        raw = (folder / "broken.dat").read_bytes()
        return raw if raw == b"right" else read(folder)

    return Loader("broken", make, reading, exact=True)


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
    silent: SILENT,
    unnamed: UNNAMED,
    crash: DIED,
    memory: MEMORY_OVER,
    bug: TRACEBACK,
    hang: HANG,
}
SEEN = """
from tests.fuzz import run, test_fuzz
run.SECONDS = 1.0
for fault, what in test_fuzz.FAULTS.items():
    seen = {outcome["what"] for outcome in run.run([test_fuzz.broken(fault)], range(2))}
    assert seen == {what}, (fault, seen)
print("seen")
"""


@pytest.mark.slow
def test_what_goes_wrong_is_seen() -> None:
    """A loader with each of the faults: the runner must name them all. In a process of its own, as
    the limit of memory is."""
    done = subprocess.run(
        [sys.executable, "-c", SEEN], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "seen\n", done.stderr


def numbers(value_of: Callable[[str], float]) -> Loader:
    """A loader of a column of numbers."""

    def read(path: Path) -> Any:
        try:
            values = [value_of(line) for line in path.read_text().split("\n")]
            return [value if abs(value) < float("inf") else None for value in values]
        except ValueError as error:
            raise InputError(str(error), file=path) from None

    return one_file("numbers", "n.csv", lambda path: path.write_text("0.5\n0.25\n7"), read)


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


RATINGS = ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.2, 0.2], [0.7, 0.1, 0.1], [0.1, 0.7, 0.1])


@pytest.mark.parametrize("seed", range(20))
def test_means_that_are_equal_on_paper_are_equal(seed: int, tmp_path: Path) -> None:
    """Whatever the order of the sum, and with a rating moved by its last bit."""
    rng = random.Random(seed)
    rated = [
        {
            "image_id": f"{k}.jpg",
            "candidate": f"a dog {k}",
            "references": ["a dog"],
            "human": rng.sample(ratings, 3),
        }
        for k, ratings in enumerate(RATINGS)
    ]
    path = tmp_path / "rated.json"
    path.write_bytes(mutations.harm_rounding(json.dumps(rated).encode(), rng))
    means = load_table(file=path, image_source="other", data=tmp_path).means("human").tolist()
    assert means[0] == means[1] == means[2] < means[3] == means[4]


def test_a_reader_that_accepts_what_is_no_json_is_seen(tmp_path: Path) -> None:
    loader = one_file("careless", "t.json", {"a": 1}, lambda path: len(path.read_bytes()) > 0)
    assert "is no JSON" in first_bad(loader, tmp_path, 20)


def test_a_reader_that_depends_on_white_space_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spaced(loader: Loader, folder: Path, rng: random.Random) -> tuple[Path, None]:
        (folder / "t.json").write_text('{ "a": 1 }')
        return folder / "t.json", None

    monkeypatch.setattr("tests.fuzz.run.harm", spaced)
    loader = one_file("spaces", "t.json", {"a": 1}, lambda path: path.read_text())
    assert " instead of " in first_bad(loader, tmp_path, 1)
