"""WordNet as SPICE sees it: the synonym sets in METEOR's jar, and METEOR's way of finding them.

SPICE takes METEOR 1.5's synonym sets of every object, attribute and relation. The jar (in the
package pycocoevalcap) holds them as text, so no Java is needed to read them.

`synonym/english.synsets` has pairs of lines: a word ("ice_cream"), its set numbers.
`synonym/english.exceptions` has pairs of lines: a base form, its irregular forms.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from metaeval.readers.zips import member_bytes, open_zip

# What may be cut from the end of a regular form, and its replacement in the base form, in the
# order in which METEOR tries them.
_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)
_MOST = 1 << 26  # bytes of a list of synonyms
_NONE: frozenset[int] = frozenset()


class Synonyms:
    """The synonym sets of words and phrases.

    Parameters
    ----------
    jar
        METEOR 1.5's jar.
    """

    def __init__(self, jar: Path) -> None:
        with open_zip(jar, "jar of METEOR") as archive:
            exceptions, lines = (
                member_bytes(archive, f"synonym/english.{part}", jar, _MOST).decode().splitlines()
                for part in ("exceptions", "synsets")
            )
        self._numbers = dict(zip(lines[::2], lines[1::2], strict=True))
        self._bases: dict[str, list[str]] = {}
        for base, forms in zip(exceptions[::2], exceptions[1::2], strict=True):
            for form in forms.split():
                self._bases.setdefault(form, []).append(base)
        self._known: dict[str, frozenset[int]] = {}

    def __call__(self, phrase: str) -> frozenset[int]:
        """The numbers of all sets that hold the phrase or a base form of it; empty if none does."""
        if phrase not in self._known:
            word = phrase.strip().lower().replace(" ", "_")
            synsets = self._sets(word)
            for base in self._bases.get(word) or [self._regular_base(word)]:
                synsets |= self._sets(base)
            self._known[phrase] = synsets
        return self._known[phrase]

    def _sets(self, word: str) -> frozenset[int]:
        numbers = self._numbers.get(word)
        return frozenset(map(int, numbers.split())) if numbers else _NONE

    def _regular_base(self, word: str) -> str:
        if word.endswith("ss") or len(word) <= 2:
            return word
        for ending, instead in _ENDINGS:
            if word.endswith(ending):
                base = word[: len(word) - len(ending)] + instead
                if base in self._numbers:
                    return base
        return ""


@cache
def load_synonyms(jar: Path) -> Synonyms:
    """The synonyms in this jar, read once per process."""
    return Synonyms(jar)
