"""The expected values of `metaeval/papers/*.yaml`: which paper printed which number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from metaeval.errors import ConfigError, InputError
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Model

FOLDER = Path(__file__).resolve().parent


def _text_keys(value: Any) -> Any:
    """Keys of cells as text: YAML reads `0` as a number."""
    return {str(k): v for k, v in value.items()} if isinstance(value, dict) else value


_OfCells = Annotated[Mapping[str, float | None], BeforeValidator(_text_keys)]
Cells = Annotated[Mapping[str, float | _OfCells | None], BeforeValidator(_text_keys)]


class Uncertainty(Model):
    """How far apart two correct computations may be, and why.

    Attributes
    ----------
    value
        On the scale of the printed values.
    source
        What varies, and how this was measured.
    """

    value: Annotated[float, Field(gt=0)]
    source: str


class PaperExample(Model):
    """A caption and its references, scored directly instead of by a run."""

    candidates: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    metrics: tuple[str, ...]
    options: Mapping[str, str | int | float | bool] = {}


class PaperItem(Model):
    """One table or figure of a paper.

    One of `run`, `example`, `function` and `missing` says how it is computed, or why it is not;
    a function may take the folder of a run.

    Attributes
    ----------
    item, title
        Its short name and what the paper calls it.
    run
        The options of the run that computes it, "experiment" among them, by their dotted names.
    example
        Instead of a run: captions to score. The cells are then "COLUMN" or "COLUMN: {0: value}".
    function
        A function of `metaeval.reproduce.functions` that returns the values.
    missing
        Why it cannot be computed with what is published, and what would help.
    value
        The value in a metric's result: `values.MEASURE`, `facts.NAME` or, where systems are ranked,
        `systems.NAME`; `{cell}` is the name of the cell.
    scale
        The printed value is the computed one times this.
    rounding
        Half a unit of the last printed digit.
    uncertainty
        Further differences that are to be expected; `None` where the value should be equal.
    uncertainties
        Column → its uncertainty in the place of the item's.
    cells
        Column → value, or column → cell → value; null where no published value is known.
    causes
        Column → why its value differs, where that is known.
    models
        Column → the model that stands here for the paper's; "*" is every column.
    absent
        Cell or column → why a run has no such value, and how to get it.
    stated
        Switch of `conf/protocols` → its value, where the paper states it; "{cell}" is the name of
        the cell. `research/printed_values.py` searches the items that have it.
    overview
        Cell → the column of the overview of all papers in which its values are: metric × benchmark.
    axis
        What the cells are, where they are numbers: the page then draws the item as lines.
    data
        In what the data here differs from the paper's; "" where it is the same.
    draws
        How often the run is repeated, with `dataset.draw` 0, 1, …; a value is the mean.
    table, part
        The table that the item is of, by default one of its own, and the heading of its columns
        there: the page puts the items of one table together.
    labels
        Column or cell → what the paper prints for it, where that differs.
    unpublished
        Why cells without a value have none.
    quick
        Whether it takes less than a minute.
    note
        What a reader should know: the protocol, and what was left open.
    """

    item: Annotated[str, Field(pattern="^[a-z0-9-]+$")]
    title: str
    run: Mapping[str, Any] = {}
    example: PaperExample | None = None
    function: str = ""
    missing: str = ""
    value: str = ""
    scale: float = 1.0
    rounding: Annotated[float, Field(ge=0)] = 0.0
    uncertainty: Uncertainty | None = None
    uncertainties: Mapping[str, Uncertainty] = {}
    cells: Cells
    causes: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    absent: Mapping[str, str] = {}
    stated: Mapping[str, str] = {}
    overview: Mapping[str, str] = {}
    axis: str = ""
    data: str = ""
    draws: Annotated[int, Field(ge=1)] = 1
    table: str = ""
    part: str = ""
    labels: Annotated[Mapping[str, str], BeforeValidator(_text_keys)] = {}
    unpublished: str = "the published value is not available"
    quick: bool = False
    note: str = ""

    @model_validator(mode="after")
    def _one_source(self) -> PaperItem:
        sources = (self.example is not None, bool(self.missing), bool(self.run or self.function))
        if sum(sources) != 1:
            raise ValueError("one of 'run', 'example', 'function' and 'missing' has to be given")
        if self.run and not isinstance(self.run.get("experiment"), str):
            raise ValueError("'run' has no 'experiment'")
        if self.run and not (self.value or self.function):
            raise ValueError("'value' is missing")
        if self.axis:
            for column, cell, _ in self.printed():
                try:
                    float(cell)
                except ValueError:
                    raise ValueError(
                        f"'axis' needs numbers as cells; {column} has '{cell}'"
                    ) from None
        return self

    def printed(self) -> Iterator[tuple[str, str, float | None]]:
        """(column, cell, printed value) in the order of the file; the cell may be empty, the value
        unknown."""
        for column, value in self.cells.items():
            if isinstance(value, Mapping):
                for cell, number in value.items():
                    yield column, str(cell), number
            else:
                yield column, "", value


class Paper(Model):
    """A paper and its items.

    `paper` is its short name, `source` where it was published; the names in `own` begin those of
    the metrics that it proposes, all others are metrics that it compares.
    """

    paper: Annotated[str, Field(pattern="^[a-z0-9_]+$")]
    title: str
    source: str
    own: tuple[str, ...] = ()
    items: tuple[PaperItem, ...]

    @model_validator(mode="after")
    def _different_names(self) -> Paper:
        (name, n), *_ = Counter(item.item for item in self.items).most_common(1) or [("", 0)]
        if n > 1:
            raise ValueError(f"{n} items are called '{name}'; give each a name of its own")
        return self


def papers(folder: Path = FOLDER) -> dict[str, Paper]:
    """Short name → paper, for all files of a folder, by name. Raises InputError and ConfigError."""
    known: dict[str, Paper] = {}
    for path in sorted(folder.glob("*.yaml")):
        paper = read_declared(path, Paper)
        if known.setdefault(paper.paper, paper) is not paper:
            problem = f"another file has the paper '{paper.paper}' too; give one another name"
            raise InputError(problem, file=path, field="paper")
    if not known:
        raise ConfigError(f"{folder}: is not a folder with .yaml files of papers")
    return known


@cache
def item_of(paper: str, item: str) -> PaperItem:
    """One item of a paper that metaeval ships. Raises KeyError for an unknown item."""
    for entry in read_declared(FOLDER / f"{paper}.yaml", Paper).items:
        if entry.item == item:
            return entry
    raise KeyError(item)


def values_of(paper: str, item: str) -> dict[str, float]:
    """Column → printed value, of an item with one value a column."""
    printed = item_of(paper, item).printed()
    return {column: value for column, cell, value in printed if not cell and value is not None}


def cells_of(paper: str, item: str) -> dict[str, dict[str, float]]:
    """Column → cell → printed value, of an item with several values a column."""
    values: dict[str, dict[str, float]] = {}
    for column, cell, value in item_of(paper, item).printed():
        if cell and value is not None:
            values.setdefault(column, {})[cell] = value
    return values
