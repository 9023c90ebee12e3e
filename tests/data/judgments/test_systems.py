"""Tables of systems: your own, and the leaderboards of the COCO 2015 challenge."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.data.judgments.systems import METRICS, load_coco2015, load_systems
from tests.data.table_files import write
from tests.fuzz.base import Loader, one_file
from tests.shared import write_json

ROWS = [
    {"system": "two", "human": 2, "human detail": 5, "CIDEr": 0.5, "TER": 60.5, "by": "x"},
    {"system": "one", "human": 1, "human detail": 6, "CIDEr": None, "TER": 70, "by": "x"},
    {"system": "Human", "human": 9, "human detail": 1, "CIDEr": 0.1, "TER": 80, "by": "y"},
]


def submission(team: int, name: str, date: str, values: dict[str, float]) -> dict[str, Any]:
    return {"date": date, "team": {"id": team, "name": name}, "results": json.dumps(values)}


def make_leaderboards(folder: Path) -> None:
    """Four entries; of B a later submission is scored, twice, and C is not on the other board."""
    judged = [
        submission(k, name, "2015-05-01", {f"q{q}": k + q / 10 for q in range(1, 6)})
        for k, name in enumerate("ABC")
    ]
    judged.append(submission(9, "Human", "2015-03-01", {f"q{q}": 9.0 for q in range(1, 6)}))
    dates = [("A", "2015-05-02"), ("B", "2015-08-01"), ("B", "2016-01-01"), ("Human", "2015-03-01")]
    scored = [
        submission(k, name, date, dict.fromkeys(METRICS, 0.1 * k))
        for k, (name, date) in enumerate(dates)
    ]
    for name, records in (("cap_challenge2015", judged), ("cap_c40", scored)):
        write(folder / "coco2015" / f"{name}.json", records)


FUZZED = [
    one_file("systems", "systems.csv", ROWS, load_systems),
    Loader("COCO 2015", make_leaderboards, lambda folder: load_coco2015(data=folder)),
]


def test_columns_of_your_own_table(tmp_path: Path) -> None:
    path = write_json(tmp_path / "t.json", ROWS)
    table = load_systems(path, without=["Human"])
    columns = ["human", "human detail"], ["CIDEr", "TER"]
    assert (list(table.human), list(table.metrics)) == columns
    assert table.systems == ("Human", "one", "two")
    np.testing.assert_array_equal(table.metrics["CIDEr"], [0.1, np.nan, 0.5])
    sets = {name: v.tolist() for name, v in table.sets.items()}
    assert sets == {"without Human": [False, True, True], "all": [True] * 3}


def test_a_later_submission_of_the_same_name_is_told_apart(tmp_path: Path) -> None:
    make_leaderboards(tmp_path)
    table = load_coco2015(data=tmp_path)
    assert table.systems == ("A", "B (1)", "B (2)", "Human")
    assert {name: v.tolist() for name, v in table.sets.items()} == {
        "not replaced": [True, False, False, False],
        "with replaced": [True, True, True, False],
        "with Human": [True, False, False, True],
    }
    assert table.human["M2"].tolist() == [0.2, 1.2, 1.2, 9.0]
    stated = "B: metrics scored a later submission", "Without values of metrics: C."
    assert [text for text in stated if text not in " ".join(table.notes)] == []
