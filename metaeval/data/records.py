"""Records of JSON: the list of them in a file, their fields and their ids, all checked."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from metaeval.data.dataset import ImageId
from metaeval.data.identity import composed
from metaeval.errors import ConfigError, InputError

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
        raise InputError(f"holds {json_type(value)} where an object is expected", file=path)
    if key not in value:
        raise InputError("is missing", file=path, field=key)
    values = value[key]
    if not isinstance(values, list):
        raise InputError(f"is {json_type(values)}, not a list", file=path, field=key)
    for i, record in enumerate(values):
        if not isinstance(record, dict):
            raise InputError(
                f"is {json_type(record)}, not an object", file=path, record=f"{key}[{i}]"
            )
    return values


def require_fields(record: Record, fields: Iterable[str], path: Path, where: str) -> None:
    """Raise InputError for the first of the fields that is missing in the record."""
    for field in fields:
        if field not in record:
            raise InputError("is missing", file=path, record=where, field=field)


def require_known(option: str, chosen: Iterable[str] | None, known: Iterable[str]) -> None:
    """Raise ConfigError for names in an option of the dataset that are not among the known ones."""
    names = list(known)
    if unknown := [name for name in chosen or () if name not in names]:
        quoted = ", ".join(f"'{name}'" for name in unknown)
        raise ConfigError(f"dataset.{option}: {quoted} not among {', '.join(names)}")


def unique_ids(values: Sequence[Record], key: str, path: Path) -> list[ImageId]:
    """The "id" of every record: all whole numbers or all strings, no two the same.

    Numbers must fit 64 bits, strings must be printable and not empty: ids go into tables.
    """
    ids: list[ImageId] = []
    seen: dict[ImageId, int] = {}
    expected = type(values[0].get("id")) if values else None
    for i, record in enumerate(values):
        where = f"{key}[{i}]"
        require_fields(record, ("id",), path, where)
        value: Any = record["id"]
        check_id(value, path, where, "id")
        if type(value) is not expected:
            raise InputError(
                f"is {json_type(value)} where {key}[0] has {json_type(values[0]['id'])}: ids must "
                "be of one type",
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
    that is not empty, in Unicode's normal form C. Raises InputError otherwise."""
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
    return composed(value) if isinstance(value, str) else cast(ImageId, value)


def json_type(value: Any) -> str:
    """The JSON type of a value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value)) or f"a value of the type {type(value).__name__}"
