"""The Penn Treebank tokenisation that caption metrics are computed on, in Python.

Gives the tokens of pycocoevalcap's `PTBTokenizer`, i.e. of Stanford CoreNLP 3.4.1 with
`-preserveLines -lowerCase` less a list of punctuation, without Java: the rules are in
`ptb_rules.py`, the characters in `ptb_chars.py`, the machine that runs them here.

One thing cannot be had: the Java tokeniser reads all captions as one text, so a caption that ends
in a single letter ("… a sign with a K.") loses its full stop or not by the *next* caption ("A
man …" says that a sentence ended). Here no caption depends on another: one that begins with a
capital is taken to be followed by "A", any other by nothing that begins a sentence.

Line breaks inside a caption (LF, CR, VT, FF, U+2028, U+2029) count as spaces; in Java they split
the caption and shift all that follow. Half a surrogate pair, which no file can hold, counts as the
unknown character that it is. Emoji and all other characters unknown to the lexer are dropped.

One difference is known: lower-casing a capital sigma next to digits ("N4Σ"), where Java and Python
disagree on whether it is the word's last letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from metaeval.text.tokenizers.base import Tokenizer
from metaeval.text.tokenizers.ptb_chars import is_symbol, shadow
from metaeval.text.tokenizers.ptb_rules import ABBREVIATIONS, RULES

# What pycocoevalcap drops. The tokens are in lower case by then: "-lrb-" stays, as it does there.
DROPPED = frozenset({"''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-"}) | frozenset(
    {".", "?", "!", ",", ":", "-", "--", "...", ";"}
)
_CLEANED = str.maketrans(
    dict.fromkeys("\n\r\x0b\x0c\u2028\u2029", " ")
    | dict.fromkeys(map(chr, range(0xD800, 0xE000)), "\ufffd")
)
# What follows a caption. No rule can run from a caption into it or through it: it closes both
# kinds of quotes that an unfinished tag may have opened, and does not end such a tag.
AFTER = ("\n'\"<\n", "\nA '\"<\n")

# Words, and commas and full stops before spaces: nearly all captions are nothing but these.
_EASY = re.compile("[A-Za-z ]*(?:[,.] [A-Za-z ]*)*[,.]?")
_EASY_WORD = re.compile("[A-Za-z]+(?=([,.]?)[ \n])")
_MARKS = str.maketrans(",.", "  ")
_SPLIT = ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna")
# Words that the easy way would get wrong: those that are split, and those that keep a full stop.
_UNEASY = frozenset(word + mark for word in _SPLIT for mark in ("", ",", ".")) | frozenset(
    word + "." for word in (*ABBREVIATIONS, *"abcdefghijklmnopqrstuvwxyz")
)

Match = Callable[[str, int], "re.Match[str] | None"]


def sanitise(text: str) -> str:
    """The caption as one line of valid Unicode: breaks to spaces, lone surrogates to U+FFFD."""
    return text.translate(_CLEANED)


def following_text(text: str) -> str:
    """What the tokeniser sees after the caption."""
    return AFTER[text.lstrip()[:1].isupper()]


def drop_punctuation(tokens: list[str]) -> list[str]:
    """The tokens in lower case, less the punctuation that caption metrics leave out.

    A no-break space at the caption's very end goes too (an address can end in one).
    """
    lower = [token.lower() for token in tokens]
    while lower and lower[-1][-1].isspace():
        lower[-1:] = [token for token in [lower[-1].rstrip()] if token]
    return [token for token in lower if token not in DROPPED]


class PtbTokenizer(Tokenizer):
    """Stanford CoreNLP 3.4.1's PTB tokens, in lower case, without punctuation; pure Python.

    A token may hold a no-break space ("2 1/2" is one token, as in Java).
    """

    signature = "ptb-3.4.1"

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [_split_plain_text(text) or _split_any_text(text) for text in texts]


def _split_plain_text(text: str) -> list[str] | None:
    """The tokens of a caption in which nothing but spaces parts words; `None` for any other."""
    if _EASY.fullmatch(text) is None:
        return None
    lower = text.lower()
    if _UNEASY.isdisjoint(lower.split()):
        return lower.translate(_MARKS).split()
    return None


def _split_any_text(text: str) -> list[str]:
    """The tokens of any text, by the longest match among all rules at each position."""
    text = sanitise(text)
    end = len(text)
    text += following_text(text)
    seen = shadow(text)
    tokens: list[str] = []
    position = 0
    while position < end:
        char = seen[position]
        if char == " ":
            position += 1
            continue
        easy = _EASY_WORD.match(seen, position)
        if easy and (easy[0] + easy[1]).lower() not in _UNEASY:
            tokens.append(easy[0])
            position = easy.end()
            continue
        best: re.Match[str] | None = None
        longest = position
        for match, maker in _rules(min(char, "\x80")):
            token_match = match(seen, position)
            if token_match is not None and token_match.end() > longest:
                best, longest, make = token_match, token_match.end(), maker
        if best is None:
            if is_symbol(text[position]):
                tokens.append(text[position])
            position += 1
        else:
            token = make(text[position : best.end(1)])
            tokens.extend(part for part in token.split(" ") if part)
            position = best.end(1)
    return drop_punctuation(tokens)


@cache
def _compiled() -> list[tuple[str, Match, Callable[[str], str]]]:
    return [(rule.starts, re.compile(rule.pattern).match, rule.make) for rule in RULES]


@cache
def _rules(char: str) -> list[tuple[Match, Callable[[str], str]]]:
    """The rules that can match at this character, in order; for any but ASCII's, all of them."""
    kind = "a" if char.isalpha() else "0" if char.isdigit() else char
    every = not (char.isascii() and char.isprintable())
    return [(match, make) for starts, match, make in _compiled() if every or kind in starts]
