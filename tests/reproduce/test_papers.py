"""The papers' files against the printed tables in `papers/*.tsv`, cell by cell.

A line of a table is a printed number: table, part of the table, row, column, value.
"""

import csv
from pathlib import Path

import pytest

from metaeval.papers.expected import papers

TABLES = sorted(Path(__file__).with_name("papers").glob("*.tsv"))
Cell = tuple[str, str, str, str]


def printed(path: Path) -> dict[Cell, float]:
    """(table, part, row, column) → the printed number."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    cells: dict[Cell, float] = {}
    for line in csv.DictReader(lines, delimiter="\t"):
        cell = (line["table"], line["part"], line["row"], line["column"])
        assert cell not in cells
        cells[cell] = float(line["value"])
    return cells


def declared(paper: str) -> dict[Cell, float]:
    """The same of a paper's file, whose items say what the paper calls rows and columns."""
    cells: dict[Cell, float] = {}
    for item in papers()[paper].items:
        for metric, column, value in item.printed():
            if value is not None:
                row, name = (item.labels.get(text, text) for text in (metric, column))
                cell = (item.table, item.part, row, name)
                assert cell not in cells, f"{paper}/{item.item}: {cell} is there twice"
                cells[cell] = value
    return cells


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_paper_has_every_printed_number_and_no_other(path: Path) -> None:
    assert declared(path.stem) == printed(path)


def test_tables_of_four_papers_are_compared() -> None:
    assert [path.stem for path in TABLES] == [
        "gonzalez2022metrics",
        "jiang2019tiger",
        "madhyastha2019vifidel",
        "wang2021faier",
    ]
    assert [len(printed(path)) for path in TABLES] == [72, 92, 261, 279]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_value_that_no_paper_prints_says_why(path: Path) -> None:
    for item in papers()[path.stem].items:
        if any(value is None for _, _, value in item.printed()):
            assert item.missing or item.unpublished != "the published value is not available"
