"""Grammar: agreement, verb forms, tense, articles and pronouns gone wrong."""

from __future__ import annotations

from metaeval.corruptions.language.base import LanguageCorruption, Places, reword, swapped_words
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.content.logic import acting, number_of
from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import singular, verb_form
from metaeval.text.scene_graphs.rules.tagger import pairs, words as word_set

_BE_HAVE = pairs("is/are are/is was/were were/was has/have")


_GROUPS = word_set(
    "group groups couple bunch herd herds flock crowd pair team family number stack stacks pile "
    "row rows line set variety collection assortment cluster series lot lots trio"
)


class _Grammar(LanguageCorruption):
    kind = "grammar"
    severity = "mild"


class BreakAgreement(_Grammar):
    """Verb and subject, number and noun no longer agree: "a man are", "two dog".

    Not a verb behind "a group of dogs" or "the couple": both of its forms are written.
    """

    name = "break_agreement"
    title = "Agreement broken"
    unchanged_reason = "has nothing that must agree"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        grouped = caption.says(_GROUPS)
        if not grouped:
            yield from swapped_words(caption, _BE_HAVE)
        for i, token in enumerate(caption.tokens):
            verb = token.tag == "VBZ" and token.word == verb_form(token.lemma, "VBZ")
            past = token.lemma == verb_form(token.lemma, "VBD")  # "that read"
            verb = verb and not grouped and not past
            if verb and token.word not in _BE_HAVE and caption.phrase_of(i) is None:
                yield reword(i, i + 1, token.lemma)
            phrase = caption.phrase_of(i)
            if number_of(caption, i) is not None and phrase is not None:
                one = singular(caption.word(phrase.head))
                if one != caption.word(phrase.head):
                    yield reword(phrase.head, phrase.end, one)


_MANY = word_set(
    "and or people men women children group couple pair bunch herd flock crowd team family number "
    "lot police cattle sheep deer fish giraffe zebra elephant bison buffalo can will may might "
    "could would does do did to not let watch watches helps help"
)
_PAST_OF_OTHERS = word_set("lay saw fell found bore felt left wound ground")
_ADJECTIVES = word_set("open close clear dry wet empty clean light present level separate complete")
# what "a bus ..." can also be: a stop, a ride
_NOUNS = word_set(
    "stop park shop race display cross drink run jump ride drive swing walk play show stand "
    "stretch stack fence graze head face line drop land dock pitch catch serve sign view picture "
    "cover carry slide rest"
)


class WrongVerbForm(_Grammar):
    """A verb stands in a form that does not belong there: "a man ride a horse", "is ride".

    After a noun only where the subject is one thing ("people ride a horse" is grammatical), and
    where the new form is neither a past tense ("a dog lay down") nor a noun ("a bus stop").
    """

    name = "wrong_verb_form"
    title = "Verb form"
    settles_articles = False
    unchanged_reason = "has no verb in -ing after a noun or a form of to be"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, token in enumerate(caption.tokens):
            lemma = verb_form(token.lemma, "VB")
            if not acting(caption, i) or verb_form(lemma, "VBG") != token.word:
                continue
            if caption.word(i - 1) in ("is", "are"):
                participle = lemma == verb_form(lemma, "VBN") and lemma not in ("run", "come")
                wrong = not participle and lemma not in _ADJECTIVES
            else:
                wrong = self._is_one(caption, i) and self._is_verb(caption, i, lemma)
            if wrong:
                yield reword(i, i + 1, lemma)

    @staticmethod
    def _is_one(caption: ParsedCaption, verb: int) -> bool:
        """Whether all that can be the subject of the verb is one thing, named with an article."""
        before = caption.tokens[:verb]
        if any(t.is_plural or t.word in _MANY or t.closes for t in before):
            return False
        phrase = caption.phrase_of(verb - 1)
        return phrase is not None and caption.word(phrase.start) in ("a", "an", "one", "the")

    @staticmethod
    def _is_verb(caption: ParsedCaption, verb: int, lemma: str) -> bool:
        """Whether the plain form reads as a verb there: no past tense, no noun of a compound."""
        if lemma == verb_form(lemma, "VBD") or lemma in _PAST_OF_OTHERS:
            return False
        return lemma not in _NOUNS or caption.phrase_at(verb + 1) is not None


class WrongTense(_Grammar):
    """What is going on will be: "is riding" becomes "will be riding"; the picture shows it now."""

    name = "wrong_tense"
    title = "Tense"
    unchanged_reason = "has no verb in the present"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, token in enumerate(caption.tokens):
            if token.word in ("is", "are") and caption.tag(i + 1) in ("VBG", "VBN", "IN"):
                yield reword(i, i + 1, "will be")
            elif acting(caption, i) and caption.word(i - 1) not in ("is", "are"):
                yield reword(i, i, "that will be")


class WrongArticles(_Grammar):
    """ "A" where "an" belongs, "a" before many, and the other way round: "an dog", "a dogs"."""

    name = "wrong_articles"
    title = "Wrong articles"
    settles_articles = False
    unchanged_reason = 'has neither "a" nor "an"'

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            reword(i, i + 1, "an" if word == "a" else "a")
            for i, word in enumerate(caption.words)
            if word in ("a", "an") and caption.word(i + 1)
        ]


_CASES = pairs(
    "he/him she/her they/them him/he them/they his/he their/they its/it it/its i/me we/us who/whom"
)


class PronounCase(_Grammar):
    """A pronoun stands in another case: "him is riding", "on they skateboards"."""

    name = "pronoun_case"
    title = "Case of pronouns"
    settles_articles = False
    unchanged_reason = "has no pronoun"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [*swapped_words(caption, _CASES), *swapped_words(caption, {"her": "she"})]
