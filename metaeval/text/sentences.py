"""The sentences of a text: for long captions, which consist of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_END = re.compile(r"(?:[.!?]|[。！？])+[\"'”’)\]」』]*$")
_UNSPACED_END = re.compile(r"[。！？]+[”’」』]*")
_ABBREVIATIONS = frozenset(
    {"mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "vs.", "etc.", "e.g.", "i.e.", "no."}
    | {"approx.", "a.m.", "p.m."}
)
_INITIAL = re.compile(r"(?:[A-Za-z]\.)+$")  # "J.", "U.S."


def sentence_starts(tokens: Sequence[str]) -> list[int]:
    """The positions of the tokens that begin a sentence.

    A sentence ends with a token whose last sign is a full stop, exclamation or question mark. Where
    the text has capitals, the next token must not begin with a small letter; abbreviations and
    initials end no sentence.

    >>> sentence_starts("A dog runs. It has a U.S. flag . Nice!".split())
    [0, 3, 8]
    """
    has_capitals = any(token != token.lower() for token in tokens)
    starts = [0] if tokens else []
    for i, (token, following) in enumerate(pairwise(tokens)):
        if not _END.search(token) or token.lower() in _ABBREVIATIONS or _INITIAL.match(token):
            continue
        if not (has_capitals and following[:1].islower()):
            starts.append(i + 1)
    return starts


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the white space between them; `[text]` for one.

    >>> split_sentences("A dog runs. It is brown."), split_sentences("狗在跑。它很大。")
    (['A dog runs.', 'It is brown.'], ['狗在跑。', '它很大。'])
    """
    # marks of scripts without spaces end a token, although no space follows
    spaced = _UNSPACED_END.sub(lambda mark: mark.group() + "\x00", text)
    tokens = list(re.finditer(r"[^\s\x00]+", spaced))
    if not tokens:
        return [text]
    starts = sentence_starts([token.group() for token in tokens])
    ends = [tokens[i - 1].end() for i in starts[1:]] + [len(spaced)]
    return [
        spaced[tokens[i].start() : end].replace("\x00", "").strip()
        for i, end in zip(starts, ends, strict=True)
    ]
