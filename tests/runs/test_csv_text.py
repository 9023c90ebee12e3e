"""Tables that people open in a spreadsheet: no cell of text is run as a formula."""

import csv

import pytest

from metaeval.runs.files import csv_text, spreadsheet_cell


@pytest.mark.parametrize("text", ["=cmd()|A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "|x"])
def test_formulas_become_text(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-0.5", "+3", "-12%", "a=b", "'tis", "", 1, -0.5, None, True])
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert spreadsheet_cell(value) == value


def test_rows() -> None:
    text = csv_text([["metric", "rho"], ["=1", -0.5]])
    assert list(csv.reader(text.splitlines())) == [["metric", "rho"], ["'=1", "-0.5"]]
