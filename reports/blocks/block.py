"""A block of a page, and what it writes next to the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from metaeval.reports.shared.page import environment
from metaeval.reports.shared.print_tables import PrintTable


class Block(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    key
        Its anchor.
    title
        Its heading, and its name in the bar of the page.
    html
        Its content.
    folded
        Whether the page opens it only on request.
    tables
        Its tables for papers, written to `tables/`.
    figures
        Name → its drawing, written to `figures/` as SVG and PDF.
    data
        Name → text of a file, written to `tables/` as it is.
    levels
        How many colours of levels it uses: the classes l0, l1 …, worst first.
    embedded
        Whether it embeds data, which the scripts of the page's room read.
    """

    key: str
    title: str
    html: Markup
    folded: bool = False
    tables: tuple[PrintTable, ...] = ()
    figures: Mapping[str, Figure] = {}
    data: Mapping[str, str] = {}
    levels: int = 1
    embedded: bool = False


def rendered(template: str, **context: Any) -> Markup:
    """A template of `reports/*/templates` with its context."""
    return Markup(environment().get_template(template).render(context))
