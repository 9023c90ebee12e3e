"""Tables of a page that can be saved, with the links that save them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metaeval.reports.paper.differences import comparison_table
from metaeval.reports.paper.links import SaveLinks, save_links
from metaeval.reports.shared.formatting import file_stem
from metaeval.reports.shared.matrix import DifferenceRow, comparison_matrix
from metaeval.reports.shared.print_tables import PrintTable, plain_table
from metaeval.results.comparison import Comparisons


class SavedTable(NamedTuple):
    """A table of texts, the text above it, and the links that save it."""

    name: str
    table: PrintTable
    links: list[SaveLinks]


class SavedMatrix(NamedTuple):
    """A matrix of differences: the text above it, the matrix, all numbers, and their links."""

    name: str
    lines: list[DifferenceRow]
    table: PrintTable | None
    links: list[SaveLinks]


def saved_table(
    name: str, stem: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> SavedTable:
    """A table of texts whose file is called `stem`."""
    table = plain_table(stem, caption, heads, rows)
    return SavedTable(name, table, save_links([table]))


def saved_comparisons(
    name: str, stem: str, caption: str, comparisons: Comparisons, order: Sequence[str]
) -> SavedMatrix:
    """The comparisons between the metrics of `order`, best first; the file is called `stem`."""
    table = comparison_table(comparisons, order, stem, caption)
    links = save_links([table]) if table else []
    return SavedMatrix(name, comparison_matrix(comparisons, order), table, links)


def file_name(stem: str, place: int, name: str) -> str:
    """The name of the file of one of several tables or figures: the first has the plain stem."""
    return stem if place == 0 else f"{stem}-{file_stem(name)}"
