"""The section of a page on dose and response, and the files next to the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from metaeval.reports.dose.curves import Panel
from metaeval.reports.dose.findings import finding
from metaeval.reports.dose.table import POINTS, print_table, table_name, write_dose_tables
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.figure_style import as_data_uri
from metaeval.reports.shared.print_tables import PrintTable
from metaeval.runs import files


class DoseSection(NamedTuple):
    """What the template `dose.html.j2` reads.

    `image` is the figure as a data address, empty where none was drawn; `links` are the files
    next to the page as (text, address).
    """

    image: str
    findings: Sequence[Finding]
    tables: Sequence[PrintTable]
    links: Sequence[tuple[str, str]]


def dose_section(directory: Path, panels: Sequence[Panel], figures: bool) -> DoseSection | None:
    """Write the figure (where `figures`) and the tables; `None` where there is nothing to show."""
    panels = [panel for panel in panels if any(c.n for c in panel.curves.values())]
    if not panels:
        return None
    write_dose_tables(directory, panels)
    links = [("every point as CSV", f"{files.TABLES}/{POINTS}")]
    image = ""
    if figures:
        from metaeval.reports.dose.figure import write_dose_figure  # matplotlib is slow to import

        written = write_dose_figure(directory, panels)
        image = as_data_uri(written[0])
        links = [*((p.suffix[1:].upper(), f"{files.FIGURES}/{p.name}") for p in written), *links]
    tables = [print_table(p, table_name(p, panels)) for p in panels]
    links += [(f"{t.name}.tex", f"{files.TABLES}/{t.name}.tex") for t in tables]
    return DoseSection(
        image,
        [finding(panel) for panel in panels],
        tables,
        links,
    )
