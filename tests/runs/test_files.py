"""The files of a run: schemas as the records say, whole or refused; cells are never formulas."""

import csv
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metaeval.errors import InputError
from metaeval.runs import files
from metaeval.runs.files import csv_text, spreadsheet_cell
from metaeval.runs.records import Edit, Version


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    versions = [
        Version(
            "Replace 25%",
            0,
            "a cat runs.",
            "a dog runs.",
            expected="lower",
            requested_rate=0.25,
            realised_rate=1 / 3,
            edits=(Edit(1, "dog", "cat"),),
        ),
        Version("Human", 1, "a dog runs.", "a dog runs."),
    ]
    path = tmp_path / files.CAPTIONS
    files.write_rows(path, [(7, *v.as_row()) for v in versions])
    return path


def test_captions_hold_the_fields_of_a_version(captions: Path) -> None:
    assert pq.read_schema(captions).names == ["image_id", *Version.__slots__]
    table = files.read_run_table(captions)
    assert table["expected"].tolist() == ["lower", "none"]
    assert table["edits"][0].tolist() == [{"position": 1, "before": "dog", "after": "cat"}]
    assert table["effect"].isna().all()
    assert table["harm"].isna().all()
    table.drop(columns="expected").to_parquet(captions)  # older captions are refused
    with pytest.raises(InputError, match=r"captions.parquet.*'expected': the column is missing"):
        files.read_run_table(captions)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077, 0o002])
def test_who_may_read_a_file_is_left_to_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        files.atomic(tmp_path / "x.json", lambda p: p.write_text("{}"))
    finally:
        os.umask(before)
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o666 & ~umask
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("text", ["=cmd()|A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "|x"])
def test_formulas_become_text(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"
    assert list(csv.reader(csv_text([["rho"], [text]]).splitlines())) == [["rho"], [f"'{text}"]]


@pytest.mark.parametrize("value", ["-0.5", "+3", "-12%", "a=b", "'tis", "", 1, -0.5, None, True])
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert spreadsheet_cell(value) == value
