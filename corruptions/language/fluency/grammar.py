"""Grammar: agreement, verb forms, tense, articles and pronouns gone wrong."""

from __future__ import annotations

from corruptions.language.base import LanguageCorruption, Places, swapped_words
from corruptions.language.content.logic import acting
from corruptions.language.content.numbers import number_of
from corruptions.language.inflection import singular, verb_form
from corruptions.language.known import Known
from corruptions.language.parsed import ParsedCaption
from corruptions.language.rewriting import Rewording

_NOTHING = Known()
_BE_HAVE = {"is": "are", "are": "is", "was": "were", "were": "was", "has": "have"}


class BreakAgreement(LanguageCorruption):
    """Verb and subject, number and noun no longer agree: "a man are", "two dog"."""

    name = "break_agreement"
    title = "Agreement broken"
    kind = "grammar"
    lacks = "has nothing that must agree"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places = swapped_words(caption, _BE_HAVE, _NOTHING)
        for i, token in enumerate(caption.tokens):
            verb = token.tag == "VBZ" and token.word == verb_form(token.lemma, "VBZ")
            if verb and token.word not in _BE_HAVE and caption.phrase_of(i) is None:
                places.append([(Rewording(i, i + 1, (token.lemma,)),)])
            phrase = caption.phrase_of(i)
            if number_of(caption, i) is not None and phrase is not None:
                one = singular(caption.word(phrase.head))
                if one != caption.word(phrase.head):
                    places.append([(Rewording(phrase.head, phrase.end, (one,)),)])
        return places


class WrongVerbForm(LanguageCorruption):
    """A verb stands in a form that does not belong there: "a man ride a horse", "is ride".

    Not after many, where "people ride a horse" would be right.
    """

    name = "wrong_verb_form"
    title = "Verb form"
    kind = "grammar"
    settles_articles = False
    lacks = "has no verb in -ing after a noun or a form of to be"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, token in enumerate(caption.tokens):
            lemma = verb_form(token.lemma, "VB")
            before = caption.tokens[i - 1]
            sure = before.word in ("is", "are") or before.tag in ("NN", "NNP")
            if sure and acting(caption, i) and verb_form(lemma, "VBG") == token.word:
                places.append([(Rewording(i, i + 1, (lemma,)),)])
        return places


class WrongTense(LanguageCorruption):
    """What is going on will be: "is riding" becomes "will be riding"; the picture shows it now."""

    name = "wrong_tense"
    title = "Tense"
    kind = "grammar"
    lacks = "has no verb in the present"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, token in enumerate(caption.tokens):
            if token.word in ("is", "are") and caption.tag(i + 1) in ("VBG", "VBN", "IN"):
                places.append([(Rewording(i, i + 1, ("will", "be")),)])
            elif acting(caption, i) and caption.word(i - 1) not in ("is", "are"):
                places.append([(Rewording(i, i, ("that", "will", "be")),)])
        return places


class WrongArticles(LanguageCorruption):
    """ "A" where "an" belongs, "a" before many, and the other way round: "an dog", "a dogs"."""

    name = "wrong_articles"
    title = "Wrong articles"
    kind = "grammar"
    settles_articles = False
    lacks = 'has neither "a" nor "an"'

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            [(Rewording(i, i + 1, ("an" if word == "a" else "a",)),)]
            for i, word in enumerate(caption.words)
            if word in ("a", "an") and caption.word(i + 1)
        ]


_CASES = {
    "he": "him", "she": "her", "they": "them", "him": "he", "them": "they", "his": "he",
    "their": "they", "its": "it", "it": "its", "i": "me", "we": "us", "who": "whom",
}  # fmt: skip


class PronounCase(LanguageCorruption):
    """A pronoun stands in another case: "him is riding", "on they skateboards"."""

    name = "pronoun_case"
    title = "Case of pronouns"
    kind = "grammar"
    settles_articles = False
    lacks = "has no pronoun"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        her: Places = [
            [(Rewording(i, i + 1, ("she",)),)]
            for i, word in enumerate(caption.words)
            if word == "her"
        ]
        return [*swapped_words(caption, _CASES, _NOTHING), *her]
