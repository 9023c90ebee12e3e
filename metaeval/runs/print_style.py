"""How the tables of a report are printed: an option of every report, read where tables are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from annotated_types import Interval


@dataclass(frozen=True)
class PrintStyle:
    """The style of a run's tables and pages: `report.main`, `.columns`, `.scale`, `.width`,
    `.signatures`, `.highlight`.

    Attributes
    ----------
    main
        Whether tables for papers have one row a metric: no controls, no parts, and of several
        scores of a metric the one that stands for it.
    columns
        The heads of the columns that tables of metrics have, in this order; empty for the usual
        ones. Capitals, spaces and what stands in brackets need not be written, and Greek letters
        may be spelt ("rho within").
    scale
        What scores and correlations are multiplied by: 100 prints .324 as 32.4.
    width
        "column", "page", or "auto": a column where the table fits it.
    signatures
        Whether LaTeX has the signatures of the scores below each table, and not only in
        `tables/signatures.tex`.
    highlight
        The metrics, or systems, that stand out in every table and chart.
    """

    main: bool = False
    columns: list[str] = field(default_factory=list)
    scale: Annotated[int, Interval(ge=1, le=1000)] = 1
    width: Literal["auto", "column", "page"] = "auto"
    signatures: bool = False
    highlight: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PrintStyle:
        """The style in the options of a report; others are left out."""
        names = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in options.items() if k in names and v is not None})


_STYLE: ContextVar[PrintStyle | None] = ContextVar("print_style", default=None)


def style() -> PrintStyle:
    """The style of the report that is being written."""
    return _STYLE.get() or PrintStyle()


def highlighted_first(names: Iterable[str]) -> list[str]:
    """The names, those that the style highlights first."""
    return sorted(names, key=lambda name: name not in style().highlight)


@contextmanager
def print_style(chosen: PrintStyle) -> Iterator[None]:
    """Print tables in this style within the block."""
    token = _STYLE.set(chosen)
    try:
        yield
    finally:
        _STYLE.reset(token)
