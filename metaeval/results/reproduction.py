"""Values that papers printed, next to the same values computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from metaeval.results.base import Model, Number
from metaeval.results.run import RunResult

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
    axis
        What the cells are, where they are numbers; "" where they are not.
    command
        The command that computes its values; "" where there is none.
    """

    paper: str
    paper_title: str
    source: str
    item: str
    title: str
    note: str = ""
    axis: str = ""
    command: str = ""
    values: tuple[ReproducedValue, ...]


class ReproductionResult(RunResult[Model]):
    """The result of `experiment=reproduce`: papers' items; `metrics` is empty, as each item has its
    own."""

    items: tuple[ReproducedItem, ...]

    @property
    def values(self) -> tuple[ReproducedValue, ...]:
        """The values of all items."""
        return tuple(value for item in self.items for value in item.values)

    def table(self) -> pd.DataFrame:
        """One row per value."""
        columns = list(ReproducedValue.model_fields)
        return pd.DataFrame([v.model_dump() for v in self.values], columns=columns)


def summary(values: Sequence[ReproducedValue]) -> str:
    """How many values have each verdict, in words; verdicts without a value are left out."""
    counts = Counter(value.verdict for value in values)
    named = [f"{counts[name]:,} {name}" for name in VERDICTS if counts[name]]
    return f"{len(values):,} value{'' if len(values) == 1 else 's'}: {', '.join(named) or 'none'}"
