"""Columns of a user's table under the names that a loader uses: `dataset.fields={human: stars}`."""

import logging
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from metaeval.data.dataset import ImageId
from metaeval.errors import ConfigError, InputError

log = logging.getLogger(__name__)

Row = tuple[str, dict[str, Any]]
Columns = str | tuple[str, ...]  # of a file that a field is read from

# what other people call a column, the preferred name first, as `_normal` writes it; a guess is made
# only where one of these is there, and is reported
COMMON: dict[str, tuple[str, ...]] = {
    "image_id": (
        *("imgid", "img_id", "imageid", "image", "cocoid", "filename", "file_name", "image_name"),
        *("image_path", "img", "img_name", "img_path", "image_file", "image_filename", "imagepath"),
        *("video_id", "doc_id"),
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
    "system": ("model", "sys", "captioner", "model_id"),
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
    given: Mapping[str, str | None] | None, known: Sequence[str], option: str = "dataset.fields"
) -> dict[str, str]:
    """The names that the user gives; ConfigError for one of a column that the loader does not have.

    >>> check_fields({"candidate": "mt"}, ["image_id", "candidate"])
    {'candidate': 'mt'}
    """
    names = {str(key): str(value) for key, value in (given or {}).items() if value is not None}
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"{option}: '{unknown[0]}' is not one of {', '.join(known)}")
    return names


def rename_fields(
    rows: Iterable[Row],
    given: Mapping[str, str | None] | None,
    required: Sequence[str],
    path: Path,
    notes: list[str],
    optional: Sequence[str] = (),
    option: str = "dataset.fields",
    list_unused: bool = True,
) -> Iterator[Row]:
    """Rows with the loader's names next to those of the file.

    Parameters
    ----------
    given
        Loader's name → the file's. `scores.fluency` is `fluency` within the object `scores`, or
        of each object in the list `scores`; `scores.0` is the first of a list, or of each list.
    required, optional
        The loader's names. Those that the file does not have and the user does not give are looked
        for among common names; what is chosen is logged and appended to `notes`.
    list_unused
        Whether the columns that are not read are named in `notes`.
    """
    fields = (*required, *optional)
    names: dict[str, Columns] = dict(check_fields(given, fields, option))
    dotted = [name for name in (*map(str, names.values()), *required) if "." in name]
    first = True
    for where, each in rows:
        record = {**each, **_nested(each, dotted)} if dotted else each
        if first:
            first = False
            _check_given(names, record, path, where, option)
            guesses = _guessed(names, record, fields, required, path, where, option)
            names |= guesses
            notes += _column_notes(guesses, names, each, fields, path, option, list_unused)
        renamed = dict(record)
        for name, theirs in names.items():
            if name in record and not (given or {}).get(name):
                raise InputError(
                    f"is there, but the first record has '{theirs}' in its place",
                    file=path,
                    record=where,
                    field=name,
                )
            if isinstance(theirs, tuple):
                renamed[name] = [record[c] for c in theirs if record.get(c) not in (None, "")]
            elif theirs in record:
                renamed[name] = record[theirs]
            elif name in required:
                raise InputError("is missing", file=path, record=where, field=theirs)
        yield where, renamed


def _nested(record: Mapping[str, Any], dotted: Iterable[str]) -> dict[str, Any]:
    """The values at dotted paths, where the record has no column of that name."""
    values = {}
    for path in dotted:
        column, _, key = path.partition(".")
        inside: Any = record.get(column)
        each = isinstance(inside, list) and all(isinstance(one, list | dict) for one in inside)
        found = [value for one in (inside if each else [inside]) for value in _members(one, key)]
        if path not in record and found and len(found) == (len(inside) if each else 1):
            values[path] = found if each else found[0]
    return values


def _members(value: Any, key: str) -> list[Any]:
    """What an object has under a key, or a list at a place, alone in a list; else an empty one."""
    if isinstance(value, dict):
        return [value[key]] if key in value else []
    is_place = isinstance(value, list) and key.isascii() and key.isdecimal()
    return value[int(key) : int(key) + 1] if is_place else []


def _check_given(
    names: Mapping[str, Columns], record: Mapping[str, Any], path: Path, where: str, option: str
) -> None:
    columns = ", ".join(f"'{column}'" for column in record)
    for name, theirs in names.items():
        if theirs not in record:
            raise InputError(
                f"is missing ({option}.{name}); the columns are: {columns}",
                file=path,
                record=where,
                field=str(theirs),
            )


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
        taken = {*map(str, (*given.values(), *guesses.values())), *others}
        columns = common_columns(name, record, taken - {name})
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
        written = {k: (c,) if isinstance(c, str) else c for k, c in guesses.items()}
        listed = ", ".join(f"{k} is {', '.join(map(repr, c))}" for k, c in written.items())
        end = f" ({option})" if option else ""
        notes = [f"Columns of {path.name} by their common names: {listed}{end}."]
    used = {*fields}
    for theirs in (*names.values(), *(field for field in fields if "." in field)):
        used |= {theirs, theirs.partition(".")[0]} if isinstance(theirs, str) else {*theirs}
    notes += unused_columns(path, record, used) if list_unused else []
    for note in notes if guesses else ():
        log.warning("%s", note)
    return notes


def unused_columns(path: Path, columns: Iterable[object], used: Container[object]) -> list[str]:
    """A note that names the columns of a file that are not read; none where all are."""
    unused = ", ".join(repr(column) for column in columns if column not in used)
    return [f"Columns of {path.name} that are not used: {unused}."] if unused else []


Record = dict[str, Any]


def records(value: Any, key: str, path: Path) -> list[Record]:
    """The list of records under `key` of the file's top-level object."""
    if isinstance(value, list):
        raise InputError(
            f"holds a list where an object with '{key}' is expected; is this a results file "
            "(captions of a system) instead of an annotation file?",
            file=path,
        )
    if not isinstance(value, dict):
        raise InputError(f"holds {kind(value)} where an object is expected", file=path)
    if key not in value:
        raise InputError("is missing", file=path, field=key)
    listed = value[key]
    if not isinstance(listed, list):
        raise InputError(f"is {kind(listed)}, not a list", file=path, field=key)
    for i, record in enumerate(listed):
        if not isinstance(record, dict):
            raise InputError(f"is {kind(record)}, not an object", file=path, record=f"{key}[{i}]")
    return listed


def require_fields(record: Record, fields: Iterable[str], path: Path, where: str) -> None:
    """Raise InputError for the first of the fields that is missing in the record."""
    for field in fields:
        if field not in record:
            raise InputError("is missing", file=path, record=where, field=field)


def unique_ids(listed: Sequence[Record], key: str, path: Path) -> list[ImageId]:
    """The "id" of every record: all whole numbers or all strings, no two the same.

    Numbers must fit 64 bits, strings must be printable and not empty: ids go into tables.
    """
    ids: list[ImageId] = []
    seen: dict[ImageId, int] = {}
    expected = type(listed[0].get("id")) if listed else None
    for i, record in enumerate(listed):
        where = f"{key}[{i}]"
        require_fields(record, ("id",), path, where)
        value: Any = record["id"]
        check_id(value, path, where, "id")
        if type(value) is not expected:
            raise InputError(
                f"is {kind(value)} where {key}[0] has {kind(listed[0]['id'])}: ids must be of "
                "one type",
                file=path,
                record=where,
                field="id",
            )
        if value in seen:
            raise InputError(
                f"{value!r} occurs twice: {key}[{seen[value]}] has it too",
                file=path,
                record=where,
                field="id",
            )
        checked = cast(ImageId, value)
        seen[checked] = i
        ids.append(checked)
    return ids


def check_id(value: Any, path: Path, where: str, field: str) -> ImageId:
    """The value, if it can be an id in tables: a whole number of 64 bits, or a printable string
    that is not empty. Raises InputError otherwise."""
    if type(value) is int:
        good = -(2**63) <= value < 2**63
    else:
        good = isinstance(value, str) and value.strip() != "" and value.isprintable()
    if not good:
        raise InputError(
            f"must be a whole number of 64 bits or a printable string, not {value!r:.60}",
            file=path,
            record=where,
            field=field,
        )
    return cast(ImageId, value)


def kind(value: Any) -> str:
    """The JSON type of a value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value)) or f"a value of the type {type(value).__name__}"
