"""Printing to terminals and logs that support few characters."""

from __future__ import annotations

import codecs
import io
import sys

# what our tables and messages hold beyond ASCII
_SPELLED = {
    "ρ": "rho", "τ": "tau", "λ": "lambda", "σ": "sigma", "Σ": "sum", "δ": "delta", "ε": "epsilon",
    "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "–": "-", "−": "-", "…": "...", "’": "'", "·": "*",
    "→": "->", "²": "2",
}  # fmt: skip


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
