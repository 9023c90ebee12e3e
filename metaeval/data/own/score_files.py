"""Scores that were computed elsewhere: tables of image, caption and scores."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.data.judgments.table import texts_of
from metaeval.data.own.tables import Table, TableRow, read_table, require_columns, table_files
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.readers.values import read_number
from metaeval.runs.records import Version

FIELDS = ("image_id", "caption", "references", "system", "metric", "score")
# columns of a run's own files, which are no scores
_NO_SCORES = frozenset({*FIELDS, *Version.__slots__, "image_path", "seg_id", "set_id"})

# image id as text, caption, and the references where the table tells them
Item = tuple[str, str, tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class ScoreFiles:
    """Scores of captions, by column.

    Attributes
    ----------
    columns
        The names of the scores, in the order in which the tables have them.
    scores
        (image id, caption, references or `None`) → the score in each column, NaN where the table
        has none.
    sha256
        Of all that was read.
    """

    columns: tuple[str, ...]
    scores: Mapping[Item, tuple[float, ...]]
    sha256: str

    def of(self, image: str, caption: str, references: tuple[str, ...]) -> tuple[float, ...] | None:
        """The scores of a caption: those for just these references, or for any."""
        known = self.scores.get((image, caption, references))
        return known if known is not None else self.scores.get((image, caption, None))


def read_scores(
    files: str | Path | Sequence[str | Path],
    columns: Sequence[str] | None = None,
    fields: Mapping[str, str] | None = None,
    captions: str | Path | None = None,
) -> ScoreFiles:
    """Read tables of scores.

    A record has `image_id`, `caption`, perhaps `references`, and its scores: a column each, or one
    score a record in `score`, called as `metric` says. Captions are tidied as everywhere.

    Parameters
    ----------
    files
        A file, several, or a folder of them.
    columns
        Which scores; by default all columns that hold numbers.
    fields
        What the tables call `image_id`, `caption`, `references`, `system`, `metric` and `score`,
        where they call it otherwise.
    captions
        A table that says which caption each `system` has of each `image_id`, where the scores do
        not repeat the caption.

    Raises InputError, naming file and record, for what is missing or no number, and for two
    different scores of one caption; ConfigError for options that make no sense.
    """
    named = _field_names(fields)
    tables = [read_table(path) for path in table_files(files, "metric.scores.file")]
    digest = hashlib.sha256("".join(table.sha256 for table in tables).encode())
    by_system: dict[tuple[str, str], str] | None = None
    if captions is not None:
        table = read_table(Path(captions).expanduser())
        digest.update(table.sha256.encode())
        by_system = _captions_by_system(table, named)
    reader = _Reader(named, by_system, columns)
    for table in tables:
        reader.read(table)
    names = tuple(columns) if columns is not None else tuple(reader.names)
    if lacking := [name for name in names if name not in reader.names]:
        there = ", ".join(reader.names) or "none"
        raise ConfigError(
            f"metric.scores.columns: there is no score '{lacking[0]}'; there: {there}"
        )
    if not names:
        raise InputError("has no column of scores", file=tables[0].path)
    scores = {
        item: tuple(of_item.get(name, (math.nan, ""))[0] for name in names)
        for item, of_item in reader.scores.items()
    }
    return ScoreFiles(names, scores, digest.hexdigest())


class _Reader:
    """Takes in tables; a score that is there twice must be the same."""

    def __init__(
        self,
        named: Mapping[str, str],
        by_system: Mapping[tuple[str, str], str] | None,
        columns: Sequence[str] | None,
    ) -> None:
        self.named, self.by_system, self.columns = named, by_system, columns
        self.names: dict[str, None] = {}
        self.scores: dict[Item, dict[str, tuple[float, str]]] = {}
        self._tidy = Tidy()

    def read(self, table: Table) -> None:
        named, first = self.named, table.rows[0].fields
        needed = [named["image_id"], named["system" if self.by_system else "caption"]]
        long = named["metric"] in first and named["score"] in first
        require_columns(table, needed, "metric.scores.fields")
        names = [] if long else self._columns_of(table)
        for row in table.rows:
            item = self._item(row, table.path)
            if long:
                metric = row.cell(named["metric"], table.path)
                if not isinstance(metric, str) or not metric:
                    raise InputError(
                        f"{metric!r:.40} is no name", file=table.path, record=row.where,
                        field=named["metric"],
                    )  # fmt: skip
                self._add(item, metric, named["score"], row, table.path)
                continue
            for name in names:
                self._add(item, name, name, row, table.path)

    def _columns_of(self, table: Table) -> list[str]:
        """The columns of a wide table that hold scores: those asked for, or all of numbers."""
        first = table.rows[0].fields
        if self.columns is not None:
            return [name for name in self.columns if name in first]
        fields = _NO_SCORES | set(self.named.values())
        others = [name for name in first if name not in fields]
        scores = [name for name in others if _holds_numbers(table, name)]
        if not all(name.strip() for name in scores):  # an index that pandas wrote, a name cut off
            raise InputError("a column of numbers has no name", file=table.path)
        return scores

    def _item(self, row: TableRow, path: Path) -> Item:
        image = str(row.image_id(path, self.named["image_id"]))
        if self.by_system is None:
            field = self.named["caption"]
            text = row.cell(field, path)
            caption = self._tidy.read(text, file=path, record=row.where, field=field)
        else:
            system = str(row.cell(self.named["system"], path))
            if (image, system) not in self.by_system:
                raise InputError(
                    f"of '{system}' there is no caption of the image '{image}'",
                    file=path, record=row.where, field=self.named["system"],
                )  # fmt: skip
            caption = self.by_system[image, system]
        told, field = row.fields.get(self.named["references"]), self.named["references"]
        if told is None or told == "":
            return image, caption, None
        return image, caption, texts_of(told, self._tidy, path, row.where, field)

    def _add(self, item: Item, name: str, field: str, row: TableRow, path: Path) -> None:
        if self.columns is not None and name not in self.columns:
            return
        self.names.setdefault(name)
        value = _number(row.fields.get(field), path, row.where, field)
        of_item = self.scores.setdefault(item, {})
        if name not in of_item:
            of_item[name] = value, f"{path.name}, {row.where}"
            return
        known, place = of_item[name]
        if not math.isclose(known, value, rel_tol=1e-9, abs_tol=1e-9) and not (
            math.isnan(known) and math.isnan(value)
        ):
            raise InputError(
                f"{value:g} is another score of '{name}' for the same image and caption than "
                f"{known:g} in {place}",
                file=path, record=row.where, field=field,
            )  # fmt: skip


def _field_names(fields: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(fields or {})
    if unknown := [name for name in given if name not in FIELDS]:
        raise ConfigError(f"metric.scores.fields: '{unknown[0]}' is none of {', '.join(FIELDS)}")
    return {**{name: name for name in FIELDS}, **given}


def _captions_by_system(table: Table, named: Mapping[str, str]) -> dict[tuple[str, str], str]:
    image, system, caption = named["image_id"], named["system"], named["caption"]
    require_columns(table, [image, system, caption], "metric.scores.fields")
    tidy = Tidy()
    captions: dict[tuple[str, str], str] = {}
    for row in table.rows:
        told = row.cell(caption, table.path)
        text = tidy.read(told, file=table.path, record=row.where, field=caption)
        key = str(row.image_id(table.path, image)), str(row.cell(system, table.path))
        if captions.setdefault(key, text) != text:
            raise InputError(
                f"'{key[1]}' has another caption of the image '{key[0]}'",
                file=table.path, record=row.where, field=caption,
            )  # fmt: skip
    return captions


def _holds_numbers(table: Table, name: str) -> bool:
    """Whether a column has a number at all: then whatever else stands in it is refused."""
    return any(_like_a_number(row.fields.get(name)) for row in table.rows)


def _like_a_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, bool)


def _number(value: Any, path: Path, where: str, field: str) -> float:
    """A score; NaN where there is none."""
    if value is None or value == "" or value != value:
        return math.nan
    if isinstance(value, str) and value.strip().lower() == "nan":
        return math.nan
    try:
        return read_number(value, path, where, field)
    except InputError:
        problem = f"{value!r:.40} is no score"
        raise InputError(problem, file=path, record=where, field=field) from None
