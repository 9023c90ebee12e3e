"""Split a caption into the words that a corruption changes, and join it again.

A caption is split into tokens at white space. A token's word is the token without the punctuation
around it (ASCII, as in the paper's bag of words); a token of nothing but punctuation holds no word
and is never touched. Words are compared regardless of case, as most metrics read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import punctuation

from metaeval.corruptions.base import Corrupted
from metaeval.runs.records import Edit


def words(tokens: Sequence[str]) -> dict[int, str]:
    """Position among the tokens → word, for the tokens that hold one."""
    return {i: core for i, token in enumerate(tokens) if (core := token.strip(punctuation))}


def read(token: str) -> str:
    """A token's word as it is compared: without punctuation around it, in lower case."""
    return token.strip(punctuation).lower()


def with_word(token: str, word: str) -> str:
    """The token with another word in it: its punctuation stays ("field." and "dog": "dog.")."""
    # the first match is the old word: before it there is only punctuation
    return token.replace(token.strip(punctuation), word, 1)


def rewritten(text: str, new: Mapping[int, str], requested: float) -> Corrupted:
    """The caption with the tokens at the given positions replaced.

    If no word changes, or words change their case alone, the caption stays as it was: the text
    differs from the source if and only if `applied`. `realised` is the share of the caption's words
    that changed by more than their case.
    """
    tokens = text.split()
    n_words = len(words(tokens))
    edits = []
    changed = 0
    for position in sorted(new):
        before, after = tokens[position], new[position]
        if after != before:
            tokens[position] = after
            edits.append(Edit(position, before, after))
            changed += read(after) != read(before)
    if not changed:
        return Corrupted(text, False, (), requested, 0.0)
    return Corrupted(" ".join(tokens), True, tuple(edits), requested, changed / n_words)
