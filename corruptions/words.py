"""What a word is to a corruption that changes words, and how a caption is put together again.

A caption is split at white space. The punctuation around a token (ASCII, as in the paper's bag of
words) is not part of the word and stays where it is: replacing "field" in "a field." by "dog"
gives "a dog.". A token of nothing but punctuation is not a word. Words are compared regardless of
case, as most metrics read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import punctuation

from corruptions.base import Corrupted, Edit
from metaeval.errors import ConfigError


def word(token: str) -> str:
    """The token without the punctuation around it; empty if there is nothing else."""
    return token.strip(punctuation)


def words(tokens: list[str]) -> dict[int, str]:
    """Position among the tokens → word, for the tokens that hold one."""
    return {i: core for i, token in enumerate(tokens) if (core := token.strip(punctuation))}


def checked_rate(rate: float, name: str) -> float:
    """The rate as a float; ConfigError unless it is in (0, 1]."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
        raise ConfigError(f"{name}: the rate must be in (0, 1], not {rate!r}")
    return float(rate)


def rewritten(text: str, new: Mapping[int, str], requested: float) -> Corrupted:
    """The caption with the words at the given token positions put in place of the old ones.

    A caption in which at most the case of words changes counts as unchanged and stays as it was:
    the text differs from the source if and only if `applied`. `realised` is the share of the
    caption's words that changed by more than their case.
    """
    tokens = text.split()
    old = words(tokens)
    edits = []
    changed = 0
    for position in sorted(new):
        before, core, after = tokens[position], old[position], new[position]
        if after != core:
            # the first match is the word: before it there is only punctuation
            tokens[position] = before.replace(core, after, 1)
            edits.append(Edit(position, before, tokens[position]))
            changed += after.lower() != core.lower()
    if not changed:
        return Corrupted(text, False, (), requested, 0.0)
    return Corrupted(" ".join(tokens), True, tuple(edits), requested, changed / len(old))
