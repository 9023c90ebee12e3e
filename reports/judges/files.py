"""The files of a page on people's judgements: its tables, its forest plots, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from metaeval.reports.judges.section import JudgesSection
from metaeval.reports.paper.figures import write_figure
from metaeval.reports.shared import page
from metaeval.reports.shared.print_tables import PrintTable, write_tables
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.comparison import Comparisons
from metaeval.runs import files

_TESTS = {
    "permutation": "P the paired permutation test",
    "bootstrap": "B the paired bootstrap over images",
    "williams": "W Williams' test (of Pearson's r with the captions' mean ratings)",
}


def write_files(
    run: LoadedRun[Any],
    tables: Sequence[PrintTable],
    judges: JudgesSection | None,
    forests: Iterable[tuple[str, str, Figure]],
    html: str,
) -> Path:
    """Write `tables/`, `figures/` and `report.html`; returns the page's path.

    `forests` gives name, file stem and drawing of each forest plot.
    """
    write_tables(run.directory, [*tables, *([judges.table] if judges else [])])
    for name, stem, drawing in forests:
        write_figure(drawing, run.directory / files.FIGURES, stem, f"{run.title}, {name}")
    return page.write_page(run.directory / files.REPORT, html)


def tests_made(families: Iterable[Comparisons]) -> list[str]:
    """The tests that were made, each with its letter."""
    pair = next((pair for family in families for pair in family.pairs), None)
    made = [test.method for test in pair.tests] if pair is not None else []
    return [text for method, text in _TESTS.items() if method in made]
