"""Links that save a table of the page as a file: the file itself is in the link.

So they work in a page that was sent by mail, and without JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from metaeval.reports.shared.print_tables import PrintTable, to_csv, to_latex, to_markdown

_FORMS = (
    ("CSV", "csv", "text/csv", to_csv),
    ("LaTeX", "tex", "application/x-tex", to_latex),
    ("Markdown", "md", "text/markdown", to_markdown),
)


class SaveLink(NamedTuple):
    """A form of a table: what the link says, the file's name, and the file as a data URI."""

    label: str
    name: str
    href: str


class SaveLinks(NamedTuple):
    """The links of one table; `choice` names it where the page has several in one place."""

    choice: str
    links: tuple[SaveLink, ...]


def save_links(tables: Iterable[PrintTable]) -> list[SaveLinks]:
    """Links for tables of one place: their choice is what their file's name adds to the first's."""
    listed = list(tables)
    stem = listed[0].name if listed else ""
    return [
        SaveLinks(
            table.name.removeprefix(stem).strip("-"),
            tuple(
                SaveLink(
                    label,
                    f"{table.name}.{suffix}",
                    f"data:{kind};charset=utf-8,{quote(write(table), safe='/,;:()*!')}",
                )
                for label, suffix, kind, write in _FORMS
            ),
        )
        for table in listed
    ]
