"""Numbers: one more, others in digits, vague ones, one where there were many."""

from __future__ import annotations

from corruptions.language.base import Change, LanguageCorruption, Places
from corruptions.language.inflection import singular, verb_form
from corruptions.language.known import Known
from corruptions.language.parsed import NUMBER_WORDS, NounPhrase, ParsedCaption
from corruptions.language.rewriting import Rewording
from metaeval.text.scene_graphs.rules.function_words import words as word_set

_GROUPS = word_set("group bunch herd crowd couple flock pair team number lot row")
_PEOPLE = {"people": "person", "men": "man", "women": "woman", "children": "child"}


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


class OneMore(LanguageCorruption):
    """A number grows: "two dogs" becomes "three dogs".

    Parameters
    ----------
    more
        By how much.
    """

    name = "one_more"
    title = "Number too high"
    kind = "numbers"
    lacks = "gives no number of things"

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
        places: Places = []
        for i in range(len(caption)):
            n = number_of(caption, i)
            if n is not None and n + self.more <= len(NUMBER_WORDS):
                new = NUMBER_WORDS[n + self.more - 1]
                if new not in known.words and str(n + self.more) not in known.words:
                    places.append([(Rewording(i, i + 1, (new,)),)])
        return places


class WrongDigits(LanguageCorruption):
    """A number written in digits becomes another of as many digits."""

    name = "wrong_digits"
    title = "Digits"
    kind = "numbers"
    lacks = "has no number in digits"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            if not word.isdecimal() or not word.isascii():
                continue
            low, high = 10 ** (len(word) - 1), 10 ** len(word)
            step = max(1, (high - low) // 7)
            numbers = {low + (int(word) - low + k * step) % (high - low) for k in range(1, 7)}
            options = sorted(str(n) for n in numbers - {int(word), 1})
            options = [o for o in options if o not in known.words]
            changes: list[Change] = [(Rewording(i, i + 1, (o,)),) for o in options]
            places += [changes] if changes else []
        return places


class VagueNumber(LanguageCorruption):
    """A number gives way to "several" or "some": less is said."""

    name = "vague_number"
    title = "Number made vague"
    kind = "numbers"
    lacks = "gives no number of things"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            [(Rewording(i, i + 1, (word,)),) for word in ("several", "some", "a number of")]
            for i in range(len(caption))
            if number_of(caption, i) is not None
            and caption.word(i - 1) not in ("the", "his", "her")
        ]


class ManyToOne(LanguageCorruption):
    """Many become one: "a group of people are" becomes "one person is"."""

    name = "many_to_one"
    title = "Many become one"
    kind = "numbers"
    lacks = "does not begin with several things that could be one"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        many = self._many(caption)
        told = {"their", "they", "each", "together", "themselves", "other", "them", "both", "all"}
        if many is None or told & set(caption.words):
            return []
        start, phrase = many
        noun = caption.word(phrase.head)
        one = _PEOPLE.get(noun) or singular(noun)
        if one == noun or ({"a", "an", one} <= known.words and f"a {one}" in _lower(known)):
            return []
        first: tuple[Rewording, ...] = (
            Rewording(start, phrase.head, ("one", *self._modifiers(caption, phrase))),
            Rewording(phrase.head, phrase.end, (one,)),
        )
        verb = self._agreeing(caption, phrase.end)
        return [[first if verb is None else (*first, verb)]]

    @staticmethod
    def _many(caption: ParsedCaption) -> tuple[int, NounPhrase] | None:
        first = caption.phrase_at(0)
        if first is None:
            return None
        if caption.word(first.head) in _GROUPS and caption.word(first.end) == "of":
            second = caption.phrase_at(first.end + 1)
            if second is None or not caption.tokens[second.head].is_plural:
                return None
            return 0, second
        plural = caption.tokens[first.head].is_plural
        counted = caption.tag(0) == "CD" or caption.word(0) in ("several", "many", "some", "men")
        return (0, first) if plural and counted and first.head > 0 else None

    @staticmethod
    def _modifiers(caption: ParsedCaption, phrase: NounPhrase) -> list[str]:
        opening = caption.tag(phrase.start) in ("DT", "CD") or caption.word(phrase.start) in (
            "several", "many", "some", "different", "various",
        )  # fmt: skip
        return [caption.word(i) for i in range(phrase.start + opening, phrase.head)]

    @staticmethod
    def _agreeing(caption: ParsedCaption, place: int) -> Rewording | None:
        word, tag = caption.word(place), caption.tag(place)
        be = {"are": "is", "were": "was", "have": "has"}
        if word in be:
            return Rewording(place, place + 1, (be[word],))
        if tag == "VBP":
            return Rewording(place, place + 1, (verb_form(word, "VBZ"),))
        return None


def _lower(known: Known) -> str:
    return " ".join(known.references).lower()
