"""Columns of a user's table under the names that a loader uses: `dataset.fields={human: stars}`.

`rename_fields` is the one place in which every table's columns are found, its missing values become
`None`, and its image ids are checked.
"""

import logging
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.data.identity import ImageIdRegistry
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import one_line

log = logging.getLogger(__name__)

Row = tuple[str, dict[str, Any]]
Columns = str | tuple[str, ...]  # of a file that a field is read from
Fields = Mapping[str, str | list[str] | tuple[str, ...] | None]  # a loader's name → the file's

# what other people call a column, the preferred name first, as `_normal` writes it; a guess is made
# only where one of these is there, and is reported
COMMON: dict[str, tuple[str, ...]] = {
    "image_id": (
        *("imgid", "img_id", "imageid", "image", "cocoid", "filename", "file_name", "image_name"),
        *("image_path", "img", "img_name", "img_path", "image_file", "image_filename", "imagepath"),
        *("video_id", "doc_id", "seg_id", "item_id", "id"),
    ),
    "candidate": (
        *("mt", "caption", "hyp", "hypothesis", "prediction", "pred", "generated", "cand"),
        *("caption_str", "cand_str", "generated_caption", "candidate_caption", "output"),
        *("system_output", "decoded"),
    ),
    "caption": (
        *("text", "sentence", "raw", "candidate", "mt", "prediction", "comment", "caption_str"),
        *("pred", "hyp", "hypothesis", "cand", "generated", "generated_caption", "output"),
    ),
    "captions": ("sentences", "texts", "references", "refs", "reference_strs"),
    "references": (
        *("refs", "reference", "ref", "gts", "ground_truth", "captions", "reference_strs"),
        *("reference_captions", "gt", "gt_captions", "ref_captions"),
    ),
    "human": (
        *("rating", "human_score", "human_rating", "judgment", "judgement", "mos", "stars"),
        *("ratings", "human_scores", "score"),
    ),
    "true": (
        *("caption", "positive", "pos", "correct", "true_caption", "positive_caption"),
        "correct_caption",
    ),
    "false": (
        *("foil", "negative", "neg", "negative_caption", "incorrect", "hallucinated", "foiled"),
        *("false_caption", "foil_caption", "incorrect_caption"),
    ),
    "first": ("caption1", "caption_1", "caption_a", "first_caption", "response_a"),
    "second": ("caption2", "caption_2", "caption_b", "second_caption", "response_b"),
    "winner": ("vote", "preference", "preferred", "choice", "better"),
    "first_system": ("source1", "system1", "system_1", "system_a", "model1", "model_1", "model_a"),
    "second_system": ("source2", "system2", "system_2", "system_b", "model2", "model_2", "model_b"),
    "image_path": ("file_name", "filename", "image_file", "image", "img", "img_path"),
    "system": ("model", "sys", "captioner", "model_id", "system_id", "model_name"),
    "kind": ("category", "subset", "type", "foil_type"),
    "category": ("kind", "cluster"),
    "subset": ("kind",),
    "words": ("grounding", "word_marks", "word_labels"),
    "rater": ("annotator", "worker", "worker_id", "annotator_id"),
}
# lists that may be columns with a number each: ref_1, ref_2
_NUMBERED = {
    "references": re.compile(r"(?:gt|refs?|references?)_?[0-9]+"),
    "captions": re.compile(r"(?:gt|refs?|references?|captions?)_?[0-9]+"),
}
_TEXTS = ("system", "image_path", "kind", "category", "subset")  # optional fields of a text
_CAPTIONS = ("candidate", "caption", "true", "false", "first", "second")
_SENTENCE_ID = re.compile(r"(?:\S+:)?sentid:[0-9]+")  # CxC: COCO_val2014:sentid:648388
_ABSENT = object()
_MOST_LISTED = 30  # columns in a message


def _normal(column: object) -> str:
    return re.sub(r"[\W_]+", "_", str(column).lower()).strip("_")


def common_columns(field: str, columns: Iterable[Any], taken: Container[str] = ()) -> list[str]:
    """The columns that may be a field, by its common names, the preferred one first.

    >>> common_columns("image_id", ["caption", "filename", "Image ID"])
    ['Image ID', 'filename']
    """
    normal = {column: _normal(column) for column in columns if column not in taken}
    return [c for name in (field, *COMMON.get(field, ())) for c in normal if normal[c] == name]


def is_common(column: object) -> bool:
    """Whether a column is called like a field of some loader.

    >>> is_common("Image-ID"), is_common("7.jpg")
    (True, False)
    """
    return any(_normal(column) in (field, *names) for field, names in COMMON.items())


def numbered_columns(field: str, columns: Iterable[str]) -> list[str]:
    """Columns that differ in a number at their end and hold a list's members, at least two.

    >>> numbered_columns("captions", ["image", "caption_1", "caption_2"])
    ['caption_1', 'caption_2']
    """
    pattern = _NUMBERED.get(field)
    numbered = [c for c in columns if pattern and pattern.fullmatch(_normal(c))]
    return numbered if len(numbered) > 1 else []


def check_fields(
    given: Fields | None, known: Sequence[str], option: str = "dataset.fields"
) -> dict[str, Columns]:
    """The names that the user gives; ConfigError for one of a column that the loader does not have.

    >>> check_fields({"candidate": "mt", True: ["a", "b"]}, ["image_id", "candidate", "true"])
    {'candidate': 'mt', 'true': ('a', 'b')}
    """
    names: dict[str, Columns] = {}
    for key, value in (given or {}).items():
        if value is None:
            continue
        # Hydra reads the keys true and false as truth values
        name = str(key).lower() if isinstance(key, bool) else str(key)
        names[name] = tuple(value) if isinstance(value, list | tuple) else str(value)
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"{option}: '{unknown[0]}' is not one of {', '.join(known)}")
    return names


def fields_in(given: Fields | None, record: Mapping[str, Any]) -> dict[str, Columns]:
    """The names that the user gives of columns that a record has."""
    names = check_fields(given, [str(key) for key in given or {}] + ["true", "false"])
    return {name: c for name, c in names.items() if all(has_column(record, x) for x in _each(c))}


def has_column(record: Mapping[str, Any], column: str) -> bool:
    """Whether a record has a column, or a value at a dotted path."""
    return value_at(record, column) is not _ABSENT


def _each(columns: Columns) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else columns


def value_at(value: Any, path: str) -> Any:
    """The value at a dotted path through objects and lists; `_ABSENT` where there is none.

    A step goes into each object or list of a list, or to a place of a list.

    >>> value_at({"people": [{"marks": {"fl": 3}}, {"marks": {"fl": 4}}]}, "people.marks.fl")
    [3, 4]
    >>> value_at({"scores": [[1, 5], [2, 6]]}, "scores.1"), value_at({"hyp": ["a dog"]}, "hyp.0")
    ([5, 6], 'a dog')
    """
    head, _, rest = path.partition(".")
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
        return value_at(value[head], rest) if head in value and rest else _ABSENT
    if not isinstance(value, list):
        return _ABSENT
    if value and all(isinstance(one, list | dict) for one in value):
        inside = [value_at(one, path) for one in value]
        if all(one is not _ABSENT for one in inside):
            return inside
    place = int(head) if re.fullmatch("[0-9]{1,9}", head) else len(value)
    if place >= len(value):
        return _ABSENT
    return value_at(value[place], rest) if rest else value[place]


def flattened(record: Mapping[str, Any]) -> dict[str, Any]:
    """Column or dotted path → value, of two levels of objects at most.

    >>> flattened({"a": 1, "scores": {"fluency": 3}, "people": [{"x": 1}]})
    {'a': 1, 'scores.fluency': 3, 'people.x': [1]}
    """
    flat: dict[str, Any] = {}
    for column, value in record.items():
        one = value[0] if isinstance(value, list) and value else value
        if not isinstance(one, Mapping) or not one:
            flat[str(column)] = value
            continue
        inner = [
            k if not isinstance(v, Mapping) else f"{k}.{key}"
            for k, v in one.items()
            for key in (v if isinstance(v, Mapping) else [k])
        ]
        flat |= {f"{column}.{path}": value_at(record, f"{column}.{path}") for path in inner}
    return flat


def rename_fields(
    rows: Iterable[Row],
    given: Fields | None,
    required: Sequence[str],
    path: Path,
    notes: list[str],
    optional: Sequence[str] = (),
    option: str = "dataset.fields",
    list_unused: bool = True,
    hint: Callable[[Mapping[str, Any]], str] | None = None,
    check_ids: bool = True,
) -> Iterator[Row]:
    """Rows with the loader's names next to those of the file.

    A number that is NaN becomes `None`, a value that is missing. With `check_ids`, two written
    forms of one image id are refused.

    Parameters
    ----------
    given
        Loader's name → the file's, or a list of columns. `scores.fluency` is `fluency` within the
        object `scores`, or of each object in the list `scores`; `scores.0` is the first of a list,
        or of each list; two and more levels work alike.
    required, optional
        The loader's names. Those that the file does not have and the user does not give are looked
        for among common names; what is chosen is logged and appended to `notes`.
    list_unused
        Whether the columns that are not read are named in `notes`.
    hint
        Of a record's columns (`flattened`): what a message about a missing one adds.

    Raises InputError for a record without a required field.
    """
    fields = (*required, *optional)
    names = check_fields(given, fields, option)
    registry = ImageIdRegistry(path, "image_id")
    guesses: dict[str, Columns] | None = None
    for where, record in rows:
        if guesses is None:
            there_are = (
                f"; the columns are: {_listed(record)}{hint(flattened(record)) if hint else ''}"
            )
            _check_given(names, record, path, where, option, there_are)
            guesses = _guessed(names, record, fields, required, path, where, option)
            missing = [f for f in required if f not in guesses and f not in names]
            if missing := [f for f in missing if not has_column(record, f)]:
                quoted = ", ".join(f"'{name}'" for name in missing)
                problem = f"is missing{there_are}" + (f"; {option} maps names" if option else "")
                raise InputError(problem, file=path, record=where, field=quoted.strip("'"))
            names |= guesses
            notes += _column_notes(guesses, names, record, fields, path, option, list_unused)
        renamed = _renamed(record, names, fields, required, guesses, path, where)
        if (
            check_ids
            and "image_id" in fields
            and (image := renamed.get("image_id")) not in (None, "")
        ):
            registry.add(image, str(image), where)
        yield where, renamed


def _renamed(
    record: Mapping[str, Any],
    names: Mapping[str, Columns],
    fields: Sequence[str],
    required: Sequence[str],
    guesses: Container[str],
    path: Path,
    where: str,
) -> dict[str, Any]:
    """A record with the loader's names."""
    renamed = dict(record)
    for name in fields:
        theirs = names.get(name, name)
        if name in guesses and name in record:
            problem = f"is there, but the first record has '{theirs}' in its place"
            raise InputError(problem, file=path, record=where, field=name)
        if isinstance(theirs, tuple):
            cells = [value_at(record, column) for column in theirs]
            renamed[name] = [c for c in cells if not (c is _ABSENT or is_missing(c))]
        elif theirs in record or has_column(record, theirs):
            renamed[name] = value_at(record, theirs)
        elif name in required:
            raise InputError("is missing", file=path, record=where, field=theirs)
        value = renamed.get(name)
        if isinstance(value, float) and value != value:
            renamed[name] = None
        elif _is_sentence_id(name, value):
            problem = f"'{value}' is the id of a sentence, not a caption; put the sentences there"
            raise InputError(problem, file=path, record=where, field=str(theirs))
    return renamed


def _is_sentence_id(field: str, value: Any) -> bool:
    """Whether a field of a caption has the id of a sentence in its place."""
    return field in _CAPTIONS and isinstance(value, str) and bool(_SENTENCE_ID.fullmatch(value))


def is_missing(value: Any) -> bool:
    """Whether there is no value: null, an empty cell, NaN."""
    return value is None or value == "" or (isinstance(value, float) and value != value)


def _listed(record: Mapping[str, Any]) -> str:
    """The columns of a record, those in objects by their dotted paths."""
    columns = list(flattened(record))
    more = f", and {len(columns) - _MOST_LISTED:,} more" if len(columns) > _MOST_LISTED else ""
    return ", ".join(repr(one_line(c, 60)) for c in columns[:_MOST_LISTED]) + more


def _check_given(
    names: Mapping[str, Columns],
    record: Mapping[str, Any],
    path: Path,
    where: str,
    option: str,
    there_are: str,
) -> None:
    for name, theirs in names.items():
        for column in _each(theirs):
            if not has_column(record, column):
                problem = f"is missing ({option}.{name}){there_are}"
                raise InputError(problem, file=path, record=where, field=column)


def _guessed(
    given: Mapping[str, Columns],
    record: Mapping[str, Any],
    fields: Sequence[str],
    required: Sequence[str],
    path: Path,
    where: str,
    option: str,
) -> dict[str, Columns]:
    """Field → the column, or the numbered columns, that it is taken from by common names."""
    guesses: dict[str, Columns] = {}
    for name in fields:
        if name in record or name in given:
            continue
        others = required if name in required else fields  # an image's path may be its id, too
        chosen = (column for each in (*given.values(), *guesses.values()) for column in _each(each))
        taken = {*chosen, *others}
        columns = common_columns(name, record, taken - {name})
        columns = [column for column in columns if not _is_sentence_id(name, record[column])]
        if name in _TEXTS and name not in required:
            columns = [column for column in columns if isinstance(record[column], str)]
        if len(columns) > 1 and _normal(columns[0]) == _normal(columns[1]):
            remedy = f"give {option}.{name}" if option else f"rename the one that is {name}"
            problem = f"'{columns[0]}' and '{columns[1]}' may both be {name}; {remedy}"
            raise InputError(problem, file=path, record=where)
        if columns:
            guesses[name] = columns[0]
        elif numbered := numbered_columns(name, record):
            guesses[name] = tuple(numbered)
    return guesses


def _column_notes(
    guesses: Mapping[str, Columns],
    names: Mapping[str, Columns],
    record: Mapping[str, Any],
    fields: Sequence[str],
    path: Path,
    option: str,
    list_unused: bool,
) -> list[str]:
    """What was recognised by its name and what is not read; logged where there is a guess."""
    notes = []
    if guesses:
        listed = ", ".join(f"{k} is {', '.join(map(repr, _each(c)))}" for k, c in guesses.items())
        end = f" ({option})" if option else ""
        notes = [f"Columns of {path.name} by their common names: {listed}{end}."]
    used = {*fields}
    for theirs in (*names.values(), *(field for field in fields if "." in field)):
        used |= {part for c in _each(theirs) for part in (c, c.partition(".")[0])}
    notes += unused_columns(path, record, used) if list_unused else []
    for note in notes if guesses else ():
        log.warning("%s", note)
    return notes


def unused_columns(path: Path, columns: Iterable[object], used: Container[object]) -> list[str]:
    """A note that names the columns of a file that are not read; none where all are."""
    unused = ", ".join(repr(column) for column in columns if column not in used)
    return [f"Columns of {path.name} that are not used: {unused}."] if unused else []
