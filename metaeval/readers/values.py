"""Single values of records, strictly: numbers, and lists in a cell of a table."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any, TypeGuard

from metaeval.errors import InputError
from metaeval.readers.files import one_line
from metaeval.readers.json_text import parse_json

# digits of ASCII alone: float() would also read "1_000" and the digits of other scripts
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_PYTHON_LIST = re.compile(
    rf"\[\s*(?:(?:{_STRING})\s*(?:,\s*(?:{_STRING})\s*)*,?\s*)?\]", re.DOTALL | re.ASCII
)
_ONE_STRING = re.compile(_STRING, re.DOTALL)
_ADJACENT = re.compile(rf"\[\s*(?:{_STRING})\s*(?:{_STRING})", re.DOTALL)
# how other programs print what holds several captions: a tuple, a set, an array
_OTHER_LIST = re.compile(r"""\s*(?:array\(|Index\(|set\(|[({<]\s*['"])""")


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number that a float can hold; true and false are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def read_number(
    value: Any,
    file: Path,
    where: str,
    field: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    whole: bool = False,
) -> float:
    """A finite number in low…high, written in ASCII digits, or an InputError that names it."""
    number = math.nan
    if is_number(value) or (isinstance(value, str) and _NUMBER.fullmatch(value.strip())):
        number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{value!r:.60} is not a number", file=file, record=where, field=field)
    if not low <= number <= high:
        scale = f"{low:g}…{high:g}" if math.isfinite(low + high) else f"above {low:g}"
        scale = f"up to {high:g}" if low == -math.inf else scale
        raise InputError(
            f"{value!r:.60} is not on the scale {scale}", file=file, record=where, field=field
        )
    if whole and number != int(number):
        raise InputError(
            f"{value!r:.60} is not a whole number", file=file, record=where, field=field
        )
    return number


def read_list(value: Any, file: Path | None, where: str, field: str) -> Any:
    """A cell of a table that holds a list, as that list; any other value as it is.

    A list is written in JSON, or as Python prints a list of strings. One without commas, as NumPy
    prints arrays, is refused, and so are tuples, sets and arrays as other programs print them: read
    as Python does, or as one text, several captions would become a single one.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _OTHER_LIST.match(text):
        raise InputError(
            f"{one_line(text, 40)} looks like several values; write a JSON list",
            file=file,
            record=where,
            field=field,
        )
    if not text.startswith("["):
        return value
    try:
        return parse_json(text, file, where)
    except InputError:
        if (listed := _python_list(text)) is not None:
            return listed
        problem = f"{one_line(text, 40)} begins like a list and is none; write a JSON list"
        if _ADJACENT.match(text):
            problem = f"{one_line(text, 40)} is a list without commas; write a JSON list"
        raise InputError(problem, file=file, record=where, field=field) from None


def _python_list(text: str) -> list[str] | None:
    """The strings of a list as Python prints it; `None` for anything else."""
    if not _PYTHON_LIST.fullmatch(text):
        return None
    try:
        return [ast.literal_eval(part) for part in _ONE_STRING.findall(text)]
    except (ValueError, SyntaxError):  # a "\x" that is none
        return None


MOST_NAME = 200  # characters; names head columns of tables and lines of figures
_SURROGATE = re.compile("[\ud800-\udfff]")


def name_problem(name: object) -> str | None:
    """What is wrong with a name, or `None`: a name is one line of 1 to 200 printable characters.

    >>> name_problem("CLIP <base>"), name_problem("a\\nb")
    (None, "'a\\\\nb' is not a name: it contains '\\\\n', which cannot be printed")
    """
    if not isinstance(name, str):
        return f"{one_line(repr(name), 40)} is not a name: it is {type(name).__name__}, not a text"
    if not name.strip():
        return f"{name!r:.40} is not a name: it is empty"
    shown = ascii(name) if _SURROGATE.search(name) else one_line(repr(name), 60)
    if half := _SURROGATE.search(name):
        return f"{shown:.60} is not a name: it contains an unpaired surrogate U+{ord(half[0]):04X}"
    if odd := next((c for c in name if not c.isprintable()), None):
        return f"{shown} is not a name: it contains {odd!r}, which cannot be printed"
    if len(name) > MOST_NAME:
        return f"{shown} is not a name: it has {len(name):,} characters, at most {MOST_NAME}"
    return None


def check_name(name: object, *, file: Path, record: str | None, field: str) -> str:
    """A name from a field of a record; InputError for an invalid one."""
    if problem := name_problem(name):
        raise InputError(problem, file=file, record=record, field=field)
    return str(name)
