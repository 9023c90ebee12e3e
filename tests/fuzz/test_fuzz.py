"""Harmed files, in children with a limit of memory and of time: refused, or read right."""

import json
import random
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
from tests.fuzz.run import BAD, HANG, SILENT, TRACEBACK, UNNAMED, run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.name)
def test_damaged_records_are_refused_or_read_right(loader: Loader) -> None:
    assert not [outcome for outcome in run(loader, range(2)) if outcome["what"] in BAD]


@pytest.mark.slow
def test_a_thousand_damaged_files() -> None:
    """The command, in a process of its own, as its limit of memory is."""
    command = [sys.executable, "-m", "tests.fuzz", "1000", "--first", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "1,000 cases, 0 went wrong" in done.stdout


def unnamed(path: Path) -> Any:
    raise InputError("no file is named here")


def hang(path: Path) -> Any:
    while True:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (lambda path: "something else", SILENT),
        (unnamed, UNNAMED),
        (lambda path: {}["key"], TRACEBACK),
        (lambda path: bytes(1 << 62), TRACEBACK),
        (hang, HANG),
    ],
)
def test_what_goes_wrong_is_seen(fault: Any, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.run.SECONDS", 0.1)

    def read(path: Path) -> Any:
        return "right" if path.read_text(errors="replace") == "right" else fault(path)

    loader = one_file("broken", "x.dat", lambda path: path.write_text("right"), read, exact=True)
    assert [outcome["what"] for outcome in run(loader, [3])] == [what]


def numbers(value_of: Callable[[str], float]) -> Loader:
    """A loader of a column of numbers."""

    def read(path: Path) -> Any:
        try:
            values = [value_of(line) for line in path.read_text().split("\n")]
            return [value if abs(value) < float("inf") else None for value in values]
        except ValueError as error:
            raise InputError(str(error), file=path) from None

    return one_file("numbers", "n.csv", lambda path: path.write_text("0.5\n0.25\n7"), read)


def first_bad(loader: Loader, cases: int) -> str:
    """The reason of the first of the cases that goes wrong; empty where none does."""
    bad = (outcome["why"] for outcome in run(loader, range(cases)) if outcome["what"] in BAD)
    return next(bad, "")


def test_a_number_that_is_not_known_and_read_as_0_is_seen() -> None:
    def counted_as_0(cell: str) -> float:
        return 0.0 if cell.strip() in ("", "null", "None", "NA", "-", "?") else float(cell)

    def unknown(cell: str) -> float:
        return counted_as_0(cell) or (0.0 if "0" in cell else float("nan"))

    assert "is read as 0" in first_bad(numbers(counted_as_0), 100)
    assert not first_bad(numbers(unknown), 100)


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


def test_a_reader_that_accepts_what_is_no_json_is_seen() -> None:
    loader = one_file("careless", "t.json", {"a": 1}, lambda path: len(path.read_bytes()) > 0)
    assert "is no JSON" in first_bad(loader, 20)


def test_a_reader_that_depends_on_white_space_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def spaced(loader: Loader, folder: Path, rng: random.Random) -> tuple[Path, None]:
        (folder / "t.json").write_text('{ "a": 1 }')
        return folder / "t.json", None

    monkeypatch.setattr("tests.fuzz.run.harm", spaced)
    loader = one_file("spaces", "t.json", {"a": 1}, lambda path: path.read_text())
    assert " instead of " in first_bad(loader, 1)
