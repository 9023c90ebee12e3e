"""Errors of libraries written in other languages, as errors of the file that they read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metaeval.errors import InputError, MetaevalError
from metaeval.readers.files import one_line


@contextmanager
def native_errors(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads `path` into an InputError that names it.

    Libraries in Rust raise `PanicException`, which is not an `Exception`, for malformed files: it
    would end the whole run. Interrupts and exits pass through.
    """
    try:
        yield
    except (MetaevalError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise InputError(
            f"is not a readable {what} ({one_line(error) or type(error).__name__})", file=path
        ) from None
