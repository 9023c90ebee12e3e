"""Harmed files are refused, or read right. `FUZZ_CASES=N` is how many of each loader (2)."""

import os
from pathlib import Path
from typing import Any

import pytest

from metaeval.errors import InputError
from tests.fuzz.base import Loader, one_file
from tests.fuzz.loaders import LOADERS
from tests.fuzz.run import BAD, SILENT, TRACEBACK, UNNAMED, run

CASES = int(os.environ.get("FUZZ_CASES", "2"))


@pytest.mark.timeout(30 + 20 * CASES)  # a case that hangs is in the traceback
@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.name)
def test_damaged_records_are_refused_or_read_right(loader: Loader) -> None:
    assert [outcome for outcome in run(loader, range(CASES)) if outcome["what"] in BAD] == []


def unnamed(path: Path) -> Any:
    raise InputError("no file is named here")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (lambda path: "something else", SILENT),
        (unnamed, UNNAMED),
        (lambda path: {}["key"], TRACEBACK),
        (lambda path: bytes(1 << 62), TRACEBACK),
    ],
)
def test_what_goes_wrong_is_seen(fault: Any, what: str) -> None:
    def read(path: Path) -> Any:
        return "right" if path.read_text(errors="replace") == "right" else fault(path)

    loader = one_file("broken", "x.dat", lambda path: path.write_text("right"), read, exact=True)
    assert [outcome["what"] for outcome in run(loader, [3])] == [what]
