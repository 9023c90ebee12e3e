"""Numbers: one more, others in digits, vague ones, one where there were many."""

from __future__ import annotations

import re

from metaeval.corruptions.base import Severity
from metaeval.corruptions.language.base import LanguageCorruption, Places, reword
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.inflection import singular, verb_form
from metaeval.corruptions.language.parsed import NUMBER_WORDS, PEOPLE, NounPhrase, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.text.scene_graphs.rules.function_words import words as word_set

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


class _Number(LanguageCorruption):
    kind = "numbers"
    severity: Severity | None = "major"


class OneMore(_Number):
    """A number grows: "two dogs" becomes "three dogs".

    Parameters
    ----------
    more
        By how much.
    """

    name = "one_more"
    title = "Number too high"
    unchanged_reason = "has no number of things"

    def __init__(self, times: int = 1, more: int = 1) -> None:
        super().__init__(times)
        self.more = more

    @property
    def label(self) -> str:
        return f"{super().label} by {NUMBER_WORDS[self.more - 1]}"

    @property
    def parameters(self) -> dict[str, int]:
        return {"times": self.times, "more": self.more}

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i in range(len(caption)):
            n = number_of(caption, i)
            if n is not None and n + self.more <= len(NUMBER_WORDS):
                new = NUMBER_WORDS[n + self.more - 1]
                if known.words.isdisjoint({new, str(n + self.more)}):
                    yield reword(i, i + 1, new)


class WrongDigits(_Number):
    """A number written in digits becomes another of as many digits."""

    name = "wrong_digits"
    title = "Digits"
    unchanged_reason = "has no number in digits"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, word in enumerate(caption.words):
            if not word.isdecimal() or not word.isascii():
                continue
            if caption.word(i - 1) in ("hang", "hanging", "hangs"):  # "hang 10" names a trick
                continue
            low, high = 10 ** (len(word) - 1), 10 ** len(word)
            step = max(1, (high - low) // 7)
            numbers = {low + (int(word) - low + k * step) % (high - low) for k in range(1, 7)}
            options = {str(n) for n in numbers - {int(word), 1}} - known.words
            yield reword(i, i + 1, *sorted(options))


class VagueNumber(_Number):
    """A number becomes "several" or "some"."""

    name = "vague_number"
    title = "Number made vague"
    severity = "mild"
    unchanged_reason = "has no number of things"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            [(Rewording(i, i + 1, (word,)),) for word in ("several", "some", "a number of")]
            for i in range(len(caption))
            if number_of(caption, i) is not None
            and caption.word(i - 1) not in ("the", "his", "her")
        ]


class ManyToOne(_Number):
    """Many become one: "a group of people are" becomes "one person is"."""

    name = "many_to_one"
    title = "Many become one"
    unchanged_reason = "does not begin with several separate things"

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
