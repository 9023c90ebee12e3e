"""Harmless wording and writing: synonyms, spellings, frames, another reference, case, marks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.corruptions.language.base import LanguageCorruption, Places, rewritten_whole
from metaeval.corruptions.language.content.logic import existential
from metaeval.corruptions.language.content.numbers import number_of
from metaeval.corruptions.language.known import Known, known_images
from metaeval.corruptions.language.parsed import NUMBER_WORDS, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.corruptions.tokens import words
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.runs.records import Edit
from metaeval.text.scene_graphs.rules.function_words import words as word_set

_SAME = """couch/sofa couches/sofas bicycle/bike bicycles/bikes motorcycle/motorbike
motorcycles/motorbikes airplane/plane airplanes/planes tv/television refrigerator/fridge
photo/picture photograph/picture large/big kid/child kids/children laying/lying
several/multiple forest/woods jumping/leaping beside/next_to next_to/beside cellphone/cell_phone
cell_phone/mobile_phone purse/handbag snowboarder/snow_boarder kitten/young_cat
puppy/young_dog underneath/beneath atop/on_top_of on_top_of/atop sailboat/sailing_boat
stove/cooker doughnut/donut doughnuts/donuts donut/doughnut donuts/doughnuts lady/woman
ladies/women guy/man guys/men elderly/old stuffed_animal/plush_toy
frisbee/flying_disc skateboarder/skate_boarder huge/enormous enormous/huge
toilet/commode automobile/car cattle/cows sofa/couch bike/bicycle bikes/bicycles plane/airplane
planes/airplanes television/tv fridge/refrigerator big/large beneath/underneath near/close_to
tiny/very_small gigantic/huge close_to/near skating/skateboarding veggies/vegetables
stop_light/traffic_light"""
_SYNONYMS: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(old.split("_")): tuple(new.split("_"))
    for old, new in (pair.split("/") for pair in _SAME.split())
}
# nouns that must not be compounded with another, adjectives that mean else before these
_NOT_AFTER: dict[tuple[str, ...], set[str]] = {
    ("plane",): {"plain"},
    ("close", "to"): {"up"},
    ("large",): {"x"},
}
_NOT_BEFORE: dict[tuple[str, ...], set[str]] = {
    ("big",): {"ben", "bird", "rig", "city", "league"},
    ("large",): {"bodied"},
    ("near",): {"by", "each", "one", "another"},
    ("toilet",): {"paper", "seat", "seats", "bowl", "tank", "lid", "brush"},
    ("kid",): {"friendly"},
}


class Synonym(LanguageCorruption):
    """A word is replaced by one that captions use for the same: couch, sofa; large, big."""

    name = "synonym"
    title = "Synonym"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = "has no word with a safe synonym"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i in range(len(caption)):
            for size in (3, 2, 1):
                words = caption.words[i : i + size]
                new = _SYNONYMS.get(words)
                if new is None or len(words) < size or not caption.is_at(i, words):
                    continue
                if self._fits(caption, i, i + size):
                    places.append([(Rewording(i, i + size, new),)])
                break
        return places

    @staticmethod
    def _fits(caption: ParsedCaption, start: int, end: int) -> bool:
        words = caption.words[start:end]
        if caption.word(start - 1) in _NOT_AFTER.get(words, ()):
            return False
        if caption.word(end) in _NOT_BEFORE.get(words, ()):
            return False
        if words in (("near",), ("beside",), ("next", "to")):
            return caption.phrase_at(end) is not None and caption.word(start - 1) != "very"
        noun = caption.tokens[end - 1].is_noun
        compound = noun and caption.tokens[end - 1 : end + 1][-1].is_noun and end < len(caption)
        return not (compound and not caption.tokens[end - 1].closes)


_BRITISH = word_set(
    "gray/grey color/colour colors/colours colored/coloured colorful/colourful "
    "center/centre theater/theatre harbor/harbour traveling/travelling "
    "traveled/travelled neighborhood/neighbourhood tire/tyre tires/tyres "
    "favorite/favourite mustache/moustache jewelry/jewellery pajamas/pyjamas "
    "plow/plough catalog/catalogue airplane/aeroplane airplanes/aeroplanes mom/mum "
    "multicolored/multicoloured fiber/fibre meter/metre racket/racquet "
    "rackets/racquets aluminum/aluminium curb/kerb flavor/flavour "
    "gray-haired/grey-haired organized/organised parlor/parlour"
)
_SPELLINGS = {us: gb for us, gb in (pair.split("/") for pair in _BRITISH) if us != "meter"}
_SPELLINGS |= {gb: us for us, gb in _SPELLINGS.items()}


class BritishSpelling(LanguageCorruption):
    """An American spelling becomes the British one, or back: gray, grey."""

    name = "british_spelling"
    title = "British or American spelling"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = "has no word with two spellings"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            [(Rewording(i, i + 1, (_SPELLINGS[word],)),)]
            for i, word in enumerate(caption.words)
            if word in _SPELLINGS
        ]


class NumberFormat(LanguageCorruption):
    """A number is written in digits, or in letters: two, 2."""

    name = "number_format"
    title = "Number in digits or letters"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = "has no number from two to twelve"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            n = number_of(caption, i)
            if n is not None:
                places.append([(Rewording(i, i + 1, (str(n),)),)])
            elif word in _DIGITS and caption.phrase_of(i) and caption.tokens[i].text == word:
                spelt = NUMBER_WORDS[int(word) - 1]
                places.append([(Rewording(i, i + 1, (spelt if i else spelt.capitalize(),)),)])
        return places


_DIGITS = {str(n) for n in range(2, 13)}


class ThereIsFrame(LanguageCorruption):
    """The caption becomes a sentence: "there is a man riding a horse"."""

    name = "there_is"
    title = "There is"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = "cannot follow there is"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        be = existential(caption) if caption.is_one_sentence() else None
        return [[(Rewording(0, 0, ("there", be.word)), *be.gone)]] if be else []


class _Prefix(LanguageCorruption):
    prefix: ClassVar[tuple[str, ...]]
    unchanged_reason = "is a sentence, or already mentions a picture"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        be = existential(caption) if caption.is_one_sentence() else None
        if be is None or be.gone or caption.says({"photo", "picture", "image", "photograph"}):
            return []
        return [[(Rewording(0, 0, self.prefix),)]]


class PhotoPrefix(_Prefix):
    """ "A photo of" is added in front."""

    name = "photo_prefix"
    title = "A photo of"
    kind = "harmless"
    severity = "none"
    expected = "same"
    prefix = ("a", "photo", "of")


class Filler(_Prefix):
    """ "We see" is added in front."""

    name = "filler"
    title = "We see"
    kind = "harmless"
    severity = "none"
    expected = "same"
    prefix = ("we", "see")


class DefiniteArticle(LanguageCorruption):
    """The first "a" becomes "the": the things in a picture can be treated as known."""

    name = "definite_article"
    title = "A becomes the"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = 'does not begin with "a" and a thing'

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        first = caption.phrase_at(0)
        quantities = {"couple", "lot", "few", "bunch", "number", "variety", "close", "lots"}
        if first is None or caption.word(0) not in ("a", "an") or len(first) < 2:
            return []
        if caption.word(first.head) in quantities or caption.word(1) in quantities:
            return []
        return [[(Rewording(0, 1, ("the",)),)]]


class OwnReference(Corruption):
    """Another caption of the same image.

    Metrics compare with it: a metric that looks for copies scores it higher. Experimental: it is
    right, too, but in 8 of 36 captions read for the audit it said less than the first.
    """

    name = "own_reference"
    title = "Another caption of the image"
    kind = "harmless"
    severity = "none"
    experimental = True
    expected = "same"

    def __init__(self) -> None:
        self._known: Mapping[ImageId, Known] = {}

    def fit(self, dataset: CaptionDataset) -> None:
        self._known = known_images(dataset)

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        words = caption.text.lower().split()
        known = self._known.get(caption.image_id, Known())
        others = [r for r in known.references if r.lower().split() != words]
        if not others:
            return Corrupted(caption.text, False, realised=0.0, reason="has no other caption")
        return rewritten_whole(
            caption.text, others[int(rng.integers(len(others)))], "has no other caption"
        )


def respelt(text: str, new: str, unchanged_reason: str) -> Corrupted:
    """A caption whose tokens are spelled differently, each in its place."""
    if new == text:
        return Corrupted(text, False, realised=0.0, reason=unchanged_reason)
    pairs = zip(text.split(), new.split(), strict=True)
    edits = tuple(Edit(i, old, now) for i, (old, now) in enumerate(pairs) if old != now)
    return Corrupted(new, True, edits, None, len(edits) / max(1, len(words(text.split()))))


class LowerCase(Corruption):
    """Everything in small letters."""

    name = "lower_case"
    title = "Small letters"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return respelt(caption.text, caption.text.lower(), "has no capital")


class FinalStop(Corruption):
    """The full stop at the end is removed, or added."""

    name = "final_stop"
    title = "Final stop"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = caption.text
        last = text.split()[-1:]
        if not last or last[0][-1] in "!?,;:\"'" or not last[0].strip("."):
            return Corrupted(text, False, realised=0.0, reason="ends in another mark")
        whole = text.rstrip()
        new = whole.rstrip(".") if whole.endswith(".") else f"{whole}."
        return respelt(text, new, "ends in another mark")


class WhiteSpace(Corruption):
    """A blank between two words becomes two or three, or a tab."""

    name = "white_space"
    title = "White space"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        blanks = ("  ", "   ", "\t")
        if len(tokens) < 2:
            return Corrupted(caption.text, False, realised=0.0, reason="has one word alone")
        places = set(rng.permutation(len(tokens) - 1)[: max(1, len(tokens) // 4)].tolist())
        new = tokens[0]
        for i, token in enumerate(tokens[1:]):
            new += (blanks[int(rng.integers(len(blanks)))] if i in places else " ") + token
        return Corrupted(new, True, (), None, 0.0)


_PAIRS = {
    ("double", "decker"), ("snow", "covered"), ("flat", "screen"), ("t", "shirt"), ("mid", "air"),
    ("tree", "lined"), ("old", "fashioned"), ("close", "up"), ("stainless", "steel"),
    ("multi", "colored"), ("half", "eaten"), ("high", "rise"), ("grass", "covered"),
    ("hot", "air"), ("two", "story"), ("cross", "country"),
}  # fmt: skip


class Hyphen(LanguageCorruption):
    """A hyphen is added or removed: "double decker", "double-decker"."""

    name = "hyphen"
    title = "Hyphen"
    kind = "harmless"
    severity = "none"
    expected = "same"
    unchanged_reason = "has no word that is written with and without a hyphen"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            pair = (word, caption.word(i + 1))
            if tuple(word.split("-")) in _PAIRS:
                places.append([(Rewording(i, i + 1, tuple(word.split("-"))),)])
            elif pair in _PAIRS and not caption.tokens[i].closes and "-" not in pair[1]:
                places.append([(Rewording(i, i + 2, ("-".join(pair),)),)])
        return places


class TypographicQuotes(Corruption):
    """Straight quotation marks and apostrophes become typographic ones."""

    name = "typographic_quotes"
    title = "Typographic quotes"
    kind = "harmless"
    severity = "none"
    expected = "same"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        new = re.sub(r'(^|\s)"', r"\1“", caption.text).replace('"', "”")
        new = re.sub(r"(^|\s)'", r"\1‘", new).replace("'", "’")
        return respelt(caption.text, new, "has no quotation mark")
