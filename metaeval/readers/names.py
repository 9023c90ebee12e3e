"""Names from files and options: sets, systems, metrics, kinds. One rule for all of them."""

from __future__ import annotations

import re
from pathlib import Path

from metaeval.errors import InputError
from metaeval.readers.files import one_line

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
