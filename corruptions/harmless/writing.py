"""Harmless writing: case, full stop, white space, hyphens, quotation marks."""

from __future__ import annotations

import re

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.corruptions.language.base import LanguageCorruption, Places
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.corruptions.tokens import words
from metaeval.runs.records import Edit


def respelt(text: str, new: str, unchanged_reason: str) -> Corrupted:
    """A caption whose tokens are spelled differently, each in its place."""
    if new == text:
        return Corrupted(text, False, realised=0.0, reason=unchanged_reason)
    pairs = zip(text.split(), new.split(), strict=True)
    edits = tuple(Edit(i, old, now) for i, (old, now) in enumerate(pairs) if old != now)
    return Corrupted(new, True, edits, None, len(edits) / max(1, len(words(text.split()))))


class LowerCase(Corruption):
    """Everything in small letters."""

    name = "lower_case"
    title = "Small letters"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return respelt(caption.text, caption.text.lower(), "has no capital")


class FinalStop(Corruption):
    """The full stop at the end is removed, or added."""

    name = "final_stop"
    title = "Final stop"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = caption.text
        last = text.split()[-1:]
        if not last or last[0][-1] in "!?,;:\"'" or not last[0].strip("."):
            return Corrupted(text, False, realised=0.0, reason="ends in another mark")
        whole = text.rstrip()
        new = whole.rstrip(".") if whole.endswith(".") else f"{whole}."
        return respelt(text, new, "ends in another mark")


class WhiteSpace(Corruption):
    """A blank between two words becomes two or three, or a tab."""

    name = "white_space"
    title = "White space"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        blanks = ("  ", "   ", "\t")
        if len(tokens) < 2:
            return Corrupted(caption.text, False, realised=0.0, reason="has one word alone")
        places = set(rng.permutation(len(tokens) - 1)[: max(1, len(tokens) // 4)].tolist())
        new = tokens[0]
        for i, token in enumerate(tokens[1:]):
            new += (blanks[int(rng.integers(len(blanks)))] if i in places else " ") + token
        return Corrupted(new, True, (), None, 0.0)


_PAIRS = {
    ("double", "decker"), ("snow", "covered"), ("flat", "screen"), ("t", "shirt"), ("mid", "air"),
    ("tree", "lined"), ("old", "fashioned"), ("close", "up"), ("stainless", "steel"),
    ("multi", "colored"), ("half", "eaten"), ("high", "rise"), ("grass", "covered"),
    ("hot", "air"), ("two", "story"), ("cross", "country"),
}  # fmt: skip


class Hyphen(LanguageCorruption):
    """A hyphen is added or removed: "double decker", "double-decker"."""

    name = "hyphen"
    title = "Hyphen"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = "has no word that is written with and without a hyphen"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            pair = (word, caption.word(i + 1))
            if tuple(word.split("-")) in _PAIRS:
                places.append([(Rewording(i, i + 1, tuple(word.split("-"))),)])
            elif pair in _PAIRS and not caption.tokens[i].closes and "-" not in pair[1]:
                places.append([(Rewording(i, i + 2, ("-".join(pair),)),)])
        return places


class TypographicQuotes(Corruption):
    """Straight quotation marks and apostrophes become typographic ones."""

    name = "typographic_quotes"
    title = "Typographic quotes"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        new = re.sub(r'(^|\s)"', r"\1“", caption.text).replace('"', "”")
        new = re.sub(r"(^|\s)'", r"\1‘", new).replace("'", "’")
        return respelt(caption.text, new, "has no quotation mark")
