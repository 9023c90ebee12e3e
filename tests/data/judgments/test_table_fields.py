"""Tables with other people's columns: names, raters, labels, and references of another file."""

from pathlib import Path
from typing import Any

import pytest

from metaeval.data.judgments.table import load_table
from tests.data.table_files import write as written

ROWS: list[dict[str, Any]] = [
    {"imgid": "a.jpg", "mt": "a dog", "refs": ["one dog", "the dog"], "stars": 4},
    {"imgid": "b.jpg", "mt": "a cat", "refs": ["one cat"], "stars": 1.5},
]
FIELDS = {"image_id": "imgid", "candidate": "mt", "references": "refs", "human": "stars"}


def test_columns_that_are_numbered_may_be_raters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{**row, "rater1": 1, "rater_2": 2, "fluency": 3} for row in ROWS]
    fields = {name: FIELDS[name] for name in ("image_id", "candidate", "references")}
    path = written(tmp_path / "t.csv", rows)
    data = load_table(path, human=["rater1", "rater_2"], fields=fields)
    (line,) = caplog.messages
    assert data.dimensions == ("rater1", "rater_2")
    assert line.endswith("dataset.raters=[rater1,rater_2].")
    assert line in data.dataset.notes
    load_table(path, human=["rater1", "fluency"], fields=fields)
    assert load_table(path, raters=["rater1", "rater_2"], fields=fields).dimensions == ("human",)
    assert caplog.messages == [line]


def test_marks_of_several_raters_do_not_depend_on_the_order_of_the_records(tmp_path: Path) -> None:
    """A word is wrong where at least half marked it; only the first record's marks counted."""
    marks = {"x": [0, 1, 0], "y": [0, 0, 1], "z": [0, 1, 0]}
    rows = [
        {
            **ROWS[0],
            "mt": "a dog runs",
            "who": who,
            "stars": 3,
            "words": [bool(m) for m in of],
            "refs": ["one dog"] if who == "x" else ["one dog", "the dog"],
        }
        for who, of in marks.items()
    ]
    read = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        path = written(tmp_path / "t.json", [rows[k] for k in order])
        data = load_table(path, fields={**FIELDS, "rater": "who"})
        (caption,) = data.judged
        read.append((caption.wrong, set(caption.references)))
        for note in (
            "Raters mark different words of 1 captions: a word is wrong where at least half of "
            "them marked it.",
            "References of 1 captions differ between records: all are used.",
        ):
            assert note in data.dataset.notes
    assert read == [((False, True, False), {"one dog", "the dog"})] * 3
    two = load_table(written(tmp_path / "t.json", rows[:2]), fields={**FIELDS, "rater": "who"})
    assert two.judged[0].wrong == (False, True, True)
