"""The errors a user can cause, each one clear line and an exit code.

Anything that is not one of these is a bug in metaeval and keeps its traceback.
"""

import codecs
import io
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

Arguments = ParamSpec("Arguments")


class MetaevalError(Exception):
    """An error with one line for the user; the command prints it and exits with `exit_code`.

    Names from the user's files may be in the line: their line breaks become spaces.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(message.splitlines()))


class InputError(MetaevalError):
    """Bad input, named down to the file, the record in it and the field of the record.

    Parameters
    ----------
    problem
        What is wrong, in plain words, without a full stop.
    file, record, field
        Where: a path, something that identifies the record ("annotation id 38"), a field name.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str | None = None,
        record: str | None = None,
        field: str | None = None,
    ) -> None:
        self.problem, self.file, self.record, self.field = problem, file, record, field
        where = [str(part) for part in (file, record) if part is not None]
        if field is not None:
            where.append(f"field '{field}'")
        super().__init__(": ".join([", ".join(where), problem]) if where else problem)


class ConfigError(MetaevalError):
    """A configuration that cannot be run: an unknown metric, a rate outside (0, 1], …"""


class StageError(MetaevalError):
    """A stage after the statistics failed (the report); scores and statistics are complete."""

    exit_code = 1


class StrictError(MetaevalError):
    """Every requested metric failed or was skipped, or one while `strict` is on."""

    exit_code = 1


def ends_with_status(
    said_by: str = "metaeval",
) -> Callable[[Callable[Arguments, int | None]], Callable[Arguments, int]]:
    """Of a command: an error is printed as a line, and its exit code is the command's. What the
    terminal has no character for is spelled out."""

    def decorated(main: Callable[Arguments, int | None]) -> Callable[Arguments, int]:
        @wraps(main)
        def run(*args: Arguments.args, **options: Arguments.kwargs) -> int:
            spell_out_what_cannot_be_printed()
            try:
                return main(*args, **options) or 0
            except MetaevalError as error:
                print(f"{said_by}: {error}", file=sys.stderr)
                return error.exit_code

        return run

    return decorated


# what our tables and messages hold beyond ASCII, for terminals and logs of few characters
_SPELLED = {
    **{"ρ": "rho", "τ": "tau", "λ": "lambda", "σ": "sigma", "Σ": "sum", "δ": "delta"},
    **{"ε": "epsilon", "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "–": "-", "−": "-", "…": "..."},
    **{"’": "'", "·": "*", "→": "->", "²": "2"},
}


def spell_out_what_cannot_be_printed() -> None:
    """Let stdout and stderr write "rho" where their encoding (ISO-8859-1, ASCII) has no "ρ".

    What has no such name becomes a question mark.
    """
    codecs.register_error("spelled out", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelled out")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_SPELLED.get(letter, "?") for letter in text), error.end
