"""Forms of words, from lemminflect's dictionary (MIT; the forms are in the package)."""

from __future__ import annotations

from functools import cache

from lemminflect import getInflection, getLemma

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
    known = {many: one for one, many in _PLURALS.items()}.get(last)
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
