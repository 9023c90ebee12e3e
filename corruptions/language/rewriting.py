"""Putting other words into a caption, with articles, capitals and punctuation left in order."""

import re
from collections.abc import Sequence
from functools import cache
from string import punctuation
from typing import NamedTuple

from lemminflect import getInflection, getLemma

from metaeval.runs.records import Edit

_VOWEL_SOUND = re.compile(
    r"(?:[aeiou]|hour|honest|heir|8|11\b|18\b|x-?ray|mp3|suv|rv\b|lcd|hd\b)", re.IGNORECASE
)
_CONSONANT_SOUND = re.compile(
    r"(?:uni(?!n|m)|uri|use|ute|using|util|ewe|eu|one\b|once|one-|u\.?s\b|ukulele)", re.IGNORECASE
)
_ENDS = ".!?"


class Rewording(NamedTuple):
    """Tokens `start` ≤ i < `end` give way to `words`; equal places insert, no words delete."""

    start: int
    end: int
    words: tuple[str, ...] = ()


def article_for(word: str) -> str:
    """ "an" before a vowel sound, else "a".

    >>> [article_for(w) for w in ("apple", "unicorn", "umbrella", "hour", "8-ball", "European")]
    ['an', 'a', 'an', 'an', 'an', 'a']
    """
    word = word.strip(punctuation)
    return "an" if _VOWEL_SOUND.match(word) and not _CONSONANT_SOUND.match(word) else "a"


def reworded(
    text: str, rewordings: Sequence[Rewording], *, articles: bool = True
) -> tuple[str, tuple[Edit, ...]]:
    """The text with non-overlapping rewordings made, and what changed.

    Punctuation around a replaced stretch stays, and so does the full stop of one that is deleted;
    with `articles`, "a" and "an" follow the word after them where either is new; a caption that
    began with a capital still does, and one in capitals throughout stays so. Applying the edits to
    `text.split()` gives the new tokens.
    """
    old = text.split()
    if text.isupper():
        upper = (tuple(word.upper() for word in r.words) for r in rewordings)
        rewordings = [r._replace(words=words) for r, words in zip(rewordings, upper, strict=True)]
    tokens: list[str] = []
    origins: list[int | None] = []
    place = 0
    for rewording in (*sorted(rewordings, key=lambda r: r[:2]), Rewording(len(old), len(old))):
        tokens += old[place : rewording.start]
        origins += range(place, rewording.start)
        _put(old, rewording, tokens, origins)
        place = rewording.end
    _settle_capitals(old, tokens, origins)
    if articles:
        _settle_articles(old, tokens, origins)
    return " ".join(tokens), _edits(old, tokens, origins)


def _put(
    old: Sequence[str], rewording: Rewording, tokens: list[str], origins: list[int | None]
) -> None:
    """The new words instead of the old ones, with the punctuation around those."""
    start, end, words = rewording
    new = list(words)
    if start == end == len(old) and new and tokens:  # behind everything: the full stop comes along
        tail = _tail(tokens[-1])
        if tail == tokens[-1]:  # it stands alone, as in tokenised text, and stays so
            tokens[-1:] = [*new, tail]
            origins[-1:] = [*[None] * len(new), origins[-1]]
            return
        tokens[-1] = tokens[-1][: len(tokens[-1]) - len(tail)]
        new[-1] += tail
    elif start < end and new:
        new[0] = _lead(old[start]) + new[0]
        new[-1] += _tail(old[end - 1])
    elif start < end == len(old) and tokens:
        marks = ",;:" + _ENDS
        while len(tokens) > 1 and not tokens[-1].strip(marks):  # a comma that stands alone goes
            del tokens[-1], origins[-1]
        stop = "".join(c for c in _tail(old[end - 1]) if c in _ENDS)
        tokens[-1] = tokens[-1].rstrip(marks) + stop if tokens[-1].strip(marks) else tokens[-1]
    tokens += new
    origins += [start + k if start + k < end else None for k in range(len(new))]


def _tail(token: str) -> str:
    """The punctuation at the end of a token; all of a token that is nothing else."""
    return token[len(token.rstrip(punctuation)) :]


def _lead(token: str) -> str:
    """The punctuation before the word of a token."""
    return token[: len(token) - len(token.lstrip(punctuation))] if _tail(token) != token else ""


def _settle_capitals(old: list[str], tokens: list[str], origins: list[int | None]) -> None:
    if (
        not old
        or not tokens
        or not old[0][:1].isupper()
        or (origins[0] == 0 and tokens[0] == old[0])
    ):
        return
    core = old[0].strip(punctuation)
    is_name = core == "I" or core[1:2].isupper()  # "TV": it keeps its capital elsewhere
    for i, origin in enumerate(origins):
        if i and origin == 0 and tokens[i] == old[0] and not is_name:
            tokens[i] = tokens[i][:1].lower() + tokens[i][1:]
    tokens[0] = tokens[0][:1].upper() + tokens[0][1:]


def _settle_articles(old: list[str], tokens: list[str], origins: list[int | None]) -> None:
    for i in range(len(tokens) - 1):
        if tokens[i].lower() not in ("a", "an"):
            continue
        here, after = origins[i], origins[i + 1]
        moved = here is None or after is None or after != here + 1
        if moved or tokens[i + 1] != old[after or 0] or tokens[i] != old[here or 0]:
            article = article_for(tokens[i + 1])
            tokens[i] = article.capitalize() if tokens[i][0].isupper() else article


def _edits(old: list[str], new: list[str], origins: list[int | None]) -> tuple[Edit, ...]:
    """One edit a changed word: replaced in place, inserted (before ""), deleted (after "")."""
    edits: list[Edit] = []
    for i, (token, origin) in enumerate(zip(new, origins, strict=True)):
        if origin is None:
            following = next((o for o in origins[i:] if o is not None), len(old))
            edits.append(Edit(following, "", token))
    after = dict(zip(origins, new, strict=True))
    edits += [Edit(j, o, after.get(j, "")) for j, o in enumerate(old) if after.get(j, "") != o]
    return tuple(sorted(edits, key=lambda e: e.position))


# where the dictionary knows several forms, or none that captions use
_PLURALS = {"person": "people", "bus": "buses", "fish": "fish", "sheep": "sheep", "deer": "deer"}
_FORMS = {
    ("be", "VBZ"): "is",
    ("lie", "VBG"): "lying",
    ("lie", "VBN"): "lain",
    ("ski", "VBG"): "skiing",
    ("surf", "VBG"): "surfing",
    ("travel", "VBG"): "traveling",
}


@cache
def plural(noun: str) -> str:
    """The plural of a noun: its last word is inflected ("tennis racket": "tennis rackets")."""
    *before, last = noun.split(" ")
    if len(last) < 2 or not last.isalpha():
        return noun
    forms = getInflection(last, "NNS")
    return " ".join([*before, _PLURALS.get(last) or (forms[0] if forms else f"{last}s")])


@cache
def singular(noun: str) -> str:
    """The singular of a plural noun, by its last word."""
    *before, last = noun.split(" ")
    known = next((one for one, many in _PLURALS.items() if many == last), None)
    forms = getLemma(last, "NOUN")
    return " ".join([*before, known or (forms[0] if forms else last)])


@cache
def verb_form(lemma: str, tag: str) -> str:
    """A verb's form: VB (ride), VBZ (rides), VBG (riding), VBD (rode), VBN (ridden).

    Of a verb with a particle ("get off") the first word is inflected.
    """
    verb, *rest = lemma.split(" ")
    if len(verb) < 2 or not verb.isalpha():
        return lemma
    forms = getInflection(verb, tag)
    return " ".join([_FORMS.get((verb, tag)) or (forms[0] if forms else verb), *rest])


@cache
def verb_lemma(form: str) -> str:
    """The lemma of a verb's form ("riding": "ride")."""
    forms = getLemma(form, "VERB")
    return str(forms[0]) if forms else form
