"""The elements that pages are made of: what the shared templates read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup


class Header(NamedTuple):
    """The head of a page: what it is about, short facts as (what, value), and a legend.

    `legend` lists (class of the colour, name); `legend_label` says what they are, to screen
    readers. `fallback` says why the dataset is another than the requested one, if so.
    """

    kicker: str
    title: str
    question: str
    facts: Sequence[tuple[str, str]]
    legend_label: str = ""
    legend_class: str = "legend"
    legend: Sequence[tuple[str, str]] = ()
    fallback: str | None = None


class Finding(NamedTuple):
    """A lead-in of a word or two (or none), and the sentences it leads in."""

    lead: str
    text: str


class Alert(NamedTuple):
    """Something a reader must know before believing the numbers.

    `level`: "error" (a number is missing or no result), "warn" (read with care), "note".
    """

    level: str
    subject: str
    text: str
    remedy: str = ""


class Term(NamedTuple):
    """A term of the glossary; `key` names the table column (empty if it is not a column)."""

    key: str
    name: str
    short: str
    more: str = ""


class ColumnHead(NamedTuple):
    """A column's header, with a tooltip, and the labels of an axis where its cells have one."""

    key: str
    name: str
    tip: str
    axis: Markup | str = ""


class Cell(NamedTuple):
    """One cell: its text, the value it sorts by (None sorts last), a hover text, a small note, and
    what stands for its text in files for print (a number with its interval), where not the text."""

    key: str
    text: str | Markup
    value: float | str | None = None
    title: str = ""
    note: str = ""
    note_class: str = ""
    printed: str = ""


class Row(NamedTuple):
    """One metric, its `kind` see `row_kind`; an absent one has only its first cell and a reason.

    `marks` are those of its footnotes.
    """

    metric: str
    kind: str
    parent: str | None
    signature: str
    cells: tuple[Cell, ...]
    reason: str = ""
    remedy: str = ""
    marks: str = ""
