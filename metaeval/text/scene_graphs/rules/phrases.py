"""Tags → noun phrases: heads, what describes them, and which of them belong together."""

from __future__ import annotations

from dataclasses import dataclass, field

from metaeval.text.scene_graphs.rules import function_words as fn
from metaeval.text.scene_graphs.rules.tagger import Token

_MODIFIERS = ("DT", "PRP$", "CD", "JJ", "NN", "NNS")


@dataclass(slots=True, eq=False)
class Phrase:
    """A noun phrase.

    `head` is the lemma of its last noun (a pronoun has its antecedent's); `attributes` what is said
    of it, in order; `others` nouns that are objects without being the head ("couple"); `owner` who
    has it: a phrase, or "his" and the like.
    """

    head: str
    plural: bool = False
    determined: bool = False
    pronoun: bool = False
    attributes: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    owner: Phrase | str | None = None


def read_phrase(tokens: list[Token], i: int) -> tuple[Phrase | None, int]:
    """The noun phrase that begins at token i and the position after it, or (None, i)."""
    if i < len(tokens) and tokens[i].tag == "PRP":
        return Phrase(tokens[i].word, pronoun=True), i + 1
    phrase, end = _read_core(tokens, i)
    if phrase is None:
        return None, i
    while end + 1 < len(tokens) and tokens[end].tag == "POS":  # the man 's hat
        owned, after = _read_core(tokens, end + 1)
        if owned is None:
            break
        owned.owner, phrase, end = phrase, owned, after
    return _through_quantity(tokens, i, phrase, end)


def _through_quantity(
    tokens: list[Token], start: int, phrase: Phrase, end: int
) -> tuple[Phrase, int]:
    """ "A couple of dogs" and "lots of dogs" are the dogs, with "a" and "lot" for an attribute."""
    if end + 1 >= len(tokens) or tokens[end].word != "of":
        return phrase, end
    word = tokens[end - 1].word
    single = word in fn.QUANTITIES and tokens[start].word in ("a", "an")
    if not single and word not in fn.PLURAL_QUANTITIES:
        return phrase, end
    inner, after = read_phrase(tokens, end + 1)
    if inner is None or inner.pronoun:
        return phrase, end
    if inner.plural:
        inner.attributes.append(tokens[start].word if single else phrase.head)
    inner.others.append(phrase.head)
    inner.determined = True
    return inner, after


def _read_core(tokens: list[Token], start: int) -> tuple[Phrase | None, int]:
    i = start
    while i < len(tokens) and (tokens[i].tag in _MODIFIERS or _joins_adjectives(tokens, i)):
        if tokens[i].tag == "DT" and i > start and tokens[i - 1].is_noun:
            break  # "the man the dog"
        i += 1
    while i > start and not tokens[i - 1].is_noun:
        i -= 1
    if i == start:
        return None, start
    words, last = tokens[start : i - 1], tokens[i - 1]
    phrase = Phrase(last.lemma, plural=last.tag == "NNS")
    for token in words:
        if token.tag == "PRP$":
            phrase.owner = token.word
        if token.tag in ("DT", "PRP$"):
            phrase.determined = True
        elif token.tag == "CD" and phrase.plural:
            phrase.attributes.append(token.word)
        elif token.tag in ("JJ", "NN", "NNS"):
            phrase.attributes.append(token.lemma)
    return phrase, i


def _joins_adjectives(tokens: list[Token], i: int) -> bool:
    """Whether token i stands between adjectives: "black and white", "old, rusty", "very old"."""
    token = tokens[i]
    after = tokens[i + 1].tag if i + 1 < len(tokens) else ""
    before = tokens[i - 1].tag if i else ""
    if token.tag in ("CC", ","):
        return before == "JJ" and after == "JJ"
    return token.tag == "RB" and after == "JJ" and token.word not in ("not", "n't", "there")


def read_group(tokens: list[Token], i: int, *, inside: bool) -> tuple[list[Phrase], int]:
    """A noun phrase with those that "and", "or" or commas add to it, and the position after it.

    `inside`: a verb or preposition came before, so "and a dog is …" begins another clause.
    """
    phrase, end = read_phrase(tokens, i)
    if phrase is None:
        return [], i
    group = [phrase]
    while end < len(tokens):
        after = end
        while after < len(tokens) and (
            tokens[after].tag == "," or tokens[after].word in ("and", "or", "&")
        ):
            after += 1
        if after == end:
            break
        following, stop = read_phrase(tokens, after)
        if following is None or following.pronoun:
            break
        conjunction = tokens[after - 1].tag == "CC"
        ahead = tokens[stop].tag if stop < len(tokens) else "."
        if inside and ahead in ("BE", "VBZ", "HAVE", "MD"):
            break
        if not conjunction and not _list_goes_on(tokens, stop):
            break
        group.append(following)
        end = stop
    return group, end


def _list_goes_on(tokens: list[Token], i: int) -> bool:
    """Whether a comma-separated list has its "and" still to come."""
    while i < len(tokens) and (tokens[i].tag in (*_MODIFIERS, ",", "RB")):
        i += 1
    return i < len(tokens) and tokens[i].word in ("and", "or", "&")
