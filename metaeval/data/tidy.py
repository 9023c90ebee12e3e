"""The rule by which captions are tidied when they are read.

1. Control characters that are not white space (NUL, escape, delete, …) and byte-order marks
   become a space: no tokeniser, pipe or table survives them alike.
2. Runs of white space (blanks, tabs, newlines, U+0085, U+00A0, U+2028, …: what `str.split` takes
   for white space) become one space; white space at both ends goes.
3. An unpaired surrogate is refused: it is not a character and cannot be written as UTF-8.
4. Unicode's normal form is C: "é" is one character, however a file writes it. Without this the
   same word in two files would be two words to every metric.

Nothing else changes: neither case nor punctuation. The PTB tokeniser sees the same tokens as
before, since it takes any white space for the same; and a caption stays one line, without which
line-based tools pair captions with the wrong images.
"""

import logging
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import Path

from metaeval.data.fields import is_missing
from metaeval.data.identity import composed
from metaeval.data.records import json_type
from metaeval.errors import InputError
from metaeval.readers.tables import read_list
from metaeval.results.notes import fill_sentences

log = logging.getLogger(__name__)

GUESSES = (
    "{split} split at '{separator}' into captions.",
    "{whole} with a ';' or a line break read as one caption each; separate several by "
    "'{separator}', or write a JSON list.",
)
CHANGES = (
    "Control characters in {controls} became spaces.",
    "White space in {spaces} was collapsed to single spaces or stripped from the ends.",
    "Letters and marks of {composed} were composed (Unicode NFC).",
)
SEPARATOR = "|||"  # of several captions in one cell

# Cc without what `str.split` splits at, and U+FEFF
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEVERAL = re.compile(r"\S\s*[;\n\r]\s*\S")  # what may separate captions in a cell


_NO_LETTER = re.compile(r"[\W_]+", re.ASCII)


@lru_cache(maxsize=100_000)  # a protocol compares each caption with its references
def letters_and_digits(caption: str) -> str:
    """A caption's letters, marks and digits: what stays the same however it was tokenised.

    Compared by Unicode: in normal form C, without case, of the categories L, M and N. Marks count:
    most vowels of Hindi, Bengali and Tamil are marks.

    >>> letters_and_digits("A man's red-hot grill .") == letters_and_digits("a mans red hot grill.")
    True
    >>> letters_and_digits("लड़का") == letters_and_digits("लड़की")
    False
    """
    if caption.isascii():
        return _NO_LETTER.sub("", caption).lower()
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", caption).casefold())
    return "".join(letter for letter in text if unicodedata.category(letter)[0] in "LMN")


class Tidy:
    """Tidies captions and counts those that it had to change."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def read(self, value: object, *, file: Path | None, record: str, field: str) -> str:
        """The tidied caption in a field of a record, possibly empty; InputError, naming the field,
        where it holds none, or an unpaired surrogate."""
        if not isinstance(value, str):
            problem = f"is {json_type(value)}, not a string"
            raise InputError(problem, file=file, record=record, field=field)
        cleaned = value
        if not value.isprintable():  # quick: true of nearly every caption, false of all below
            if half := _SURROGATE.search(value):
                problem = f"contains an unpaired surrogate (U+{ord(half[0]):04X})"
                raise InputError(problem, file=file, record=record, field=field)
            cleaned = _CONTROL.sub(" ", value)
        tidied = " ".join(cleaned.split())
        normal = composed(tidied)
        self._counts["controls"] += cleaned != value
        self._counts["spaces"] += tidied != cleaned
        self._counts["composed"] += normal != tidied
        return normal

    def read_several(
        self, value: object, *, file: Path | None, record: str, field: str
    ) -> tuple[str, ...]:
        """The tidied captions in a field of a record: a list of them, or one; none where it is
        empty.

        A text with `|||` is split there; both that and a text that may hold several captions are
        counted. InputError for anything else, and for what `read_list` and `read` refuse.
        """
        listed = read_list(value, file, record, field)
        if is_missing(listed):
            return ()
        if isinstance(listed, str):
            texts = [text for text in listed.split(SEPARATOR) if text.strip()]
            self._counts["split"] += len(texts) > 1
            self._counts["whole"] += len(texts) == 1 and _SEVERAL.search(listed) is not None
            listed = texts
        if not isinstance(listed, list | tuple) or not all(isinstance(r, str) for r in listed):
            raise InputError("is not a list of strings", file=file, record=record, field=field)
        return tuple(self.read(r, file=file, record=record, field=field) for r in listed)

    def notes(self) -> list[str]:
        """What was changed, in sentences for `CaptionDataset.notes`; guesses are also logged."""
        cells = {k: count_captions(n, "cell") for k in ("split", "whole") if (n := self._counts[k])}
        notes = list(fill_sentences(GUESSES, separator=SEPARATOR, **cells))
        for note in notes:
            log.warning("%s", note)
        names = ("controls", "spaces", "composed")
        changes = {k: count_captions(n) for k in names if (n := self._counts[k])}
        return [*notes, *fill_sentences(CHANGES, **changes)]


def count_captions(n: int, what: str = "caption") -> str:
    """ "1 caption", "3,803 captions"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
