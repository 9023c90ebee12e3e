"""Characters: typing errors, letters swapped, capitals at random, stray punctuation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaeval.corruptions.language.base import WordCorruption
from metaeval.corruptions.language.parsed import ParsedCaption

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def neighbours(letter: str) -> str:
    """The letters next to, above and below a small letter on a QWERTY keyboard.

    >>> neighbours("g")
    'fhtyvb'
    """
    row = next(k for k, keys in enumerate(_ROWS) if letter in keys)
    place = _ROWS[row].index(letter)
    near = _ROWS[row][max(0, place - 1) : place] + _ROWS[row][place + 1 : place + 2]
    for other, first in ((row - 1, place), (row + 1, place - 1)):
        if 0 <= other < len(_ROWS):
            near += _ROWS[other][max(0, first) : first + 2]
    return near


class _LongWords(WordCorruption):
    kind = "spelling"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [
            i
            for i, word in enumerate(caption.words)
            if len(word) > 3 and word.isascii() and word.isalpha()
        ]


class Typos(_LongWords):
    """A letter of a word of four or more becomes its neighbour on the keyboard."""

    name = "typos"
    title = "Typing errors"
    severity_by_rate = ((0, "mild"), (0.2, "major"))
    unchanged_reason = "has no word of four letters"

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        place = int(rng.integers(len(token)))
        letter = token[place]
        near = neighbours(letter.lower())
        new = near[int(rng.integers(len(near)))]
        return (token[:place] + (new.upper() if letter.isupper() else new) + token[place + 1 :],)


class SwapLetters(_LongWords):
    """Two neighbouring letters inside a word of four or more change places."""

    name = "swap_letters"
    title = "Letters swapped"
    severity_by_rate = ((0, "mild"), (0.2, "major"))
    unchanged_reason = "has no word of four letters with two different ones inside"

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        places = [i for i in range(1, len(token) - 1) if token[i] != token[i + 1]]
        if not places:
            return (token,)
        i = places[int(rng.integers(len(places)))]
        return (token[:i] + token[i + 1] + token[i] + token[i + 2 :],)


class CaseNoise(_LongWords):
    """Each letter of a word of four or more is a capital by the toss of a coin, at least one."""

    name = "case_noise"
    title = "Capitals at random"
    severity = "mild"
    unchanged_reason = "has no word of four letters"

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        upper = rng.integers(2, size=len(token)).astype(bool)
        upper[int(rng.integers(1, len(token)))] = True  # not the first alone
        return ("".join(c.upper() if u else c for c, u in zip(token, upper, strict=True)),)


class InsertPunctuation(WordCorruption):
    """A comma, colon, question mark … stands behind a word inside the caption."""

    name = "insert_punctuation"
    title = "Punctuation inserted"
    kind = "spelling"
    severity = "mild"
    unchanged_reason = "has no word inside without punctuation behind it"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, t in enumerate(caption.tokens[:-1]) if t.word and not t.closes]

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        marks = (",", ";", ":", "?", "!", ".")
        return (token + marks[int(rng.integers(len(marks)))],)
