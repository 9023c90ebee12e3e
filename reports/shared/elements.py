"""The elements that pages are made of: what the shared templates read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


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
