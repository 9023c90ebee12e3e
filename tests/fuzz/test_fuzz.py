"""Harmed files are refused, or read right. `FUZZ_CASES=N` is how many of each loader (2)."""

import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.data.judgments.table import load_table
from metaeval.errors import InputError
from tests.fuzz.base import Loader, one_file
from tests.fuzz.loaders import LOADERS
from tests.fuzz.run import BAD, HANG, SILENT, TRACEBACK, UNNAMED, run
from tests.shared import write_json

CASES = int(os.environ.get("FUZZ_CASES", "2"))


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.name)
def test_damaged_records_are_refused_or_read_right(loader: Loader) -> None:
    assert [outcome for outcome in run(loader, range(CASES)) if outcome["what"] in BAD] == []


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


RATINGS = ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.2, 0.2], [0.7, 0.1, 0.1], [0.1, 0.7, 0.1])


@pytest.mark.parametrize("seed", range(20))
def test_means_that_are_equal_on_paper_are_equal(seed: int, tmp_path: Path) -> None:
    """Whatever the order of the sum, and with a rating moved by its last bit."""
    rng = random.Random(seed)
    rated = [
        {"image_id": f"{k}.jpg", "candidate": f"a dog {k}", "human": rng.sample(ratings, 3)}
        for k, ratings in enumerate(RATINGS)
    ]
    human = rng.choice(rated)["human"]
    human[0] = float(np.nextafter(human[0], rng.choice((np.inf, -np.inf))))
    path = write_json(tmp_path / "rated.json", rated)
    means = load_table(file=path, image_source="other", data=tmp_path).means("human").tolist()
    assert means[0] == means[1] == means[2] < means[3] == means[4]
