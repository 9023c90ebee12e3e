"""Drafts: captions under change, with the words that a search must not touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import punctuation
from typing import NamedTuple

import numpy as np

from metaeval.corruptions.language.parsed import parse
from metaeval.text.scene_graphs.rules.function_words import words as word_set

# words that would undo a false statement: they are never inserted
UNDOING = word_set(
    "no not never none neither nor nobody nothing without or might may could maybe perhaps "
    "possibly seems appears like than as fake toy pretend imaginary drawing painting picture "
    "photo image poster sign printed shaped if instead unless except but isn't aren't doesn't "
    "don't statue reflection"
)


class Draft(NamedTuple):
    """A caption under change.

    Attributes
    ----------
    words
        Its tokens.
    fixed
        Which of them stay: the words of the false statement, and their neighbours.
    edits
        How many words the search has changed.
    harm
        The share of the caption's statements that are false, where that is known.
    """

    words: tuple[str, ...]
    fixed: tuple[bool, ...]
    edits: int = 0
    harm: float | None = None

    @property
    def text(self) -> str:
        """The caption."""
        return " ".join(self.words)


def free(text: str) -> Draft:
    """A draft of which every word may change."""
    words = tuple(text.split())
    return Draft(words, (False,) * len(words))


def false_draft(source: str, text: str, harm: float | None = None) -> Draft:
    """A draft of a caption that became false by changed words: these stay as they are.

    Fixed is the stretch from the first changed word to the last, the noun phrases that it touches,
    and one word on either side, so that no noun is put next to a false one ("dog house").
    """
    old, new = source.split(), text.split()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first, last = start, max(start, len(new) - 1 - end)
    phrases = [p for p in parse(text).phrases if p.start <= last + 1 and p.end >= first]
    first = min([first, *(p.start for p in phrases)])
    last = max([last, *(p.end - 1 for p in phrases)])
    fixed = tuple(first - 1 <= i <= last + 1 for i in range(len(new)))
    return Draft(tuple(new), fixed, 0, harm)


def vocabulary(captions: Iterable[str]) -> tuple[str, ...]:
    """The words of captions in lower case, in alphabetical order, without those that undo."""
    words = {w for text in captions for t in text.lower().split() if (w := t.strip(punctuation))}
    return tuple(sorted(words - UNDOING))


def mutated(
    draft: Draft, near: Sequence[str], far: Sequence[str], rng: np.random.Generator
) -> Draft | None:
    """One random change of one word; `None` where the draw cannot be made.

    A free word is replaced or deleted, a word is inserted, or two free neighbours change places.
    New words come from `near` (what is known of the image) three times in four, else from `far`.
    """
    words, fixed = list(draft.words), list(draft.fixed)
    places = [i for i, stays in enumerate(fixed) if not stays]
    pool = near if near and (not far or rng.random() < 0.75) else far
    kind = int(rng.integers(4))
    if kind == 1:
        gaps = [i for i in range(len(words) + 1) if not _closed(fixed, i)]
        if not gaps or not pool:
            return None
        at = gaps[int(rng.integers(len(gaps)))]
        words.insert(at, pool[int(rng.integers(len(pool)))])
        fixed.insert(at, False)
    elif not places:
        return None
    else:
        at = places[int(rng.integers(len(places)))]
        if kind == 0:
            if not pool:
                return None
            word = pool[int(rng.integers(len(pool)))]
            if word == words[at].lower():
                return None
            words[at] = word
        elif kind == 2:
            if len(words) < 2:
                return None
            del words[at], fixed[at]
        else:
            if at + 1 >= len(words) or fixed[at + 1] or words[at] == words[at + 1]:
                return None
            words[at], words[at + 1] = words[at + 1], words[at]
    return Draft(tuple(words), tuple(fixed), draft.edits + 1, draft.harm)


def _closed(fixed: Sequence[bool], gap: int) -> bool:
    """Whether nothing may be inserted there: within or at the edge of what stays."""
    left = fixed[gap - 1] if gap else bool(fixed and fixed[0])
    right = fixed[gap] if gap < len(fixed) else bool(fixed and fixed[-1])
    return left and right
