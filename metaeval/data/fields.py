"""Columns of a user's table under the names that a loader uses: `dataset.fields={human: stars}`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from metaeval.data.dataset import ImageId
from metaeval.errors import ConfigError, InputError

log = logging.getLogger(__name__)

Row = tuple[str, dict[str, Any]]

# what other people call a column; a guess is made only where one of these is there, and is reported
COMMON: dict[str, tuple[str, ...]] = {
    "image_id": (
        "imgid",
        "img_id",
        "imageid",
        "image",
        "cocoid",
        "filename",
        "file_name",
        "image_name",
        "image_path",
    ),
    "candidate": ("mt", "caption", "hyp", "hypothesis", "prediction", "pred", "generated", "cand"),
    "caption": ("text", "sentence", "raw", "candidate", "mt", "prediction"),
    "references": ("refs", "reference", "ref", "gts", "ground_truth", "captions"),
    "human": ("rating", "human_score", "human_rating", "judgment", "judgement", "mos", "stars"),
    "true": (
        "caption",
        "positive",
        "pos",
        "correct",
        "true_caption",
        "positive_caption",
        "correct_caption",
    ),
    "false": (
        "foil",
        "negative",
        "neg",
        "negative_caption",
        "incorrect",
        "hallucinated",
        "foiled",
        "false_caption",
        "foil_caption",
        "incorrect_caption",
    ),
    "image_path": ("file_name", "filename"),
    "system": ("model", "sys", "captioner"),
    "kind": ("category", "subset", "type", "foil_type"),
    "subset": ("kind",),
    "words": ("grounding", "word_marks", "word_labels"),
    "rater": ("annotator", "worker", "worker_id", "annotator_id"),
}


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
    guessed: Sequence[str] = (),
) -> Iterator[Row]:
    """Rows with the loader's names next to those of the file.

    Parameters
    ----------
    given
        Loader's name → the file's.
    required, optional
        The loader's names. A required one that the file does not have and the user does not give
        is looked for among common names; what is chosen is logged and appended to `notes`.
    guessed
        The optional names that are looked for in the same way.
    """
    names = check_fields(given, (*required, *optional), option)
    first = True
    for where, record in rows:
        if first:
            first = False
            names = _complete(names, record, (*required, *guessed), path, where, notes, option)
        renamed = dict(record)
        for name, theirs in names.items():
            if name in record and not (given or {}).get(name):
                raise InputError(
                    f"is there, but the first record has '{theirs}' in its place",
                    file=path,
                    record=where,
                    field=name,
                )
            if theirs in record:
                renamed[name] = record[theirs]
            elif name in names and name in required:
                raise InputError("is missing", file=path, record=where, field=theirs)
        yield where, renamed


def _complete(
    names: dict[str, str],
    record: Mapping[str, Any],
    required: Sequence[str],
    path: Path,
    where: str,
    notes: list[str],
    option: str,
) -> dict[str, str]:
    columns = ", ".join(f"'{column}'" for column in record)
    for name, theirs in names.items():
        if theirs not in record:
            raise InputError(
                f"is missing ({option}.{name}); the columns are: {columns}",
                file=path,
                record=where,
                field=theirs,
            )
    complete = dict(names)
    guessed = []
    for name in required:
        if name in record or name in complete:
            continue
        taken = set(complete.values()) | set(required)
        there = [c for c in COMMON.get(name, ()) if c in record and c not in taken]
        if there:
            complete[name] = there[0]
            guessed.append(f"{name} is '{there[0]}'")
    if guessed:
        note = f"Columns of {path.name} by their common names: {', '.join(guessed)} ({option})."
        notes.append(note)
        log.warning("%s", note)
    return complete


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
