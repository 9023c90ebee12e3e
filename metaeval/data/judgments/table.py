"""Any judged captions: a table with one record per caption, as JSON Lines, CSV or Parquet.

Columns: `image_id`, `candidate`, `references` (a list of strings; in a CSV cell a JSON list),
one or more columns of human scores (a number, or a list of numbers from several people; empty = not
judged), and optionally `system` and `image_path`.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from metaeval.data.annotated_images import sources_of_records
from metaeval.data.dataset import ImageId
from metaeval.data.fields import Fields, common_columns, fields_in, is_missing, rename_fields
from metaeval.data.identity import ImageIdRegistry, image_key
from metaeval.data.judgments.judged import Choices, JudgedCaption, Judgments, arrange, protocol_for
from metaeval.data.own.tables import (
    FORMATS,
    TEXTS,
    Reading,
    Table,
    read_json_or_lines,
    read_table,
    take_reading,
    unfolded,
)
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import user_path
from metaeval.readers.tables import read_list, read_number, reads_as_number
from metaeval.results.notes import fill_sentences

log = logging.getLogger(__name__)

_RATER = re.compile(
    r"(?:rater|rating|annotator|worker|judge|human|score|person)[\W_]*[0-9]+", re.IGNORECASE
)
_NUMBERING = re.compile(r"[\W_]*[0-9]+$|[\W_]+[A-Za-z]$")
_LABELS = {"true": 1, "false": 0}  # of binary judgements
_OPTIONAL = ("references", "system", "image_path", "rater", "subset", "words")


class TableOptions(Choices, Reading, total=False):
    """Options of tables; `Reading` and `Choices` have the others.

    Attributes
    ----------
    fields
        The file's names of `image_id`, `candidate`, `references`, `human`, `system`,
        `image_path`, `rater`, `subset` and `words`, if they differ; `scores.fluency` is `fluency`
        within the object `scores`. Common names are recognised, which is logged. With `rater`
        there is a record per rating: those of one caption of one image (and system, and subset)
        are combined; several of one rater count as one, with their mean. The parts that `subset`
        names have separate numbers. `words` lists [word, whether it is wrong] or whether each is,
        for the words of the candidate at white space; of several raters, a word is wrong where at
        least half marked it. Without the column of ratings, a caption's rating is whether no word
        is wrong.
    references
        A file with the references of the images (COCO's captions file, or one of `dataset=own`),
        for records without references.
    raters
        Columns with the ratings of one person each: `[rater1, rater2, rater3]`. They are ratings of
        one dimension, "human". Without a column of ratings, columns of such names are
        recognised, which is logged.
    language
        The language of the captions ("de"); by default it is detected.
    higher_is_better
        False where a higher rating means a worse caption: ratings are then counted as negative.
    """

    fields: Fields | None
    references: str | Path | None
    raters: tuple[str, ...] | list[str] | None
    higher_is_better: bool
    language: str | None


@checked
def load_table(
    file: str | Path | None = None,
    human: str | tuple[str, ...] | list[str] = "human",
    name: str = "table",
    instances: str | Path | None = None,
    images: str | Path | None = None,
    image_source: str | None = None,
    data: str | Path | None = None,
    limit: Limit = None,
    protocol: Literal["plain"] | None = None,
    **options: Unpack[TableOptions],
) -> Judgments:
    """Judged captions from your own table.

    `conf/dataset/table.yaml` describes the options. The protocol "plain" keeps everything, averages
    several ratings of a caption, counts images as CIDEr's documents and is quoted by τ-b. Raises
    InputError for a file that is not there or not as it should be.
    """
    if file is None:
        raise ConfigError("dataset=table needs a file: dataset.file=FILE.jsonl (or .csv, .parquet)")
    path = user_path(file)
    fields, raters = options.pop("fields", None), options.pop("raters", None)
    table = read_table(path, take_reading(options), "dataset")
    table = unfolded(table, ("image_id", "candidate"), fields)
    higher_is_better = options.pop("higher_is_better", True)
    language, more_references = options.pop("language", None), options.pop("references", None)
    chosen = protocol_for(name, protocol, **options)  # type: ignore[misc]  # what Choices has
    dimensions = [human] if isinstance(human, str) else list(human)
    if not dimensions:
        raise ConfigError("dataset.human names no column")
    notes = [*table.notes, *([] if raters else _numbered(dimensions))]
    if not raters and dimensions == ["human"] and not (fields or {}).get("human"):
        raters = _wide_raters(table, notes)
    reader = _RecordReader(
        table,
        list(raters) if raters else dimensions,
        "human" if raters else None,
        read_references(more_references, notes, fields),
        higher_is_better,
    )
    judged, at = reader.read(fields, notes), {"instances": instances, "data": data}
    sources, note = sources_of_records(
        (j.image for j in judged),
        {j.image: j.file for j in judged if j.file},
        declared=image_source, collection=name, **at,
    )  # fmt: skip
    arranged = arrange(
        name,
        name,
        [replace(j, source=sources[j.image]) for j in judged],
        chosen,
        sources={path.name: table.sha256},
        notes=[*reader.tidy.notes(), *notes, *note],
        limit=limit,
        read=reader.n_read,
        images=images,
        **at,
    )
    documents = replace(arranged.dataset, language=language)
    return replace(arranged, dataset=documents, higher_is_better=higher_is_better)


class _RecordReader:
    """Reads the records of a table as judged captions.

    `columns` are those of ratings; with `dimension` they are of one dimension, a rater each.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        dimension: str | None,
        references: Mapping[str, tuple[str, ...]],
        higher_is_better: bool,
    ) -> None:
        self.table, self.path = table, table.path
        self.columns, self.dimension = columns, dimension
        self.references, self.higher_is_better = references, higher_is_better
        self.tidy, self.n_read = Tidy(), 0
        self.has_raters = False  # whether there is a record a rating
        self._labels: dict[str, bool] = {}  # whether a column holds true and false

    def read(self, fields: Fields | None, notes: list[str]) -> list[JudgedCaption]:
        """The judged captions of all records with a rating, those of several raters combined."""
        first = self.table.rows[0].fields
        by_marks = "human" in self.columns and (  # rated by whether no word is wrong
            "words" in fields_in(fields, first) or bool(common_columns("words", first))
        )
        ratings = tuple(self.columns)
        required = ("image_id", "candidate", *(() if by_marks else ratings))
        optional = (*_OPTIONAL, *(ratings if by_marks else ()))
        judged = []
        renamed = rename_fields(
            self.table.rows, fields, required, self.path, notes, optional, hint=_hint
        )
        for where, record in renamed:
            row = Row(record, self.path, where, self.tidy)
            if by_marks and "human" not in record:
                wrong = _marks(row)
                record["human"] = any(wrong) != self.higher_is_better if wrong else None
            self.has_raters = self.has_raters or (not self.n_read and "rater" in record)
            self.n_read += 1
            if (caption := self._caption(row)) is not None:
                judged.append(caption)
        if unjudged := self.n_read - len(judged):
            notes.append(f"{unjudged:,} of {self.n_read:,} records without a judgement left out.")
        if not self.has_raters:
            notes += _repeated(judged)
            return judged
        captions = _by_caption(judged, notes)
        self.n_read -= len(judged) - len(captions)
        return captions

    def _caption(self, row: Row) -> JudgedCaption | None:
        """The caption of a record; `None` where it has no rating."""
        image = row.id()
        if not isinstance(row.value("candidate"), str):
            raise row.error("is not a string", "candidate")
        ratings = {c: values for c in self.columns if (values := self._ratings(row, c))}
        if not ratings:
            return None
        raters: tuple[str, ...] = ()
        if self.has_raters and not is_missing(row.fields.get("rater")):
            raters = (str(row.id("rater")),)
        if self.dimension is not None:
            if all(len(values) == 1 for values in ratings.values()):
                raters = tuple(ratings)
            ratings = {self.dimension: tuple(value for v in ratings.values() for value in v)}
        return JudgedCaption(
            str(image),
            row.caption("candidate"),
            row.captions("references") or self.references.get(image_key(image), ()),
            ratings,
            row.name("system"),
            row.text("image_path"),
            subset=row.name("subset"),
            raters=raters,
            wrong=_marks(row),
        )

    def _ratings(self, row: Row, column: str) -> tuple[float, ...]:
        """The ratings in a cell, more is better; those that are missing are left out."""
        listed = read_list(row.fields.get(column), self.path, row.where, column)
        ratings = []
        for one in listed if isinstance(listed, list) else [listed]:
            if is_missing(one) or (isinstance(one, str) and one.strip().lower() == "nan"):
                continue
            label = _LABELS.get(str(one).lower()) if isinstance(one, bool | str) else None
            if self._labels.setdefault(column, label is not None) != (label is not None):
                earlier = "numbers" if label is not None else "true or false"
                raise row.error(f"is {one!r}, earlier ratings are {earlier}", column)
            number = read_number(one if label is None else label, self.path, row.where, column)
            ratings.append(number if self.higher_is_better else 0.0 - number)
        return tuple(ratings)


def _hint(columns: Mapping[str, Any]) -> str:
    """What names columns, and the columns of numbers that may be ratings."""
    hint = "dataset.fields says what they are called, dataset.human names ratings"
    known = {c for f in ("image_id", "candidate", "system") for c in common_columns(f, columns)}
    free = [c for c, value in columns.items() if c not in known and _holds_numbers(value)]
    if free:
        hint += f"; {', '.join(free)} hold numbers: dataset.fields.human={free[0]}"
    if len(free) > 1:
        listed = ",".join(free)
        hint += (
            f", dataset.raters=[{listed}] where each is a person, "
            f"dataset.human=[{listed}] where each is a dimension"
        )
    return f" ({hint})"


def _holds_numbers(value: Any) -> bool:
    """Whether a value is a number, or a list of some."""
    return all(map(reads_as_number, value if isinstance(value, list) and value else [value]))


def _wide_raters(table: Table, notes: list[str]) -> list[str] | None:
    """The columns `rater1`, `rater2`, … of a table without a column of ratings; noted and logged.

    They are ratings of one dimension by several people.
    """
    record = table.rows[0].fields
    columns = [column for column in record if _RATER.fullmatch(column)]
    if len(columns) < 2 or common_columns("human", record):
        return None
    listed = ",".join(columns)
    notes.append(
        f"Columns {', '.join(columns)} of {table.path.name} are read as people who rated one "
        f"dimension (dataset.raters=[{listed}]); if they are dimensions: dataset.human=[{listed}]."
    )
    log.warning("%s", notes[-1])
    return columns


def _numbered(columns: Sequence[str]) -> list[str]:
    """A note where the dimensions differ in a number or letter at their end: they may be raters.

    >>> _numbered(["fluency", "accuracy"])
    []
    """
    stems = {_NUMBERING.sub("", column) for column in columns}
    if len(columns) < 2 or len(stems) > 1:
        return []
    note = (
        f"{', '.join(columns)} are {len(columns)} dimensions; if they are people who rated one "
        f"dimension: dataset.raters=[{','.join(columns)}]."
    )
    log.warning("%s", note)
    return [note]


def read_references(
    file: str | Path | None, notes: list[str], fields: Fields | None = None
) -> dict[str, tuple[str, ...]]:
    """The captions of each image in a file of references, by `image_key`.

    `fields` are the names of another file's columns: those of them that this one has are used for
    `image_id`, `caption`, `captions` and `references`.
    """
    if file is None:
        return {}
    from metaeval.data.coco.captions import read_captions
    from metaeval.data.own.captions import load_own  # which reads tables as this module does

    path = user_path(file)
    is_json = path.suffix.lower() == ".json"
    by_id: Mapping[ImageId, tuple[str, ...]]
    if is_json and _is_coco(path):
        by_id = read_captions(path).captions
    else:
        data = load_own(path, split="all" if is_json else None, fields=_own_fields(path, fields))
        notes += data.notes
        by_id = {
            i: (first, *others)
            for i, first, others in zip(data.image_ids, data.human, data.references, strict=True)
        }
    registry = ImageIdRegistry(path)
    for image in by_id:
        registry.add(image, str(image), f"image {image!r}")
    notes.append(f"References of {len(by_id):,} images from {path.name}.")
    return {image_key(i): tuple(texts) for i, texts in by_id.items()}


def _own_fields(path: Path, fields: Fields | None) -> Fields | None:
    """The names of the columns of a file of references, as far as it has them."""
    if not fields or path.suffix.lower() not in (*FORMATS, *TEXTS):
        return None
    try:
        known = fields_in(fields, read_table(path).rows[0].fields)
    except InputError:  # lines of tokens, or Karpathy's file
        return None
    names: dict[str, str | list[str] | tuple[str, ...] | None] = {}
    names |= {key: known[key] for key in ("image_id", "caption", "captions") if key in known}
    if "references" in known:
        names = {"captions": known["references"], **names}
    return names


def _is_coco(path: Path) -> bool:
    value, _ = read_json_or_lines(path, None, None, [])
    return isinstance(value, dict) and {"annotations", "images"} <= value.keys()


OF_RATERS = (
    "{judged:,} ratings are of {combined:,} captions (dataset.fields.rater).",
    "{again:,} records rate a caption again by the same rater: averaged.",
    "References of {several:,} captions differ between records: all are used.",
    "Raters mark different words of {divided:,} captions: a word is wrong where at least half of "
    "them marked it.",
)


def _by_caption(judged: Sequence[JudgedCaption], notes: list[str]) -> list[JudgedCaption]:
    """One entry per caption (of an image, system and subset), with all records that judge it."""
    records: dict[tuple[str | None, ...], dict[str, list[JudgedCaption]]] = {}
    for n, j in enumerate(judged):
        rater = j.raters[0] if j.raters else f"\n{n}"  # an unknown rater is one of its own
        of_caption = records.setdefault((j.image, j.candidate, j.system, j.subset), {})
        of_caption.setdefault(rater, []).append(j)
    combined = [_combined(list(of_caption.values())) for of_caption in records.values()]
    sentences = fill_sentences(
        OF_RATERS,
        judged=len(judged),
        combined=len(combined),
        again=len(judged) - sum(map(len, records.values())) or None,
        several=sum(len(_reference_sets(of.values())) > 1 for of in records.values()) or None,
        divided=sum(differ for _, differ in combined) or None,
    )
    for sentence in sentences:
        log.warning("%s", sentence)
        notes.append(sentence)
    return [caption for caption, _ in combined]


def _combined(by_rater: Sequence[Sequence[JudgedCaption]]) -> tuple[JudgedCaption, bool]:
    """The caption of the records of each rater, and whether their marks of words differ.

    The records of one rater count once, with their mean.
    """
    every = [j for records in by_rater for j in records]
    human = {}
    for dimension in dict.fromkeys(d for j in every for d in j.human):
        given = [[r for j in records for r in j.human.get(dimension, ())] for records in by_rater]
        human[dimension] = tuple(
            rating
            for records, ratings in zip(by_rater, given, strict=True)
            for rating in ([float(np.mean(ratings))] if len(records) > 1 and ratings else ratings)
        )
    marks = [[j.wrong for j in records if j.wrong] for records in by_rater]
    shares = np.mean([np.mean(of_rater, axis=0) for of_rater in marks if of_rater] or [[]], axis=0)
    sets = _reference_sets(by_rater)
    references = sets[0] if len(sets) == 1 else tuple(dict.fromkeys(r for s in sets for r in s))
    caption = replace(
        every[0],
        human=human,
        raters=(),
        references=references,
        wrong=tuple((shares >= 0.5).tolist()),
    )
    return caption, bool(((shares > 0) & (shares < 1)).any())


def _reference_sets(by_rater: Iterable[Sequence[JudgedCaption]]) -> list[tuple[str, ...]]:
    """The different references of the records that have some."""
    return list(dict.fromkeys(j.references for r in by_rater for j in r if j.references))


def _repeated(judged: Sequence[JudgedCaption]) -> list[str]:
    """A note where records repeat a caption of an image and nothing says that these are raters."""
    captions = {(j.image, j.candidate, j.system) for j in judged}
    if len(captions) == len(judged):
        return []
    note = (
        f"{len(judged) - len(captions):,} of {len(judged):,} records repeat a caption of the same "
        "image and count as captions of their own; if they are ratings by several people, name "
        "their column: dataset.fields.rater=COLUMN."
    )
    log.warning("%s", note)
    return [note]


def _marks(row: Row) -> tuple[bool, ...]:
    """Which words of a candidate are marked as wrong; empty without marks.

    Raises InputError where the marks are not of the candidate's words.
    """
    value = row.fields.get("words")
    if is_missing(value):
        return ()
    listed = read_list(value, row.path, row.where, "words")
    if not isinstance(listed, list):
        raise row.error("is not a list with an entry a word", "words")
    given, marks = [], []
    for entry in listed:
        named = isinstance(entry, list) and len(entry) == 2
        word, mark = entry if named else (None, entry)
        if not isinstance(mark, bool | int) or mark not in (0, 1) or named != isinstance(word, str):
            raise row.error(f"{entry!r} is not [word, true or false], nor true or false", "words")
        given.append(word)
        marks.append(bool(mark))
    words = replace(row, tidy=Tidy()).caption("candidate").split()  # counted once
    if len(marks) != len(words):
        raise row.error(f"has {len(marks)} entries, and the candidate {len(words)} words", "words")
    for word, expected in zip(given, words, strict=True):
        if word is not None and word != expected:
            raise row.error(f"{word!r} is marked where the candidate has {expected!r}", "words")
    return tuple(marks)
