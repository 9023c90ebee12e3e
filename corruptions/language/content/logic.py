"""Logic: what is becomes what is not, or what might be."""

import re
from typing import NamedTuple

from metaeval.corruptions.language.base import Change, LanguageCorruption, Places, reword
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.parsed import (
    ING_NOUNS,
    NO_THINGS,
    NUMBER_WORDS,
    PEOPLE,
    NounPhrase,
    ParsedCaption,
)
from metaeval.corruptions.language.rewriting import Rewording, singular, verb_form
from metaeval.text.scene_graphs.rules.tagger import set_of_words as word_set

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


class _Logic(LanguageCorruption, kind="logic", severity="critical"):
    """Changes what is denied or possible."""


class NegateVerb(_Logic, title="Verb negated", unchanged_reason="has no verb that can be negated"):
    """A man riding a horse becomes a man not riding a horse."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        if caption.says({"not", "no", "without", "n't", "isn't", "aren't", "never"}):
            return []
        if acting(caption, i):
            return reword(i, i, "not")
        token, doer = caption.tokens[i], caption.phrase_of(i - 1)
        finite = (
            token.tag == "VBZ"
            and token.word not in ("is", "has")
            and token.word == verb_form(token.lemma, "VBZ")
            and doer is not None
            and not caption.tokens[doer.head].is_plural
        )
        return reword(i, i + 1, f"does not {token.lemma}") if finite else []


class NegateNoun(
    _Logic, title="Noun negated", unchanged_reason="names no second thing that could be absent"
):
    """A man holding a bat becomes a man holding no bat."""

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


class NegateExistence(
    _Logic, title="Existence negated", unchanged_reason="does not begin with a thing that exists"
):
    """Deny the thing: "a man riding a wave", "there is no man riding a wave"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        if caption.says({"not", "no"}) or not caption.is_one_sentence():
            return
        be = existential(caption)
        if caption.word(0) == "there" and caption.word(1) in ("is", "are"):
            if caption.word(2) in _OPENING and caption.phrase_at(2) is not None:
                yield reword(2, 3, "no")
        elif be is not None:
            yield [(Rewording(0, 1, ("there", be.word, "no")), *be.gone)]


class WithoutIt(
    _Logic, title="With becomes without", unchanged_reason='has no "with" before a thing'
):
    """What comes with it is missing: "a dog with a frisbee", "a dog without a frisbee"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        bound = {"filled", "covered", "topped", "decorated", "made", "loaded", "lined", "packed"}
        fits = (
            caption.word(i) == "with"
            and i
            and caption.phrase_at(i + 1) is not None
            and caption.word(i - 1) not in bound
            and not caption.tokens[i].closes
        )
        return reword(i, i + 1, "without") if fits else []


class Modality(
    _Logic,
    title="Modality",
    severity="mild",
    unchanged_reason="has no verb in -ing for the present",
):
    """What is might be: "a man riding a horse", "a man who might be riding a horse"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        if not acting(caption, i):
            return []
        if caption.word(i - 1) in ("is", "are"):
            return reword(i - 1, i, "might be")
        who = "who" if caption.word(i - 1) in _PERSONS else "that"
        return reword(i, i, f"{who} might be")


_GROUPS = word_set("group bunch herd crowd couple flock pair team number lot row")
_PEOPLE = {"people": "person", "men": "man", "women": "woman", "children": "child"}
# words that only several things can be said with: "one man standing side by side"
_ONLY_MANY = word_set(
    "their they each together themselves other others them both all another gathered gather "
    "gathering lined line lines row rows pile piles stack stacked scattered surround surrounding "
    "surrounded side-by-side between different same similar identical various matching formation "
    "group groups bunch assorted competing compete race racing passing meeting teams crowd "
    "around about among amongst milling men women people"
)
_HAD_BY_EACH = word_set("in with on wearing holding riding carrying using under")
_ONE_OF = r"\b(?:a|an|one|single|lone|another|this|each|the)\s(?:[\w'-]+\s){0,3}"
_PERSON = r"(?:person|man|woman|boy|girl|child|kid|guy|lady|player|he|she|someone|rider|\w+er)"


def number_of(caption: ParsedCaption, place: int) -> int | None:
    """The number from two to twelve that a token says as a word before its noun, or `None`."""
    word = caption.word(place)
    phrase = caption.phrase_of(place)
    if word not in NUMBER_WORDS[1:] or phrase is None or place >= phrase.head:
        return None
    if caption.word(place - 1) in ("or", "to") or caption.word(place + 1) in ("or", "to", "and"):
        return None
    if caption.tokens[place].closes or not caption.tokens[phrase.head].is_plural:
        return None
    return NUMBER_WORDS.index(word) + 1


class _Number(LanguageCorruption, kind="numbers", severity="major"):
    """Changes how many things there are."""


class OneMore(
    _Number,
    title="Number too high",
    unchanged_reason="has no number of things",
    options=("times", "more"),
):
    """A number grows: "two dogs" becomes "three dogs".

    Parameters
    ----------
    more
        By how much.
    """

    def __init__(self, times: int = 1, more: int = 1) -> None:
        super().__init__(times)
        self.more = more

    @property
    def label(self) -> str:
        return f"{super().label} by {NUMBER_WORDS[self.more - 1]}"

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        n = number_of(caption, i)
        if n is None or n + self.more > len(NUMBER_WORDS):
            return []
        new = NUMBER_WORDS[n + self.more - 1]
        return reword(i, i + 1, new) if known.words.isdisjoint({new, str(n + self.more)}) else []


class WrongDigits(_Number, title="Digits", unchanged_reason="has no number in digits"):
    """A number written in digits becomes another of as many digits."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word, trick = caption.word(i), caption.word(i - 1) in ("hang", "hanging", "hangs")
        if not word.isdecimal() or not word.isascii() or trick:  # "hang 10" names a trick
            return []
        low, high = 10 ** (len(word) - 1), 10 ** len(word)
        step = max(1, (high - low) // 7)
        numbers = {low + (int(word) - low + k * step) % (high - low) for k in range(1, 7)}
        options = {str(n) for n in numbers - {int(word), 1}} - known.words
        return reword(i, i + 1, *sorted(options))


class VagueNumber(
    _Number, title="Number made vague", severity="mild", unchanged_reason="has no number of things"
):
    """A number becomes "several" or "some"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        if number_of(caption, i) is None or caption.word(i - 1) in ("the", "his", "her"):
            return []
        return [(Rewording(i, i + 1, (word,)),) for word in ("several", "some", "a number of")]


class ManyToOne(
    _Number, title="Many become one", unchanged_reason="does not begin with several separate things"
):
    """Many become one: "a group of people are" becomes "one person is"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        phrase = self._many(caption)
        if phrase is None or self._distributes(caption, phrase.end):
            return
        rest = caption.words[phrase.end :]
        if _ONLY_MANY & set(rest) or " ".join(rest[1:4]) == "side by side":
            return
        noun = caption.word(phrase.head)
        one = _PEOPLE.get(noun) or singular(noun)
        if one == noun or noun in _GROUPS_OF or _says_one(one, known):
            return
        if any(t.is_plural for t in caption.tokens[phrase.start : phrase.head]):
            return  # "a pair of shoes flips": read as one phrase
        verbs = self._agreeing(caption, phrase.end)
        if verbs is not None:
            opening = Rewording(0, phrase.head, ("one", *self._modifiers(caption, phrase)))
            yield [(opening, Rewording(phrase.head, phrase.end, (one,)), *verbs)]

    @staticmethod
    def _many(caption: ParsedCaption) -> NounPhrase | None:
        """The phrase of several things that the caption begins with."""
        first = caption.phrase_at(0)
        if first is None:
            return None
        if caption.word(first.head) in _GROUPS and caption.word(first.end) == "of":
            second = caption.phrase_at(first.end + 1)
            return second if second and caption.tokens[second.head].is_plural else None
        plural = caption.tokens[first.head].is_plural
        counted = caption.tag(0) == "CD" or caption.word(0) in ("several", "many", "some", "men")
        return first if plural and counted and first.head > 0 else None

    @staticmethod
    def _modifiers(caption: ParsedCaption, phrase: NounPhrase) -> list[str]:
        vague = ("several", "many", "some", "different", "various")
        opening = caption.tag(phrase.start) in ("DT", "CD") or caption.word(phrase.start) in vague
        words = [caption.word(i) for i in range(phrase.start + opening, phrase.head)]
        return [word for word in words if word not in ("different", "various", "assorted")]

    @staticmethod
    def _distributes(caption: ParsedCaption, place: int) -> bool:
        """Whether several bare things follow, one for each: "two women in swimsuits"."""
        if caption.word(place) == "and":
            return True
        for i in range(place, len(caption)):
            thing = caption.phrase_at(i + 1)
            if caption.word(i) not in _HAD_BY_EACH or thing is None:
                continue
            opening = caption.tag(thing.start) in ("DT", "CD")
            if caption.tokens[thing.head].is_plural and not opening:
                return True
        return False

    @staticmethod
    def _agreeing(caption: ParsedCaption, place: int) -> tuple[Rewording, ...] | None:
        """The verb of the phrase that ends there, in the singular; `None` where some verb in the
        plural may belong to it and is not sure to be found."""
        be = {"are": "is", "were": "was", "have": "has"}
        plural = [
            i
            for i in range(place, len(caption))
            if caption.word(i) in be or caption.tag(i) == "VBP"
        ]
        at = place + (caption.word(place) in ("that", "who", "which"))
        word = caption.word(at)
        if plural == [at]:
            return (Rewording(at, at + 1, (be.get(word) or verb_form(word, "VBZ"),)),)
        # "two men walk" is read as a noun
        unsure = plural or word.endswith("s") or caption.tag(at) in ("NN", "NNS", "VB")
        return None if unsure else ()


_GROUPS_OF = word_set(
    "groups bunches herds crowds couples flocks pairs teams numbers lots rows slices pieces types "
    "kinds sets stacks piles plates bowls views pictures photos images shots sides types scissors "
    "skis glasses pants jeans shorts"
)


def _says_one(noun: str, known: Known) -> bool:
    """Whether a reference mentions one such thing; of people, of one person by any name."""
    person = noun in PEOPLE or noun.endswith("er")
    pattern = re.compile(_ONE_OF + (_PERSON if person else re.escape(noun)) + r"\b")
    return any(pattern.search(text.lower()) for text in known.references)
