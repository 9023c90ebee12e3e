"""Scores that were computed elsewhere: tables of image, caption and scores."""

import hashlib
import logging
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.data.fields import common_columns, unused_columns
from metaeval.data.identity import image_key
from metaeval.data.own.tables import Table, TableRow, read_table, require_columns, table_files
from metaeval.data.tidy import Tidy, letters_and_digits
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_json, user_path
from metaeval.readers.stated_numbers import leading_number, without_quotes
from metaeval.readers.tables import check_name, read_number
from metaeval.runs.files import MANIFEST
from metaeval.runs.records import Version

log = logging.getLogger(__name__)

FIELDS = ("image_id", "caption", "references", "system", "metric", "score")
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
        has none.
    sha256
        Of all that was read.
    name
        Of the first file, for messages.
    """

    columns: tuple[str, ...]
    scores: Mapping[Item, tuple[float, ...]]
    sha256: str
    name: str = ""

    def ids_of(self, image_ids: Sequence[str]) -> list[str | None]:
        """The id that the file has for each image of a dataset; `None` where it has none.

        An equal id or, where there is none, the only one that is equal without folder, suffix and
        leading zeros (`image_key`), on both sides.
        """
        there = dict.fromkeys(image for image, _, _ in self.scores)
        by_key = _by_key(there)
        own = _by_key(dict.fromkeys(image_ids))

        def of(image_id: str) -> str | None:
            key = image_key(image_id)
            same = by_key.get(key, [])
            return same[0] if len(same) == len(own[key]) == 1 else None

        return [i if i in there else of(i) for i in image_ids]

    def of(self, image: str, caption: str, references: tuple[str, ...]) -> tuple[float, ...] | None:
        """The scores of a caption: those for just these references, or for any."""
        known = self.scores.get((image, caption, references))
        return known if known is not None else self.scores.get((image, caption, None))


def read_scores(
    files: str | Path | Sequence[str | Path],
    columns: Sequence[str] | None = None,
    fields: Mapping[str, str] | None = None,
    captions: str | Path | None = None,
    answers: tuple[float, float] | None = None,
) -> ScoreFiles:
    """Read tables of scores.

    A record has `image_id`, `caption`, perhaps `references`, and its scores: a column each, or one
    score a record in `score`, called as `metric` says. Captions are tidied as everywhere.

    Parameters
    ----------
    files
        A file, several, or a folder of them.
    columns
        Which scores; by default the columns called as a published metric (`CIDEr`, `CLIPScore
        (ViT-B/32)`, …) or as the manifest of the folder says. Other columns of numbers must be
        named here: a row number or a count of tokens is not a score.
    fields
        What the tables call `image_id`, `caption`, `references`, `system`, `metric` and `score`,
        where they call it otherwise.
    captions
        A table that says which caption each `system` has of each `image_id`, where the scores do
        not repeat the caption; one without `system` is of the only one.
    answers
        The scale where the cells are a model's answers, each of which begins with its score
        (`leading_number`); another answer scores NaN.

    Raises InputError, naming file and record, for what is missing or no number, and for two
    different scores of one caption; ConfigError for options that make no sense.
    """
    tables = [read_table(path) for path in table_files(files, "metric.scores.file")]
    named = _field_names(fields, tables[0])
    digest = hashlib.sha256("".join(table.sha256 for table in tables).encode())
    by_system: dict[tuple[str, str], str] | None = None
    if captions is not None:
        table = read_table(user_path(captions))
        digest.update(table.sha256.encode())
        by_system = _captions_by_system(table, named)
    reader = _Reader(named, by_system, columns, answers)
    declared = _declared_columns(files)
    wide = [t for t in tables if not reader.is_long(t)]
    for table in tables:
        reader.require_columns(table)
    if wide and columns is None:
        reader.wide = _score_columns(wide, named, declared)
    for table in tables:
        reader.read(table)
    names = tuple(columns) if columns is not None else tuple(reader.names)
    if missing := [name for name in names if name not in reader.names]:
        there = dict.fromkeys(name for t in tables for row in t.rows for name in row.fields)
        raise ConfigError(
            f"metric.scores.columns: '{missing[0]}' is not in {tables[0].path}; it has: "
            f"{', '.join(reader.names or there)}"
        )
    if not names:
        raise InputError("has no column of scores", file=tables[0].path)
    scores = {
        item: tuple(of_item.get(name, (math.nan, ""))[0] for name in names)
        for item, of_item in reader.scores.items()
    }
    for table in tables:
        used = {*_NOT_SCORES, *named.values(), *names}
        for note in unused_columns(table.path, table.rows[0].fields, used):
            log.warning("%s", note)
    return ScoreFiles(names, scores, digest.hexdigest(), tables[0].path.name)


def _by_key(image_ids: Iterable[str]) -> dict[str, list[str]]:
    by_key: dict[str, list[str]] = {}
    for image_id in image_ids:
        by_key.setdefault(image_key(image_id), []).append(image_id)
    return by_key


class _Reader:
    """Takes in tables; a score that occurs twice must be the same."""

    def __init__(
        self,
        named: Mapping[str, str],
        by_system: Mapping[tuple[str, str], str] | None,
        columns: Sequence[str] | None,
        answers: tuple[float, float] | None,
    ) -> None:
        self.named, self.by_system, self.columns = named, by_system, columns
        self.answers = answers
        self.wide: Sequence[str] = columns or ()  # columns of scores of tables with a column each
        self.names: dict[str, None] = {}
        self.scores: dict[Item, dict[str, tuple[float, str]]] = {}
        self._tidy = Tidy()

    def is_long(self, table: Table) -> bool:
        """Whether a table has one score a record, whose metric a column names."""
        first = table.rows[0].fields
        return self.named["metric"] in first and self.named["score"] in first

    def require_columns(self, table: Table) -> None:
        """InputError where a table does not say which caption a score is of."""
        needed = [self.named["image_id"]]
        if self.by_system is None or any(system for _, system in self.by_system):
            needed.append(self.named["caption" if self.by_system is None else "system"])
        require_columns(table, needed, "metric.scores.fields")

    def read(self, table: Table) -> None:
        named = self.named
        long = self.is_long(table)
        there = {name for row in table.rows for name in row.fields}
        names = [] if long else [name for name in self.wide if name in there]
        for row in table.rows:
            item = self._item(row, table.path)
            if long:
                metric = check_name(
                    row.cell(named["metric"], table.path),
                    file=table.path,
                    record=row.where,
                    field=named["metric"],
                )
                self._add(item, metric, named["score"], row, table.path)
                continue
            for name in names:
                self._add(item, name, name, row, table.path)

    def _item(self, row: TableRow, path: Path) -> Item:
        image = str(row.image_id(path, self.named["image_id"]))
        if self.by_system is None:
            field = self.named["caption"]
            text = row.cell(field, path)
            caption = self._tidy.read(text, file=path, record=row.where, field=field)
        else:
            system = str(row.fields.get(self.named["system"], ""))
            if (image, system) not in self.by_system:
                raise InputError(
                    f"of '{system}' no caption of the image '{image}'",
                    file=path,
                    record=row.where,
                    field=self.named["system"],
                )
            caption = self.by_system[image, system]
        field = self.named["references"]
        references = row.fields.get(field)
        if references is None or references == "":
            return image, caption, None
        texts = self._tidy.read_several(references, file=path, record=row.where, field=field)
        return image, caption, texts

    def _add(self, item: Item, name: str, field: str, row: TableRow, path: Path) -> None:
        if self.columns is not None and name not in self.columns:
            return
        self.names.setdefault(name)
        cell = row.fields.get(field)
        if self.answers is not None:
            cell = leading_number(without_quotes(str(cell), [item[1]]), *self.answers)
        value = number_or_nan(cell, path, row.where, field)
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
                file=path,
                record=row.where,
                field=field,
            )


def _field_names(fields: Mapping[str, str] | None, table: Table) -> dict[str, str]:
    """Field → column: as the user says, or a common name in the table, which is logged."""
    given = dict(fields or {})
    if unknown := [name for name in given if name not in FIELDS]:
        raise ConfigError(f"metric.scores.fields: '{unknown[0]}' is not one of {', '.join(FIELDS)}")
    record = table.rows[0].fields
    for name in ("image_id", "caption"):
        columns = common_columns(name, record, {*given.values(), *FIELDS} - {name})
        if name not in record and name not in given and columns:
            given[name] = columns[0]
            note = "%s is '%s' in %s, by its common name (metric.scores.fields)."
            log.warning(note, name, columns[0], table.path.name)
    return {**{name: name for name in FIELDS}, **given}


def _captions_by_system(table: Table, named: Mapping[str, str]) -> dict[tuple[str, str], str]:
    image, system, caption = named["image_id"], named["system"], named["caption"]
    require_columns(table, [image, caption], "metric.scores.fields")
    tidy = Tidy()
    captions: dict[tuple[str, str], str] = {}
    for row in table.rows:
        cell = row.cell(caption, table.path)
        text = tidy.read(cell, file=table.path, record=row.where, field=caption)
        key = str(row.image_id(table.path, image)), str(row.fields.get(system, ""))
        if captions.setdefault(key, text) != text:
            raise InputError(
                f"'{key[1]}' has another caption of the image '{key[0]}'",
                file=table.path,
                record=row.where,
                field=caption,
            )
    return captions


def _score_columns(
    tables: Sequence[Table], named: Mapping[str, str], declared: Collection[str]
) -> list[str]:
    """The columns of scores of tables with a column for each: those of all records, not the first.

    InputError for a column of numbers that is not known to be one of scores.
    """
    known = _NOT_SCORES | set(named.values())
    fields = dict.fromkeys(name for t in tables for row in t.rows for name in row.fields)
    numbers: dict[str, TableRow | None] = {}
    for name in fields:
        if name in known or (declared and name not in declared):
            continue
        cells = [row for t in tables for row in t.rows if like_a_number(row.fields.get(name))]
        if cells:
            numbers[name] = cells[0]
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
    return list(numbers)


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
    if value is None or value == "" or value != value:
        return math.nan
    if isinstance(value, str) and value.strip().lower() == "nan":
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
