"""Values that papers printed, next to the same values computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from metaeval.results.base import Model, Number

Verdict = Literal[
    "equal", "within", "differs", "other model", "other data", "not published", "not run"
]
VERDICTS: tuple[Verdict, ...] = (
    "equal", "within", "differs", "other model", "other data", "not published", "not run",
)  # fmt: skip


class ReproducedValue(Model):
    """One cell of a table.

    Attributes
    ----------
    paper, item, column, cell
        Where the value was printed; `cell` is empty where a column has one value.
    published, ours
        Both on the scale of the paper; `published` is `None` where the printed value is not known,
        `ours` where nothing was computed.
    difference
        ours − published, in units of the declared uncertainty (of the rounding where none is).
    verdict
        "equal": the same printed digits. "within": inside the declared uncertainty. "differs":
        outside. "other model": the metric ran with another model than the paper's. "other data":
        on other images or references. "not published": no printed value is known. "not run".
    reason
        Why the value differs or was not computed, and what would help.
    """

    paper: str
    item: str
    column: str
    cell: str
    published: Number = None
    ours: Number = None
    difference: Number = None
    verdict: Verdict
    reason: str = ""


class ReproducedItem(Model):
    """One table or figure of a paper.

    Attributes
    ----------
    paper, paper_title, source
        The short name of the paper, its title and where it was published.
    item, title, note
        The item's short name, what the paper calls it, and what a reader should know.
    command
        The command that computes its values; "" where there is none.
    """

    paper: str
    paper_title: str
    source: str
    item: str
    title: str
    note: str = ""
    command: str = ""
    values: tuple[ReproducedValue, ...]


def summary(values: Sequence[ReproducedValue]) -> str:
    """How many values have each verdict, in words; verdicts without a value are left out."""
    counts = Counter(value.verdict for value in values)
    named = [f"{counts[name]:,} {name}" for name in VERDICTS if counts[name]]
    return f"{len(values):,} value{'' if len(values) == 1 else 's'}: {', '.join(named) or 'none'}"
