"""Split a caption into the words that a corruption changes, and join it again.

A caption is split into tokens at white space, or into characters where its script has no spaces.
A token's word is the token without the punctuation
around it (ASCII, as in the paper's bag of words); a token of nothing but punctuation holds no word
and is never touched. Words are compared regardless of case, as most metrics read them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import punctuation as ascii_punctuation

from metaeval.corruptions.base import Corrupted
from metaeval.runs.records import Edit

# marks of scripts without spaces stand between words without a space of their own
punctuation = ascii_punctuation + "。，、！？；：（）「」『』《》…—"
_UNSPACED = "぀-ヿ㐀-䶿一-鿿"  # kana and Chinese characters
_LETTER = re.compile(f"[{_UNSPACED}]")
_TOKEN = re.compile(f"[{_UNSPACED}][{re.escape(punctuation)}]*|[^\\s{_UNSPACED}]+")


def is_unspaced(text: str) -> bool:
    """Whether most of a text is of a script without spaces: its characters are its words then.

    >>> is_unspaced("两只狗在草地上跑。"), is_unspaced("two dogs run")
    (True, False)
    """
    return not text.isascii() and 2 * len(_LETTER.findall(text)) > len("".join(text.split()))


def split(text: str) -> list[str]:
    """The tokens of a caption: at white space, or characters where there is none.

    >>> split("two dogs run."), split("两只狗跑。")
    (['two', 'dogs', 'run.'], ['两', '只', '狗', '跑。'])
    """
    return _TOKEN.findall(text) if is_unspaced(text) else text.split()


def join(tokens: Sequence[str], source: str) -> str:
    """The tokens as a caption again, with spaces where the source has them between words."""
    return ("" if is_unspaced(source) else " ").join(tokens)


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
    tokens = split(text)
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
    return Corrupted(join(tokens, text), True, tuple(edits), requested, changed / n_words)
