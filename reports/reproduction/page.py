"""The page of experiment=reproduce: printed values next to computed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from metaeval.reports.reproduction.cells import value_cells
from metaeval.reports.reproduction.figure import write_figure
from metaeval.reports.reproduction.tables import to_csv, to_latex, to_text
from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Header
from metaeval.reports.shared.figure_style import as_data_uri
from metaeval.reports.shared.run import load_run_files
from metaeval.results.reproduction import (
    VERDICTS,
    ReproducedItem,
    ReproducedValue,
    ReproductionResult,
    Verdict,
)
from metaeval.runs import files

TABLES = {"txt": to_text, "csv": to_csv, "tex": to_latex}

MEANING: dict[Verdict, str] = {
    "equal": "the same value, to the printed digits",
    "within": "inside the declared uncertainty",
    "differs": "outside; the reason stands next to it",
    "other model": "the metric ran with another model than the paper's",
    "other data": "on other images or references than the paper's",
    "not published": "no printed value is known",
    "not run": "something is missing; the reason says what helps",
}


class PaperPart(NamedTuple):
    """The items of one paper, in their order."""

    paper: str
    title: str
    source: str
    items: Sequence[ReproducedItem]


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, `tables/reproduction.csv`, `.tex`, `.txt` and the figures into a run's
    directory.

    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), ReproductionResult)
    write_tables(run.directory / "tables", run.result.items)
    images = {}
    for item in run.result.items:
        for drawn in write_figure(run.directory / files.FIGURES, item)[:1]:
            images[(item.paper, item.item)] = as_data_uri(drawn)
    return page.write_page(run.directory / files.REPORT, render(run.result.items, images))


def write_tables(folder: Path, items: Sequence[ReproducedItem]) -> None:
    """Write the values as `reproduction.txt`, `.csv` and `.tex` into a folder."""
    for suffix, write in TABLES.items():
        path, text = folder / f"reproduction.{suffix}", write(items)
        files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8", newline="\n"))


def render(
    items: Sequence[ReproducedItem], images: Mapping[tuple[str, str], str] | None = None
) -> str:
    """The page as text; the same items give the same bytes.

    `images` is (paper, item) → the address of its figure.
    """
    values = [value for item in items for value in item.values]
    counts = Counter(value.verdict for value in values)
    header = Header(
        "Papers reproduced",
        "Printed and computed values",
        "Do the numbers of the papers come out?",
        [(name, f"{counts[name]:,}") for name in VERDICTS if counts[name]],
    )
    papers = [
        PaperPart(name, of[0].paper_title, of[0].source, of)
        for name, group in groupby(items, lambda item: item.paper)
        if (of := list(group))
    ]
    return page.render(
        "reproduction.html.j2",
        1,
        room="reproduction",
        scripts="0-*.js",
        header=header,
        papers=papers,
        images=images or {},
        verdicts=VERDICTS,
        meaning=MEANING,
        counts={(item.paper, item.item): _counts(item) for item in items},
        rows={(item.paper, item.item): _rows(item.values) for item in items},
    )


class ValueRow(NamedTuple):
    """A line of an item's table.

    Attributes
    ----------
    kind
        The class of its verdict.
    cells
        Its texts but the reason.
    reason, n_lines
        The reason, and of how many lines from here it is; 0 where an earlier line has it.
    """

    kind: str
    cells: Sequence[str]
    reason: str
    n_lines: int


def _rows(values: Sequence[ReproducedValue]) -> list[ValueRow]:
    """The lines of an item; lines of a metric that follow each other with one reason share it."""
    rows: list[ValueRow] = []
    for _, group in groupby(values, lambda value: (value.column, value.reason)):
        same = list(group)
        for place, value in enumerate(same):
            *cells, reason = value_cells(value)
            n_lines = 0 if place else len(same)
            rows.append(ValueRow(value.verdict.replace(" ", "-"), cells, reason, n_lines))
    return rows


def _counts(item: ReproducedItem) -> list[str]:
    counts = Counter(value.verdict for value in item.values)
    return [f"{counts[name]:,}" if counts[name] else "" for name in VERDICTS]
