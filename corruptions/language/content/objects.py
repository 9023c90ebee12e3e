"""Objects: another one, a vaguer one, one more, one less, two in each other's place, one twice."""

from __future__ import annotations

from collections.abc import Iterable

from metaeval.corruptions.language.base import Change, LanguageCorruption, Places
from metaeval.corruptions.language.categories import (
    Mention,
    mentions,
    namable,
    name_of,
    supercategory,
)
from metaeval.corruptions.language.inflection import plural
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import NO_THINGS, NounPhrase, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording, article_for
from metaeval.text.scene_graphs.rules.function_words import words as word_set

_ALIVE = ("animal", "person")


def absent(known: Known, families: Iterable[str]) -> list[str]:
    """Categories of these families that nothing known of the image suggests."""
    return [c for c in namable(tuple(families)) if c not in known.present]


def _renamed(mention: Mention, categories: Iterable[str]) -> list[Change]:
    return [
        (Rewording(mention.start, mention.end, tuple(name_of(c, mention.many).split())),)
        for c in categories
    ]


class FoilObject(LanguageCorruption):
    """A thing becomes another of its supercategory that is not in the image: a dog, a cat.

    FOIL's rule (Shekhar et al. 2017): the thing named is of one of COCO's categories; the new one
    is neither annotated nor named in any caption of the image. People are left alone.
    """

    name = "foil_object"
    title = "Other object, same kind"
    kind = "objects"
    severity = "critical"
    unchanged_reason = "names no replaceable object of COCO's categories"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        named = [m for m in mentions(caption) if m.category != "person"]
        options = [_renamed(m, absent(known, [supercategory(m.category)])) for m in named]
        return [changes for changes in options if changes]


class OtherObject(LanguageCorruption):
    """A thing becomes one of another supercategory that is not in the image: a dog, a toaster."""

    name = "other_object"
    title = "Other object, any kind"
    kind = "objects"
    severity = "critical"
    unchanged_reason = "names no replaceable object of COCO's categories"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for mention in mentions(caption):
            own = supercategory(mention.category)
            if mention.category != "person":
                others = [c for c in absent(known, ()) if supercategory(c) != own]
                places += [_renamed(mention, others)] if others else []
        return places


# supercategory → what its things are called one level up, and two
_ONE_UP = {
    "animal": "animal",
    "vehicle": "vehicle",
    "furniture": "piece of furniture",
    "appliance": "appliance",
    "electronic": "electronic device",
    "food": "food item",
    "accessory": "accessory",
}
_FRUIT = ("banana", "apple", "orange")
_UTENSILS = ("fork", "knife", "spoon")


def one_up(category: str) -> str | None:
    """The word one level above a category's, `None` where captions have none."""
    if category in _FRUIT:
        return "fruit"
    if category in _UTENSILS:
        return "utensil"
    if category in ("toilet", "potted plant", "bed"):
        return None
    return _ONE_UP.get(supercategory(category))


class _Vaguer(LanguageCorruption):
    unchanged_reason = "names no object of COCO's categories"

    def called(self, category: str) -> str | None:
        """The vaguer word for a category."""
        raise NotImplementedError

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for mention in mentions(caption):
            noun = self.called(mention.category)
            if noun is None or noun in caption.words:
                continue
            head, *rest = noun.split(" of ")
            word = " of ".join([plural(head) if mention.many else head, *rest])
            phrase = caption.phrase_of(mention.end - 1)
            start = mention.start if phrase is None else min(mention.start, phrase.noun)
            places.append([(Rewording(start, mention.end, tuple(word.split())),)])
        return places


class GeneralObject(_Vaguer):
    """A thing is called by the word one level up: a dog, an animal. True still, and vaguer: mild.

    Nouns compounded with it go ("a passenger train": "a vehicle").
    """

    name = "general_object"
    title = "Hypernym, one level up"
    kind = "objects"
    severity = "mild"

    def called(self, category: str) -> str | None:
        return one_up(category)


class VagueObject(_Vaguer):
    """A thing is called by the word two levels up: a dog, a living thing; a bus, an object.

    People are called living things only as men, women, boys and girls.
    """

    name = "vague_object"
    title = "Hypernym, two levels up"
    kind = "objects"
    severity = "major"

    def called(self, category: str) -> str | None:
        return "living thing" if supercategory(category) in _ALIVE else "object"


_WAYS = ("with {} nearby", "next to {}", "with {} to the side")


class HallucinateObject(LanguageCorruption):
    """One thing more is named, of a supercategory that the image shows: "with a cat nearby"."""

    name = "hallucinate_object"
    title = "Object added"
    kind = "objects"
    severity = "critical"
    unchanged_reason = "is more than one sentence, or every possible addition is in the image"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        if not caption.is_one_sentence() or not len(caption):
            return []
        end = len(caption)
        kinds = absent(known, known.families - {"person"}) if known.families - {"person"} else []
        nouns = [name_of(c, False) for c in kinds or absent(known, ())]
        return (
            [
                [
                    (Rewording(end, end, tuple(way.format(f"{article_for(noun)} {noun}").split())),)
                    for noun in nouns
                    for way in _WAYS
                ]
            ]
            if nouns
            else []
        )


_PLACE_WORDS = word_set(
    "on in with at near behind beside under by inside outside over across through "
    "along against above below beneath around"
)
_STANDS_ALONE = word_set(
    "sitting standing walking flying playing grazing eating sleeping running skiing "
    "surfing skateboarding snowboarding parked jumping posing talking driving "
    "swimming resting riding traveling working"
)


class DropObject(LanguageCorruption):
    """The last prepositional phrase goes, with what it names: "on a beach"."""

    name = "drop_object"
    title = "Object dropped"
    kind = "objects"
    severity = "major"
    unchanged_reason = "does not end in an optional phrase"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        if not caption.is_one_sentence() or not caption.phrases:
            return []
        last = caption.phrases[-1]
        start = last.start - 1
        if last.end != len(caption) or start < 2 or caption.word(start) not in _PLACE_WORDS:
            return []
        before = caption.tokens[start - 1]
        phrase = caption.phrase_of(start - 1)
        ends = phrase is not None and caption.word(phrase.head) not in NO_THINGS
        bare = phrase is not None and caption.word(phrase.start - 1) in ("of", "while")
        if before.closes or bare or not (ends or before.word in _STANDS_ALONE):
            return []
        return [[(Rewording(start, len(caption)),)]]


_HANDLES = word_set(
    "riding holding eating flying wearing cutting throwing watching feeding petting "
    "using preparing carrying swinging hitting pulling pushing catching brushing "
    "reading walking leading washing playing kicking driving making serving pouring "
    "chasing chewing"
)
_BACK = word_set(
    "his her their its he she they it him them himself herself itself themselves "
    "themself another other"
)  # fmt: skip


class DropSubject(LanguageCorruption):
    """Who does it goes: "a man riding a horse on a beach" becomes "a horse on a beach"."""

    name = "drop_subject"
    title = "Subject dropped"
    kind = "objects"
    severity = "major"
    unchanged_reason = "does not begin with a person who handles something"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        first = caption.phrase_at(0)
        if first is None or not caption.is_one_sentence():
            return []
        verb = first.end + (caption.word(first.end) in ("is", "are"))
        thing = caption.phrase_at(verb + 1)
        if caption.word(verb) not in _HANDLES or thing is None or caption.tokens[verb].closes:
            return []
        rest = caption.words[verb + 1 :]
        if caption.word(thing.start) not in ("a", "an", "two", "three", "some"):
            return []
        if _BACK & set(rest) or caption.word(thing.head) in NO_THINGS or "and" in rest:
            return []
        if any(word.endswith("ing") and word in _HANDLES for word in rest) or "while" in rest:
            return []
        return [[(Rewording(0, verb + 1),)]]


# adjectives that make one name with the noun: "a hot dog cart", "a flat screen tv"
_COMPOUNDING = frozenset({"hot", "flat", "wide", "high", "fast", "double", "remote"})


def things(caption: ParsedCaption) -> list[NounPhrase]:
    """Phrases that name a thing of their own, with an article or a number before it."""
    return [
        p
        for p in caption.phrases
        if p.noun > p.start
        and caption.word(p.head) not in NO_THINGS
        and caption.word(p.end) != "of"
        and caption.word(p.start - 1) != "of"
        and caption.tag(p.start) in ("DT", "CD")
        and caption.word(p.noun - 1) not in _COMPOUNDING
    ]


class SwapObjects(LanguageCorruption):
    """Two things change places, and what was said of each is now said of the other.

    "A black cat next to a dog" becomes "a black dog next to a cat". Only one of the two has an
    attribute; otherwise the swap could be the same symmetric relation read backwards.
    """

    name = "swap_objects"
    title = "Objects swapped"
    kind = "objects"
    severity = "critical"
    experimental = True
    unchanged_reason = "has no two things of which one has an attribute"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        named = things(caption)
        for k, first in enumerate(named):
            for second in named[k + 1 :]:
                if self._differ(caption, first, second):
                    a, b = (
                        caption.written(NounPhrase(p.noun, p.noun, p.end)) for p in (first, second)
                    )
                    places.append(
                        [
                            (
                                Rewording(first.noun, first.end, b),
                                Rewording(second.noun, second.end, a),
                            )
                        ]
                    )
        return places

    @staticmethod
    def _differ(caption: ParsedCaption, first: NounPhrase, second: NounPhrase) -> bool:
        a, b = (set(caption.words[p.start + 1 : p.noun]) for p in (first, second))
        heads = caption.tokens[first.head], caption.tokens[second.head]
        alike = {heads[0].word, heads[1].word} & {"man", "woman", "person", "people"}
        return (
            a != b
            and heads[0].is_plural == heads[1].is_plural
            and heads[0].lemma != heads[1].lemma
            and len(alike) < 2
        )


class RepeatObject(LanguageCorruption):
    """A thing occurs twice: "a dog" becomes "a dog and another dog"."""

    name = "repeat_object"
    title = "Object repeated"
    kind = "objects"
    severity = "major"
    unchanged_reason = "names no single thing besides its verb's subject"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for mention in mentions(caption):
            phrase = caption.phrase_of(mention.end - 1)
            if phrase is None or mention.many or caption.word(phrase.start) not in ("a", "an"):
                continue
            noun = caption.words[mention.start : mention.end]
            after = caption.tag(mention.end)
            many = {plural(noun[-1]), "two", "couple", "several"} & known.words
            if after not in ("VBZ", "VBP", "MD") and not many and not self._listed(caption, phrase):
                new = ("and", "another", *noun)
                places.append([(Rewording(mention.end, mention.end, new),)])
        return places

    @staticmethod
    def _listed(caption: ParsedCaption, phrase: NounPhrase) -> bool:
        around = (caption.word(phrase.start - 1), caption.word(phrase.end))
        return "and" in around or (
            caption.tokens[phrase.head].closes and (phrase.end < len(caption))
        )
