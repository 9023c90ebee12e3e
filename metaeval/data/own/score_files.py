"""Scores that were computed elsewhere: tables of image, caption and scores."""

import dataclasses
import hashlib
import logging
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaeval.data.fields import (
    Fields,
    check_fields,
    fields_in,
    flattened,
    has_column,
    is_missing,
    rename_fields,
    unused_columns,
)
from metaeval.data.identity import IdJoin
from metaeval.data.own.tables import Table, read_table, table_files
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy, count_captions, letters_and_digits
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_json, user_path
from metaeval.readers.stated_numbers import leading_number, without_quotes
from metaeval.readers.tables import check_name, read_number
from metaeval.runs.files import MANIFEST
from metaeval.runs.records import Version

log = logging.getLogger(__name__)

FIELDS = ("image_id", "caption", "references", "system", "metric", "score")
OPTION = "metric.scores.fields"
# columns of a run's own files and of judges' answers, which are not scores
_NOT_SCORES = frozenset(
    {
        *(*FIELDS, *Version.__slots__, "image_path", "seg_id", "set_id", "row", "index", "id"),
        *("seed", "tokens", "prompt_tokens", "completion_tokens", "cost", "seconds", "rating"),
    }
)
# a number, or what a person or a program takes for one: "50%", "0,5", "1_000"
_NUMERIC = re.compile(
    r"[+-]?(?:[0-9][0-9_.,]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*%?|[+-]?inf(?:inity)?"
)
# metrics whose columns are scores without being named, by letters and digits in lower case
_PUBLISHED = frozenset(
    {
        "bleu",
        "bleu1",
        "bleu2",
        "bleu3",
        "bleu4",
        "sacrebleu",
        "chrf",
        "ter",
        "meteor",
        "rouge",
        "rougel",
        "cider",
        "ciderd",
        "spice",
        "spider",
        "bertscore",
        "bertscorep",
        "bertscorer",
        "bertscoref1",
        "moverscore",
        "wmd",
        "vifidel",
        "tiger",
        "faier",
        "chair",
        "chairs",
        "chairi",
        "clips",
        "refclips",
        "clipscore",
        "refclipscore",
        "pacs",
        "refpacs",
        "polos",
        "umic",
        "vilbertscore",
        "infometic",
        "fense",
        "fleur",
        "clair",
        "hicescore",
        "aloha",
    }
)

# image id as text, caption, and the references where the table has them
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
        has none; the mean where several records have different ones.
    sha256
        Of all that was read.
    name
        Of the first file, for messages.
    of_systems
        The scores of each system, of the captions whose systems have different ones.
    averaged
        The captions with several different scores.
    """

    columns: tuple[str, ...]
    scores: Mapping[Item, tuple[float, ...]]
    sha256: str
    name: str = ""
    of_systems: Mapping[tuple[Item, str], tuple[float, ...]] = field(default_factory=dict)
    averaged: Collection[Item] = ()

    def ids_of(self, image_ids: Sequence[str]) -> list[str | None]:
        """The id that the file has for each image of a dataset; `None` where it has none.

        An equal id or, where there is none, the only one that can be meant (`IdJoin`).
        """
        join = IdJoin({image for image, _, _ in self.scores}, image_ids)
        found = map(join.of, image_ids)
        return [None if image is None else str(image) for image in found]

    def item(self, image: str, caption: str, references: tuple[str, ...]) -> Item | None:
        """The record of a caption: that for just these references, or for any."""
        for item in ((image, caption, references), (image, caption, None)):
            if item in self.scores:
                return item
        return None

    def of(self, item: Item, system: str | None) -> tuple[float, ...]:
        """The scores of a caption, by the system that wrote it where both sides name systems."""
        return self.of_systems.get((item, system or ""), self.scores[item])


def read_scores(
    files: str | Path | Sequence[str | Path],
    columns: Sequence[str] | None = None,
    fields: Fields | None = None,
    captions: str | Path | None = None,
    answers: tuple[float, float] | None = None,
) -> ScoreFiles:
    """Read tables of scores.

    A record has `image_id`, `caption`, perhaps `references` and `system`, and its scores: a column
    each, or one score a record in `score`, called as `metric` says. Where records of one caption
    have different scores, its score is that of its system, if both sides name systems, or else
    their mean, which is counted and logged. `conf/metric/scores.yaml` describes the options.

    By default the columns of scores are those called as a published metric or as the manifest of
    the folder says: a row number is not a score. With `answers`, a scale, the cells are a model's
    answers, each of which begins with its score (`leading_number`); another answer scores NaN.

    Raises InputError, naming file and record, for what is missing or no number, and for two
    different scores of one caption of one system; ConfigError for options that make no sense.
    """
    tables = [read_table(path) for path in table_files(files, "metric.scores.file")]
    digest = hashlib.sha256("".join(table.sha256 for table in tables).encode())
    by_system: dict[tuple[str, str], str] | None = None
    others = [read_table(user_path(captions))] if captions is not None else []
    _require_fields([*others, *tables], fields)
    for table in others:
        digest.update(table.sha256.encode())
        by_system = _captions_by_system(table, fields)
    reader = _Reader(fields, by_system, columns, answers)
    declared = _declared_columns(files)
    rows = [reader.rows(table) for table in tables]
    wide = [t for t, of_table in zip(tables, rows, strict=True) if not reader.is_long(of_table)]
    if wide and columns is None:
        reader.wide = _score_columns(wide, fields, declared)
    for of_table in rows:
        reader.read(of_table)
    names = tuple(columns) if columns is not None else tuple(reader.names)
    if missing := [name for name in names if name not in reader.names]:
        there = dict.fromkeys(name for t in tables for name in flattened(t.rows[0].fields))
        raise ConfigError(
            f"metric.scores.columns: '{missing[0]}' is not in {tables[0].path}; it has: "
            f"{', '.join(reader.names or there)}"
        )
    if not names:
        raise InputError("has no column of scores", file=tables[0].path)
    for table in tables:
        used = {*_NOT_SCORES, *names, *(name.partition(".")[0] for name in names)}
        used |= {str(c) for c in fields_in(fields, table.rows[0].fields).values()}
        for note in unused_columns(table.path, table.rows[0].fields, used):
            log.warning("%s", note)
    held = reader.collected(names)
    if held.averaged:
        log.warning(
            "%s: different scores of %s; that of the caption's system counts where both sides name "
            "systems, else their mean.",
            tables[0].path.name,
            count_captions(len(held.averaged)),
        )
    return dataclasses.replace(held, sha256=digest.hexdigest(), name=tables[0].path.name)


def _require_fields(tables: Sequence[Table], fields: Fields | None) -> None:
    """InputError for a column that the user names and no table has."""
    for name, columns in check_fields(fields, FIELDS, OPTION).items():
        if not any(name in fields_in({name: columns}, table.rows[0].fields) for table in tables):
            there = ", ".join(map(repr, flattened(tables[0].rows[0].fields)))
            problem = f"is missing ({OPTION}.{name}); the columns are: {there}"
            raise InputError(problem, file=tables[0].path, field=str(columns))


def _renamed(
    table: Table,
    fields: Fields | None,
    required: Sequence[str],
    tidy: Tidy,
    columns: Sequence[str] = (),
) -> list[Row]:
    """The rows of a table with our names; only an image and a caption have other common names."""
    first = table.rows[0].fields
    named = fields_in(fields, first)
    optional = [f for f in FIELDS if f not in required and (f in named or f in first)]
    optional += [column for column in columns if "." in column and has_column(first, column)]
    rows = rename_fields(
        table.rows, named, required, table.path, [], optional, OPTION, False, check_ids=False
    )
    return [Row(record, table.path, where, tidy) for where, record in rows]


class _Reader:
    """Takes in tables; a score of one system that occurs twice must be the same."""

    def __init__(
        self,
        fields: Fields | None,
        by_system: Mapping[tuple[str, str], str] | None,
        columns: Sequence[str] | None,
        answers: tuple[float, float] | None,
    ) -> None:
        self.fields, self.by_system, self.columns = fields, by_system, columns
        self.answers = answers
        self.wide: Sequence[str] = columns or ()  # columns of scores of tables with a column each
        self.names: dict[str, None] = {}
        # column → system → scores and their places
        self.scores: dict[Item, dict[str, dict[str, list[tuple[float, str]]]]] = {}
        self._tidy = Tidy()

    def rows(self, table: Table) -> list[Row]:
        """The rows with our names; InputError where they do not say which caption a score is of."""
        needed = ["image_id"]
        if self.by_system is None or any(system for _, system in self.by_system):
            needed.append("caption" if self.by_system is None else "system")
        return _renamed(table, self.fields, needed, self._tidy, self.wide)

    def is_long(self, rows: Sequence[Row]) -> bool:
        """Whether a table has one score a record, whose metric a column names."""
        return "metric" in rows[0].fields and "score" in rows[0].fields

    def read(self, rows: Sequence[Row]) -> None:
        """Take in the rows of a table."""
        long = self.is_long(rows)
        there = {name for row in rows for name in row.fields}
        names = [] if long else [name for name in self.wide if name in there]
        for row in rows:
            item = self._item(row)
            if long:
                metric = check_name(
                    row.value("metric"), file=row.path, record=row.where, field="metric"
                )
                self._add(item, metric, "score", row)
            for name in names:
                self._add(item, name, name, row)

    def _item(self, row: Row) -> Item:
        image = str(row.id())
        if self.by_system is None:
            caption = row.caption("caption")
        else:
            system = _system(row)
            if (image, system) not in self.by_system:
                raise row.error(f"of '{system}' no caption of the image '{image}'", "system")
            caption = self.by_system[image, system]
        if is_missing(row.fields.get("references")):
            return image, caption, None
        return image, caption, row.captions("references")

    def _add(self, item: Item, name: str, field: str, row: Row) -> None:
        if self.columns is not None and name not in self.columns:
            return
        self.names.setdefault(name)
        cell = row.fields.get(field)
        if self.answers is not None:
            cell = leading_number(without_quotes(str(cell), [item[1]]), *self.answers)
        value, system = number_or_nan(cell, row.path, row.where, field), _system(row)
        of_name = self.scores.setdefault(item, {}).setdefault(name, {})
        earlier = of_name.setdefault(system, [])
        if system and earlier and not _equal([earlier[0][0], value]):
            known, place = earlier[0]
            raise row.error(
                f"{value:g} is another score of '{name}' for the same image and caption of "
                f"'{system}' than {known:g} in {place}",
                field,
            )
        earlier.append((value, f"{row.path.name}, {row.where}"))

    def collected(self, names: Sequence[str]) -> ScoreFiles:
        """The scores of the columns of these names, for each caption and, where they differ, for
        each of its systems."""
        scores: dict[Item, tuple[float, ...]] = {}
        of_systems: dict[tuple[Item, str], tuple[float, ...]] = {}
        averaged: list[Item] = []
        for item, of_item in self.scores.items():
            values = [
                {system: [v for v, _ in found] for system, found in of_item.get(name, {}).items()}
                for name in names
            ]
            every = [[v for found in of_name.values() for v in found] for of_name in values]
            scores[item] = tuple(map(_mean, every))
            if all(map(_equal, every)):
                continue
            averaged.append(item)
            systems = dict.fromkeys(s for of_name in values for s in of_name if s)
            of_systems |= {
                (item, s): tuple(_mean(of_name.get(s, [])) for of_name in values) for s in systems
            }
        return ScoreFiles(tuple(names), scores, "", "", of_systems, frozenset(averaged))


def _system(row: Row) -> str:
    system = row.fields.get("system")
    return "" if is_missing(system) else str(system)


def _equal(values: Sequence[float]) -> bool:
    """Whether scores are the same number, up to rounding; so are several that are not known."""
    return all(
        math.isclose(value, values[0], rel_tol=1e-9, abs_tol=1e-9)
        or (math.isnan(value) and math.isnan(values[0]))
        for value in values[1:]
    )


def _mean(values: Sequence[float]) -> float:
    """The mean of the scores that are known, without rounding where they are equal."""
    known = [value for value in values if not math.isnan(value)]
    if not known or _equal(known):
        return known[0] if known else math.nan
    return math.fsum(known) / len(known)


def _captions_by_system(table: Table, fields: Fields | None) -> dict[tuple[str, str], str]:
    captions: dict[tuple[str, str], str] = {}
    for row in _renamed(table, fields, ("image_id", "caption"), Tidy()):
        key, text = (str(row.id()), _system(row)), row.caption("caption")
        if captions.setdefault(key, text) != text:
            raise row.error(f"'{key[1]}' has another caption of the image '{key[0]}'", "caption")
    return captions


def _score_columns(
    tables: Sequence[Table], given: Fields | None, declared: Collection[str]
) -> list[str]:
    """The columns of scores of tables with a column for each: those of all records, not the first.

    InputError for a column of numbers that is not known to be one of scores.
    """
    known = _NOT_SCORES | {str(column) for column in check_fields(given, FIELDS).values()}
    records = [row.fields for table in tables for row in table.rows]
    numbers = [
        name
        for name in dict.fromkeys(name for record in records for name in record)
        if name not in known
        and (not declared or name in declared)
        and any(like_a_number(record.get(name)) for record in records)
    ]
    path = tables[0].path
    for name in numbers:
        if not name.strip():  # an index that pandas wrote, or a name that was cut off
            raise InputError("a column of numbers has no name", file=path)
        check_name(name, file=path, record=None, field=name)
    unknown = [
        name
        for name in numbers
        if name not in declared and letters_and_digits(name.partition("(")[0]) not in _PUBLISHED
    ]
    if unknown:
        columns = ", ".join(f"'{name}'" for name in unknown)
        raise InputError(
            f"has columns of numbers that are not known metrics: {columns}; say which columns are "
            f"scores: 'metric.scores.columns=[{','.join(numbers)}]'",
            file=path,
        )
    return numbers


def _declared_columns(files: str | Path | Sequence[str | Path]) -> frozenset[str]:
    """The columns of scores that the manifests of the given folders declare."""
    columns: set[str] = set()
    for given in [files] if isinstance(files, str | Path) else files:
        manifest = user_path(given) / MANIFEST
        if manifest.is_file():
            value, _ = read_json(manifest)
            parts = value.get("parts") if isinstance(value, dict) else None
            for part in parts if isinstance(parts, list) else []:
                of_part = part.get("columns") if isinstance(part, dict) else None
                columns.update(of_part if isinstance(of_part, dict) else ())
    return frozenset(columns)


def like_a_number(value: Any) -> bool:
    """Whether a cell is a number, or is written like one ("50%", "1_000", "0,5")."""
    if isinstance(value, str):
        return _NUMERIC.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def number_or_nan(value: Any, path: Path, where: str, field: str) -> float:
    """A score; NaN where there is none."""
    if is_missing(value) or str(value).strip().lower() == "nan":
        return math.nan
    try:
        return read_number(value, path, where, field)
    except InputError:
        raise InputError(
            f"{value!r:.40} is not a score; write digits, e.g. 0.5",
            file=path,
            record=where,
            field=field,
        ) from None
