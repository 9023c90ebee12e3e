"""Changing words of a caption and leaving grammar, case and punctuation in order."""

from __future__ import annotations

from collections.abc import Sequence
from string import punctuation
from typing import NamedTuple

from metaeval.data.scenes.lexicon import article
from metaeval.runs.records import Edit


class Patch(NamedTuple):
    """Words `start` ≤ i < `end` are replaced by `words`; equal positions insert."""

    start: int
    end: int
    words: tuple[str, ...]


def patched(text: str, patches: Sequence[Patch]) -> tuple[str, tuple[Edit, ...]]:
    """The text with non-overlapping patches applied, and what changed.

    The punctuation after a replaced or deleted stretch stays; a caption that began with a capital
    still does; "a" and "an" before and in new words follow the sound after them.
    """
    old = text.split()
    final = _tail(old[-1])
    tokens = list(old)
    tokens[-1] = tokens[-1][: len(tokens[-1]) - len(final)] if final else tokens[-1]
    origin: list[int | None] = list(range(len(old)))
    capital = old[0][:1].isupper()
    if capital and not old[0][1:2].isupper():
        tokens[0] = tokens[0][:1].lower() + tokens[0][1:]
    for start, end, words in sorted(patches, reverse=True):
        comma = _tail(tokens[end - 1]) if end > start else ""
        new = list(words)
        if new and comma and end > start:
            new[-1] += comma
        tokens[start:end] = new
        origins = [*origin[start:end], *([None] * len(new))][: len(new)]
        origin[start:end] = origins
    for i in range(len(tokens) - 1):
        if tokens[i] in ("a", "an"):
            tokens[i] = article(tokens[i + 1])
    if tokens:
        tokens[-1] = tokens[-1].rstrip(",") + final
        if capital:
            tokens[0] = tokens[0][:1].upper() + tokens[0][1:]
    return " ".join(tokens), _edits(old, tokens, origin)


def _tail(token: str) -> str:
    """The punctuation at the end of a token."""
    return token[len(token.rstrip(punctuation)) :]


def _edits(old: list[str], new: list[str], origin: list[int | None]) -> tuple[Edit, ...]:
    """One edit per changed word: replaced in place, inserted (before ""), deleted (after "")."""
    edits: list[Edit] = []
    survived = {o for o in origin if o is not None}
    place = len(old)
    for token, source in zip(reversed(new), reversed(origin), strict=True):
        if source is None:
            edits.append(Edit(place, "", token))
        else:
            place = source
            if token != old[source]:
                edits.append(Edit(source, old[source], token))
    edits += [Edit(i, word, "") for i, word in enumerate(old) if i not in survived]
    edits.reverse()  # the sort is stable: words inserted at one place keep their order
    return tuple(sorted(edits, key=lambda e: e.position))
