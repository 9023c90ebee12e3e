"""Words → part-of-speech tags and lemmas, by lexicon, ending and the words around."""

from __future__ import annotations

import re
from dataclasses import dataclass

from metaeval.text.scene_graphs.rules import function_words as fn
from metaeval.text.scene_graphs.rules import lexicon as lex

_TOKEN = re.compile(r"[a-z0-9]+(?:[-'’/][a-z0-9]+)*|'s|[.,;:!?&]")
_POSSESSIVE = re.compile(r"(.+)['’]s$")
_NOT = re.compile(r"(.+)n['’]t$")
_VOWELS = "aeiou"
# A verb can follow the tags on the left and be followed by those on the right.
_CLOSES_NOUN = frozenset({"DT", "JJ", "PRP$", "CD", "POS"})


@dataclass(slots=True)
class Token:
    """A word in lower case, its Penn Treebank tag (roughly), and its lemma."""

    word: str
    tag: str = ""
    lemma: str = ""

    @property
    def is_noun(self) -> bool:
        return self.tag in ("NN", "NNS")

    @property
    def is_verb(self) -> bool:
        return self.tag in ("VB", "VBZ", "VBG", "VBN", "VBD")


def _doubles(base: str) -> bool:
    """run → running: a short word that ends in consonant, vowel, consonant."""
    return (
        len(base) >= 3
        and base[-1] not in _VOWELS + "wxy"
        and base[-2] in _VOWELS
        and (base[-3] not in _VOWELS or base[-3:-1] == "ui")
        and sum(c in _VOWELS for c in base) == (2 if "ui" in base else 1)
    )


def _inflections(base: str) -> dict[str, str]:
    """The regular forms of a verb → their tags."""
    y = base.endswith("y") and base[-2] not in _VOWELS
    stem = base[:-1] if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) else base
    if _doubles(base):
        stem = base + base[-1]
    third = base[:-1] + "ies" if y else base + ("es" if base.endswith(_SIBILANTS) else "s")
    past = base[:-1] + "ied" if y else (base + "d" if base.endswith("e") else stem + "ed")
    return {third: "VBZ", past: "VBN", (base if y else stem) + "ing": "VBG"}


_SIBILANTS = ("s", "x", "z", "ch", "sh", "o")
_EXTRA = {"traveling": "travel", "travelling": "travel", "skateboarding": "skateboard"}
_FORMS: dict[str, tuple[str, str]] = {
    form: (base, tag)
    for base in sorted(lex.VERBS | lex.NOUN_OR_VERB)
    for form, tag in _inflections(base).items()
} | {form: (base, "VBG") for form, base in _EXTRA.items()}
_FORMS |= lex.IRREGULAR_VERBS

_CLOSED = {
    **dict.fromkeys(fn.ADVERBS, "RB"),
    **dict.fromkeys(fn.PREPOSITIONS, "IN"),
    **dict.fromkeys(fn.DETERMINERS, "DT"),
    **dict.fromkeys(fn.POSSESSIVES, "PRP$"),
    **dict.fromkeys(fn.PRONOUNS, "PRP"),
    **dict.fromkeys(fn.CARDINALS, "CD"),
    **dict.fromkeys(fn.SUBORDINATORS, "SUB"),
    **dict.fromkeys(fn.CONJUNCTIONS, "CC"),
    **dict.fromkeys(fn.MODALS, "MD"),
    **dict.fromkeys(fn.RELATIVE, "WDT"),
    **dict.fromkeys(fn.BE, "BE"),
    **dict.fromkeys(fn.HAVE, "HAVE"),
    **dict.fromkeys(fn.DO, "DO"),
    "to": "TO",
}
_PUNCTUATION = {**dict.fromkeys(".!?;", "."), **dict.fromkeys(",:", ",")}


def tokenize(sentence: str) -> list[str]:
    """Words and punctuation in lower case; possessive 's and n't are words of their own."""
    words: list[str] = []
    for word in _TOKEN.findall(sentence.lower()):
        if match := _POSSESSIVE.match(word):
            words += [match[1], "'s"]
        elif match := _NOT.match(word):
            words += [match[1], "n't"]
        else:
            words.append(word)
    return words


def tag(sentence: str) -> list[Token]:
    """The tokens of a sentence with tags and lemmas.

    Besides Penn's: BE, HAVE, DO for the auxiliaries, SUB for subordinating conjunctions, "," for
    commas and the like, "." for what ends a sentence.
    """
    tokens = [Token(word) for word in tokenize(sentence)]
    for i, token in enumerate(tokens):
        token.tag = _tag(tokens, i)
    for i, token in enumerate(tokens):
        _repair(tokens, i)
        token.lemma = _lemma(token)
        if token.tag == "JJ" and _FORMS.get(token.word, ("", ""))[1] == "VBG":
            token.lemma = _FORMS[token.word][0]  # "a smiling man": to smile
    return tokens


def _tag(tokens: list[Token], i: int) -> str:
    return _tag_by_word(tokens, i) or _tag_by_lexicon(tokens, i)


def _tag_by_word(tokens: list[Token], i: int) -> str:
    """The tag of punctuation, a function word or a number; "" for other words."""
    word = tokens[i].word
    before = tokens[i - 1].tag if i else ""
    after = tokens[i + 1].word if i + 1 < len(tokens) else "."
    if word in _PUNCTUATION:
        return _PUNCTUATION[word]
    if word == "'s":
        return "POS" if before in ("NN", "NNS") and _may_be_noun(after) else "BE"
    if word == "other" and i and tokens[i - 1].word == "each":
        return "RB"  # "next to each other" names nothing
    if word == "there" and after in fn.BE:
        return "EX"
    if word == "that" and before not in ("NN", "NNS", ",", "RB"):
        return "DT"
    if word == "her" and not _may_be_noun(after):
        return "PRP"
    if word[0].isdigit():
        return "CD" if word.isdigit() else "JJ"
    return _CLOSED.get(word, "")


def _tag_by_lexicon(tokens: list[Token], i: int) -> str:
    """The tag of a noun, verb, adjective or adverb."""
    word = tokens[i].word
    before = tokens[i - 1].tag if i else ""
    after = tokens[i + 1].word if i + 1 < len(tokens) else "."
    if word in lex.ADJECTIVES:
        return "JJ"
    if word in lex.ING_NOUNS:
        acts = word in _FORMS and before in ("NN", "NNS", "BE")  # "a man parking a car"
        return "VBG" if acts and after in fn.DETERMINERS | fn.POSSESSIVES else "NN"
    if word in lex.S_NOUNS:
        return "NN"
    if word in _FORMS:
        return _verb_form(tokens, i, _FORMS[word][1])
    if word in lex.VERBS or word in lex.NOUN_OR_VERB:
        return _base_form(tokens, i)
    return _by_ending(word, before)


def _may_be_noun(word: str) -> bool:
    """Whether a noun phrase may go on with this word."""
    return (word not in _CLOSED and word not in _PUNCTUATION) or word in fn.CARDINALS


def _verb_form(tokens: list[Token], i: int, form: str) -> str:
    word, before = tokens[i].word, tokens[i - 1].tag if i else ""
    after = tokens[i + 1].word if i + 1 < len(tokens) else "."
    base = _FORMS[word][0]
    if form == "VBZ":
        if base not in lex.NOUN_OR_VERB:
            return "NNS" if before in _CLOSES_NOUN else "VBZ"
        opens = after in _CLOSED and after not in fn.CONJUNCTIONS and after not in fn.BE
        if before in ("NN", "WDT") and opens and after != "of":
            return "VBZ"
        return "NNS"
    if form == "VBG" and before in _CLOSES_NOUN and _may_be_noun(after):
        return "NN" if word in lex.ING_COMPOUNDS else "JJ"
    if form == "VBG" and word in lex.ING_COMPOUNDS and _may_be_noun(after) and before != "BE":
        return "NN" if before in ("", "IN") else "VBG"
    if form == "VBG" and before == "DT":
        return "NN"
    if form in ("VBN", "VBD") and before in {*_CLOSES_NOUN, "", "IN", "CC"} and _may_be_noun(after):
        return "JJ"
    return form


def _base_form(tokens: list[Token], i: int) -> str:
    word, before = tokens[i].word, tokens[i - 1] if i else Token("")
    after = tokens[i + 1].word if i + 1 < len(tokens) else "."
    if before.tag in ("TO", "MD", "DO"):
        return "VB"
    if before.tag in _CLOSES_NOUN or before.tag in ("", "IN"):
        return "NN"
    plural = before.tag in ("NNS", "WDT", "PRP") or before.word == "people"
    if word not in lex.NOUN_OR_VERB:
        return "VB" if plural or before.tag in ("CC", "RB") else "NN"
    opens = after in _CLOSED and after not in fn.CONJUNCTIONS and after != "of"
    return "VB" if plural and (opens or after in ".,") else "NN"


def _by_ending(word: str, before: str) -> str:
    if word.endswith("ly") and len(word) > 4 and before not in ("DT", "JJ"):
        return "RB"
    if word.endswith(("ful", "ous", "ish", "able", "ible", "ive", "less")) and len(word) > 5:
        return "JJ"
    if word.endswith("ing") and len(word) > 5:
        return "JJ" if before in _CLOSES_NOUN else "VBG"
    if word.endswith("ed") and len(word) > 4:
        return "VBN" if before in ("NN", "NNS", "BE") else "JJ"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return "NNS"
    return "NNS" if word in lex.IRREGULAR_PLURALS or word == "people" else "NN"


def _repair(tokens: list[Token], i: int) -> None:
    """Correct a tag that depends on the words that follow."""
    token = tokens[i]
    after = tokens[i + 1].tag if i + 1 < len(tokens) else "."
    before = tokens[i - 1].tag if i else ""
    ends_phrase = after not in ("NN", "NNS", "JJ", "CD", "CC", "VBG", "VBN", ",")
    if token.tag == "JJ" and ends_phrase and before in ("DT", "PRP$") and after != "POS":
        token.tag = "NN"  # "in the dark"
    if token.word in lex.PLURAL_LEMMAS and token.word.endswith("s"):
        token.tag = "NNS"


def _lemma(token: Token) -> str:
    word = token.word
    if token.is_verb:
        return _FORMS[word][0] if word in _FORMS else _unknown_verb(word)
    if token.tag == "NNS":
        return _singular(word)
    return {"BE": "be", "HAVE": "have", "DO": "do"}.get(token.tag, word)


def _unknown_verb(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                return stem[:-1]
            return stem
    return word


def _singular(word: str) -> str:
    if word in lex.PLURAL_LEMMAS:
        return word
    if word in lex.IRREGULAR_PLURALS:
        return lex.IRREGULAR_PLURALS[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
