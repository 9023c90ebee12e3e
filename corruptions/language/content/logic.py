"""Logic: what is becomes what is not, or what might be."""

from __future__ import annotations

from typing import NamedTuple

from metaeval.corruptions.base import Severity
from metaeval.corruptions.language.base import LanguageCorruption, Places, reword
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.inflection import verb_form
from metaeval.corruptions.language.parsed import (
    ING_NOUNS,
    NO_THINGS,
    NUMBER_WORDS,
    PEOPLE,
    ParsedCaption,
)
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.text.scene_graphs.rules.function_words import words as word_set

# words in -ing that form a compound with a noun right after them: "a touring motorcycle"
_COMPOUND_PARTS = ING_NOUNS | word_set(
    "touring gaming racing fishing swimming sailing skating training hiking camping hunting "
    "sleeping waiting cooking baking steering rocking frying mixing batting bathing "
    "boarding bowling chopping coaching farming fighting grooming ironing "
    "jogging running standing "
    "surfing teaching vending walking weighing welding working writing"
)
_COMPOUND_HEADS = word_set(
    "area areas room rooms board boards machine machines pan pans pool pools bag bags bowl bowls "
    "pin stick sticks shoe shoes fountain jet jets wheel chair chairs boat boats vessel vessels "
    "park parks rink stove pot pots gear boots table tables block station lot meter meters track "
    "tracks dish tray trays utensils suit suits mill grounds console motorcycle motorcycles car "
    "cars bike bikes hotel store net mask trunks outfit helmet"
)


def _is_compound(caption: ParsedCaption, place: int) -> bool:
    """Whether the word in -ing belongs to the noun right after it: "a BMW touring motorcycle"."""
    word, after = caption.word(place), caption.word(place + 1)
    if not caption.tag(place + 1).startswith("NN") or caption.tokens[place].closes:
        return False
    if word in ING_NOUNS or word in ("looking", "gaming", "touring"):
        return True
    return word in _COMPOUND_PARTS and after in _COMPOUND_HEADS


def acting(caption: ParsedCaption, place: int) -> bool:
    """Whether the token is a verb in -ing right after "is", "are" or the noun of a phrase."""
    word = caption.word(place)
    if not word.endswith("ing") or caption.tag(place) != "VBG" or not place:
        return False
    if word in ("during", "wing") or _is_compound(caption, place):
        return False
    if caption.word(place - 1) in ("is", "are"):
        return True
    before = caption.phrase_of(place - 1)
    return before is not None and before.end == place and not caption.tokens[place - 1].closes


_PERSONS = PEOPLE | {"group", "crowd"}
_OPENING = frozenset({"a", "an", *NUMBER_WORDS[1:], "some", "several", "many"})
_PICTURES = frozenset({"close", "view", "picture", "photo", "image", "shot", "photograph"})


class ThereIs(NamedTuple):
    """How "there is" goes before a caption: "is" or "are", and which "is" behind it goes."""

    word: str
    gone: tuple[Rewording, ...]


# finite verbs that the tagger takes for nouns: "a man on a motorbike rides down the street"
_MISREAD_VERBS = word_set(
    "rides sits stands plays walks runs jumps eats flies looks grazes poses rests sleeps swims "
    "surfs holds waits smiles lies lays crosses gathers drives travels talks skates wears sell "
    "sells rolls leans hits swings throws catches reaches"
)


def existential(caption: ParsedCaption) -> ThereIs | None:
    """How the caption can follow "there is": it begins with an indefinite phrase, and has no finite
    verb but "is" or "are" before a verb in -ing, which goes. `None` if it cannot."""
    first = caption.phrase_at(0)
    if first is None or caption.word(0) not in _OPENING or caption.word(first.head) in _PICTURES:
        return None
    after = first.end
    if caption.word(after) == "of" and (inner := caption.phrase_at(after + 1)) is not None:
        after = inner.end
    listed = "and" in caption.words[after : after + 1]
    counted = caption.word(0) not in ("a", "an", "some")
    plural = counted or caption.tokens[first.head].is_plural
    be = caption.word(after) in ("is", "are") and caption.tag(after + 1) in ("VBG", "VBN")
    gone = (Rewording(after, after + 1),) if be else ()
    rest = [t for i, t in enumerate(caption.tokens) if not (be and i == after)]
    inside = (i for p in caption.phrases for i in range(p.start, p.head))
    if caption.says(_MISREAD_VERBS) or any(caption.tokens[i].is_plural for i in inside):
        return None  # "two men sell ties" is read as one phrase
    if listed or any(t.tag in ("VBZ", "VBP", "MD") or t.word in ("is", "are") for t in rest):
        return None
    return ThereIs("are" if plural else "is", gone)


class _Logic(LanguageCorruption):
    kind = "logic"
    severity: Severity | None = "critical"


class NegateVerb(_Logic):
    """A man riding a horse becomes a man not riding a horse."""

    name = "negate_verb"
    title = "Verb negated"
    unchanged_reason = "has no verb that can be negated"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        if caption.says({"not", "no", "without", "n't", "isn't", "aren't", "never"}):
            return
        for i, token in enumerate(caption.tokens):
            if acting(caption, i):
                yield reword(i, i, "not")
            elif self._finite(caption, i):
                yield reword(i, i + 1, f"does not {token.lemma}")

    @staticmethod
    def _finite(caption: ParsedCaption, place: int) -> bool:
        token = caption.tokens[place]
        doer = caption.phrase_of(place - 1)
        return (
            token.tag == "VBZ"
            and token.word not in ("is", "has")
            and token.word == verb_form(token.lemma, "VBZ")
            and doer is not None
            and not caption.tokens[doer.head].is_plural
        )


class NegateNoun(_Logic):
    """A man holding a bat becomes a man holding no bat."""

    name = "negate_noun"
    title = "Noun negated"
    unchanged_reason = "names no second thing that could be absent"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            reword(p.start, p.start + 1, "no")
            for p in caption.phrases[1:]
            if caption.word(p.start) in ("a", "an")
            and caption.word(p.start + 1) not in ("both", "a", "an", "the")
            and caption.word(p.head) not in NO_THINGS
            and caption.word(p.start - 1) not in ("as", "like", "than", "of")
            and not caption.says({"not", "no", "without"})
        ]


class NegateExistence(_Logic):
    """Deny the thing: "a man riding a wave", "there is no man riding a wave"."""

    name = "negate_existence"
    title = "Existence negated"
    unchanged_reason = "does not begin with a thing that exists"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        if caption.says({"not", "no"}) or not caption.is_one_sentence():
            return
        be = existential(caption)
        if caption.word(0) == "there" and caption.word(1) in ("is", "are"):
            if caption.word(2) in _OPENING and caption.phrase_at(2) is not None:
                yield reword(2, 3, "no")
        elif be is not None:
            yield [(Rewording(0, 1, ("there", be.word, "no")), *be.gone)]


class WithoutIt(_Logic):
    """What comes with it is missing: "a dog with a frisbee", "a dog without a frisbee"."""

    name = "without_it"
    title = "With becomes without"
    unchanged_reason = 'has no "with" before a thing'

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        bound = {"filled", "covered", "topped", "decorated", "made", "loaded", "lined", "packed"}
        return [
            reword(i, i + 1, "without")
            for i, word in enumerate(caption.words)
            if word == "with"
            and i
            and caption.phrase_at(i + 1) is not None
            and caption.word(i - 1) not in bound
            and not caption.tokens[i].closes
        ]


class Modality(_Logic):
    """What is might be: "a man riding a horse", "a man who might be riding a horse"."""

    name = "modality"
    title = "Modality"
    severity = "mild"
    unchanged_reason = "has no verb in -ing for the present"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i in range(len(caption)):
            if acting(caption, i) and caption.word(i - 1) in ("is", "are"):
                yield reword(i - 1, i, "might be")
            elif acting(caption, i):
                who = "who" if caption.word(i - 1) in _PERSONS else "that"
                yield reword(i, i, f"{who} might be")
