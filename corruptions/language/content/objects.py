"""Objects: another one, a vaguer one, one more, one less, two in each other's place, one twice.

People: the other gender, another age, another role.
"""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import combinations

from metaeval.corruptions.language.base import (
    Change,
    LanguageCorruption,
    Places,
    reword,
    swap_phrases,
)
from metaeval.corruptions.language.categories import (
    Known,
    Mention,
    mentions,
    namable,
    name_of,
    supercategory,
)
from metaeval.corruptions.language.parsed import NO_THINGS, NounPhrase, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording, article_for, plural
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words as word_set

_ALIVE = ("animal", "person")


def absent(known: Known, families: Iterable[str]) -> list[str]:
    """Categories of these families that nothing known of the image suggests."""
    return [c for c in namable(tuple(families)) if c not in known.present]


def _renamed(mention: Mention, categories: Iterable[str]) -> list[Change]:
    return reword(mention.start, mention.end, *(name_of(c, mention.many) for c in categories))


class _Object(LanguageCorruption, kind="objects", severity="critical"):
    """Changes which things there are."""


class FoilObject(
    _Object,
    title="Other object, same kind",
    unchanged_reason="names no replaceable object of COCO's categories",
):
    """A thing becomes another of its supercategory that is not in the image: a dog, a cat.

    FOIL's rule (Shekhar et al. 2017): the thing named is of one of COCO's categories; the new one
    is neither annotated nor named in any caption of the image. People are left alone.
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        named = [m for m in mentions(caption) if m.category != "person"]
        return [_renamed(m, absent(known, [supercategory(m.category)])) for m in named]


class OtherObject(
    _Object,
    title="Other object, any kind",
    unchanged_reason="names no replaceable object of COCO's categories",
):
    """A thing becomes one of another supercategory that is not in the image: a dog, a toaster."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for mention in mentions(caption):
            own = supercategory(mention.category)
            if mention.category != "person":
                yield _renamed(mention, (c for c in absent(known, ()) if supercategory(c) != own))


# category or supercategory → what its things are called one level up; "" where there is no word
_ONE_UP = {
    **dict.fromkeys(("banana", "apple", "orange"), "fruit"),
    **dict.fromkeys(("fork", "knife", "spoon"), "utensil"),
    **dict.fromkeys(("toilet", "potted plant", "bed"), ""),
    "animal": "animal",
    "vehicle": "vehicle",
    "furniture": "piece of furniture",
    "appliance": "appliance",
    "electronic": "electronic device",
    "food": "food item",
    "accessory": "accessory",
}


class _Vaguer(_Object, unchanged_reason="names no object of COCO's categories"):
    @abstractmethod
    def called(self, category: str) -> str:
        """The vaguer word for a category, "" where there is none."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for mention in mentions(caption):
            noun = self.called(mention.category)
            if not noun or noun in caption.words:
                continue
            head, *rest = noun.split(" of ")
            word = " of ".join([plural(head) if mention.many else head, *rest])
            phrase = caption.phrase_of(mention.end - 1)
            start = mention.start if phrase is None else min(mention.start, phrase.noun)
            yield reword(start, mention.end, word)


class GeneralObject(_Vaguer, title="Hypernym, one level up", severity="mild"):
    """A thing is called by the word one level up: a dog, an animal. True still, and vaguer: mild.

    Nouns compounded with it go ("a passenger train": "a vehicle").
    """

    def called(self, category: str) -> str:
        return _ONE_UP.get(category, _ONE_UP.get(supercategory(category), ""))


class VagueObject(_Vaguer, title="Hypernym, two levels up", severity="major"):
    """A thing is called by the word two levels up: a dog, a living thing; a bus, an object.

    People are called living things only as men, women, boys and girls.
    """

    def called(self, category: str) -> str:
        return "living thing" if supercategory(category) in _ALIVE else "object"


_WAYS = ("with {} nearby", "next to {}", "with {} to the side")


class HallucinateObject(
    _Object,
    title="Object added",
    unchanged_reason="is more than one sentence, or every possible addition is in the image",
):
    """One thing more is named, of a supercategory that the image shows: "with a cat nearby"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        end, families = len(caption), known.families - {"person"}
        kinds = absent(known, families) if families else []
        nouns = [name_of(c, False) for c in kinds or absent(known, ())]
        things = [f"{article_for(noun)} {noun}" for noun in nouns]
        if caption.is_one_sentence() and end:
            yield reword(end, end, *(way.format(thing) for thing in things for way in _WAYS))


_PLACE_WORDS = word_set(
    "on in with at near behind beside under by inside outside over across through "
    "along against above below beneath around"
)
_STANDS_ALONE = word_set(
    "sitting standing walking flying playing grazing eating sleeping running skiing "
    "surfing skateboarding snowboarding parked jumping posing talking driving "
    "swimming resting riding traveling working"
)


class DropObject(
    _Object,
    title="Object dropped",
    severity="major",
    unchanged_reason="does not end in an optional phrase",
):
    """The last prepositional phrase goes, with what it names: "on a beach"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        if not caption.is_one_sentence() or not caption.phrases:
            return
        last = caption.phrases[-1]
        start = last.start - 1
        if last.end != len(caption) or start < 2 or caption.word(start) not in _PLACE_WORDS:
            return
        before = caption.tokens[start - 1]
        phrase = caption.phrase_of(start - 1)
        ends = phrase is not None and caption.word(phrase.head) not in NO_THINGS
        bare = phrase is not None and caption.word(phrase.start - 1) in ("of", "while")
        if not before.closes and not bare and (ends or before.word in _STANDS_ALONE):
            yield reword(start, len(caption), "")


_HANDLES = word_set(
    "riding holding eating flying wearing cutting throwing watching feeding petting "
    "using preparing carrying swinging hitting pulling pushing catching brushing "
    "reading walking leading washing playing kicking driving making serving pouring "
    "chasing chewing"
)
_BACK = word_set(
    "his her their its he she they it him them himself herself itself themselves "
    "themself another other"
)


class DropSubject(
    _Object,
    title="Subject dropped",
    severity="major",
    unchanged_reason="does not begin with a person who handles something",
):
    """Who does it goes: "a man riding a horse on a beach" becomes "a horse on a beach"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        first = caption.phrase_at(0)
        if first is None or not caption.is_one_sentence():
            return
        verb = first.end + (caption.word(first.end) in ("is", "are"))
        thing = caption.phrase_at(verb + 1)
        if caption.word(verb) not in _HANDLES or thing is None or caption.tokens[verb].closes:
            return
        if caption.word(thing.start) not in ("a", "an", "two", "three", "some"):
            return
        # what the subject would still be needed for
        tied = _BACK | _HANDLES | {"and", "while"}
        if caption.word(thing.head) not in NO_THINGS and not tied & set(caption.words[verb + 1 :]):
            yield reword(0, verb + 1, "")


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


class SwapObjects(
    _Object,
    title="Objects swapped",
    experimental=True,
    unchanged_reason="has no two things of which one has an attribute",
):
    """Two things change places, and what was said of each is now said of the other.

    "A black cat next to a dog" becomes "a black dog next to a cat". Only one of the two has an
    attribute; otherwise the swap could be the same symmetric relation read backwards.
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for first, second in combinations(things(caption), 2):
            if self._differ(caption, first, second):
                yield swap_phrases(caption, first.bare, second.bare)

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


class RepeatObject(
    _Object,
    title="Object repeated",
    severity="major",
    unchanged_reason="names no single thing besides its verb's subject",
):
    """A thing occurs twice: "a dog" becomes "a dog and another dog"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for mention in mentions(caption):
            phrase = caption.phrase_of(mention.end - 1)
            if phrase is None or mention.many or caption.word(phrase.start) not in ("a", "an"):
                continue
            noun = caption.words[mention.start : mention.end]
            after = caption.tag(mention.end)
            many = {plural(noun[-1]), "two", "couple", "several"} & known.words
            if after not in ("VBZ", "VBP", "MD") and not many and not self._listed(caption, phrase):
                yield reword(mention.end, mention.end, f"and another {' '.join(noun)}")

    @staticmethod
    def _listed(caption: ParsedCaption, phrase: NounPhrase) -> bool:
        around = (caption.word(phrase.start - 1), caption.word(phrase.end))
        return "and" in around or (
            caption.tokens[phrase.head].closes and (phrase.end < len(caption))
        )


_HE_SHE = pairs(
    "man/woman men/women boy/girl boys/girls male/female males/females he/she himself/herself "
    "father/mother husband/wife groom/bride son/daughter brother/sister king/queen him/her "
    "businessman/businesswoman gentleman/lady gentlemen/ladies man's/woman's boy's/girl's "
    "men's/women's cowboy/cowgirl"
)
_TO_SHE = _HE_SHE | pairs("guy/lady guys/ladies his/her policeman/policewoman")
_TO_HE = {she: he for he, she in _HE_SHE.items() if she != "her"} | {"lady": "man", "ladies": "men"}


class _Person(LanguageCorruption, kind="people", severity="critical"):
    """Changes who people are."""


class WrongGender(
    _Person,
    title="Gender",
    unchanged_reason="names no gender, or both, or another caption names the other",
):
    """Everybody gets the other gender, pronouns included; captions that name both are left."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        he, she = caption.says(_TO_SHE), caption.says({*_TO_HE, "her"})
        if he == she or known.words & set(_TO_HE if he else _TO_SHE) - {"him", "his", "he", "she"}:
            return
        change = []
        for i, word in enumerate(caption.words):
            new = (_TO_SHE if he else _TO_HE).get(word)
            if word == "her":
                new = "his" if caption.phrase_at(i) is not None else "him"
            if new is not None:
                change.append(Rewording(i, i + 1, (new,)))
        nouns = {"man", "men", "boy", "boys", "woman", "women", "girl", "girls", "lady", "guy"}
        if caption.says(nouns | set(_HE_SHE)):
            yield [tuple(change)]


_OLD_ONE, _OLD_ONES = ("old man", "old woman"), ("old men", "old women")
_AGES: dict[str, tuple[str, ...]] = {
    "man": ("little boy", "small child"),
    "woman": ("little girl", "small child"),
    "men": ("little boys", "small children"),
    "women": ("little girls", "small children"),
    "lady": ("little girl",),
    "guy": ("little boy",),
    "boy": ("old man",),
    "girl": ("old woman",),
    "boys": ("old men",),
    "girls": ("old women",),
    **dict.fromkeys(("child", "baby", "toddler", "kid"), _OLD_ONE),
    **dict.fromkeys(("kids", "children"), _OLD_ONES),
    "adult": ("baby",),
    "adults": ("babies",),
}
_YOUNG_OR_OLD = ("young", "little", "small", "old", "older", "elderly", "younger", "adult")
_GROWN = frozenset({"man", "men", "woman", "women", "lady", "guy", "adult", "adults"})
_YOUNG = word_set("boy boys girl girls child children kid kids baby toddler young little")
_OLD = word_set("man men woman women lady adult adults people person")


class WrongAgeGroup(
    _Person,
    title="Age of people",
    severity="major",
    unchanged_reason="names no person of an age that the captions agree on",
):
    """A man becomes a little boy, a girl an old woman; captions that disagree on it are left."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word, phrase = caption.word(i), caption.phrase_of(i)
        other = known.words & (_YOUNG if word in _GROWN else _OLD) - {word}
        if word not in _AGES or phrase is None or phrase.head != i or other:
            return []
        return reword(i - (caption.word(i - 1) in _YOUNG_OR_OLD), i + 1, *_AGES[word])


_ROLES = (
    *("surfer", "skier", "skateboarder", "snowboarder", "chef", "soldier", "nurse", "firefighter"),
    *("ballerina", "farmer", "waiter", "golfer", "swimmer", "fisherman", "police officer"),
)
_ROLE_WORDS = frozenset(_ROLES) | word_set(
    "batter pitcher catcher umpire cook cyclist motorcyclist biker rider vendor "
    "driver cowboy skater bride groom student boarder policeman cop conductor baker "
    "jockey teacher doctor player"
)
_SPORTS = ("baseball", "tennis", "soccer", "football", "basketball", "polo", "volleyball")


class WrongRole(_Person, title="Role", unchanged_reason="names no person by an activity"):
    """A person named by an activity gets another role: a surfer becomes a chef."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word, phrase = caption.word(i), caption.phrase_of(i)
        one = word.removesuffix("s") if caption.tokens[i].is_plural else word
        if one not in _ROLE_WORDS or phrase is None or phrase.head != i:
            return []
        start = i - (caption.word(i - 1) in (*_SPORTS, "horseback"))
        options = [r for r in _ROLES if r != one and not known.speaks_of(r)]
        return reword(start, i + 1, *(_in_number(r, one != word) for r in options))


def _in_number(role: str, many: bool) -> str:
    if not many:
        return role
    return role.replace("fisherman", "fishermen") if role.endswith("man") else f"{role}s"
