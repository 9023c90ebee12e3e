"""Harmless wording and writing: synonyms, spellings, frames, another reference, case, marks."""

import re
from typing import ClassVar, Literal

import numpy as np

from metaeval.corruptions.base import (
    Caption,
    Corrupted,
    Corruption,
    Severity,
    reads_the_same,
    rewritten_whole,
)
from metaeval.corruptions.language.base import (
    Change,
    KnowsImages,
    LanguageCorruption,
    Places,
    reword,
    swapped_word,
)
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.content.logic import existential, number_of
from metaeval.corruptions.language.parsed import NUMBER_WORDS, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.corruptions.sentences import words_by_position
from metaeval.runs.records import Edit
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words as word_set

_SYNONYMS = {
    tuple(old.split()): new
    for old, new in pairs(
        """couch/sofa couches/sofas bicycle/bike bicycles/bikes motorcycle/motorbike
        motorcycles/motorbikes airplane/plane airplanes/planes tv/television refrigerator/fridge
        photo/picture photograph/picture large/big kid/child kids/children laying/lying
        several/multiple forest/woods jumping/leaping beside/next_to next_to/beside
        cellphone/cell_phone cell_phone/mobile_phone purse/handbag snowboarder/snow_boarder
        kitten/young_cat puppy/young_dog underneath/beneath atop/on_top_of on_top_of/atop
        sailboat/sailing_boat stove/cooker doughnut/donut doughnuts/donuts donut/doughnut
        donuts/doughnuts lady/woman ladies/women guy/man guys/men elderly/old
        stuffed_animal/plush_toy frisbee/flying_disc skateboarder/skate_boarder huge/enormous
        enormous/huge toilet/commode automobile/car cattle/cows sofa/couch bike/bicycle
        bikes/bicycles plane/airplane planes/airplanes television/tv fridge/refrigerator big/large
        beneath/underneath near/close_to tiny/very_small gigantic/huge close_to/near
        skating/skateboarding veggies/vegetables stop_light/traffic_light"""
    ).items()
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


class Harmless:
    """Mixed into corruptions that a score should not notice."""

    kind: ClassVar[str] = "harmless"
    severity: Severity | None = "none"
    expected: ClassVar[Literal["lower", "same"]] = "same"


class Synonym(
    Harmless,
    LanguageCorruption,
    title="Synonym",
    unchanged_reason="has no word with a safe synonym",
):
    """A word is replaced by one that captions use for the same: couch, sofa; large, big."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        for size in (3, 2, 1):
            words = caption.words[i : i + size]
            if words in _SYNONYMS and len(words) == size and caption.is_at(i, words):
                fits = self._fits(caption, i, i + size)
                return reword(i, i + size, _SYNONYMS[words]) if fits else []
        return []

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


_SPELLINGS = pairs(
    "gray/grey color/colour colors/colours colored/coloured colorful/colourful "
    "center/centre theater/theatre harbor/harbour traveling/travelling "
    "traveled/travelled neighborhood/neighbourhood tire/tyre tires/tyres "
    "favorite/favourite mustache/moustache jewelry/jewellery pajamas/pyjamas "
    "plow/plough catalog/catalogue airplane/aeroplane airplanes/aeroplanes mom/mum "
    "multicolored/multicoloured fiber/fibre racket/racquet "
    "rackets/racquets aluminum/aluminium curb/kerb flavor/flavour "
    "gray-haired/grey-haired organized/organised parlor/parlour"
)
_SPELLINGS |= {gb: us for us, gb in _SPELLINGS.items()}


class BritishSpelling(
    Harmless,
    LanguageCorruption,
    title="British or American spelling",
    unchanged_reason="has no word with two spellings",
):
    """An American spelling becomes the British one, or back: gray, grey."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        return swapped_word(caption, i, _SPELLINGS)


class NumberFormat(
    Harmless,
    LanguageCorruption,
    title="Number in digits or letters",
    unchanged_reason="has no number from two to twelve",
):
    """A number is written in digits, or in letters: two, 2."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        digits = {str(n): NUMBER_WORDS[n - 1] for n in range(2, 13)}
        n, text = number_of(caption, i), caption.tokens[i].text
        if n is not None:
            return reword(i, i + 1, str(n))
        if text not in digits or caption.phrase_of(i) is None:
            return []
        return reword(i, i + 1, digits[text] if i else digits[text].capitalize())


class ThereIsFrame(
    Harmless,
    LanguageCorruption,
    name="there_is",
    title="There is",
    unchanged_reason="cannot follow there is",
):
    """The caption becomes a sentence: "there is a man riding a horse"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        be = existential(caption) if caption.is_one_sentence() else None
        if be is not None:
            yield [(Rewording(0, 0, ("there", be.word)), *be.gone)]


class _Prefix(
    Harmless, LanguageCorruption, unchanged_reason="is a sentence, or already mentions a picture"
):
    prefix: ClassVar[str]

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        be = existential(caption) if caption.is_one_sentence() else None
        pictures = {"photo", "picture", "image", "photograph"}
        if be is not None and not be.gone and not caption.says(pictures):
            yield reword(0, 0, self.prefix)


class PhotoPrefix(_Prefix, title="A photo of", prefix="a photo of"):
    """ "A photo of" is added in front."""


class Filler(_Prefix, title="We see", prefix="we see"):
    """ "We see" is added in front."""


class DefiniteArticle(
    Harmless,
    LanguageCorruption,
    title="A becomes the",
    unchanged_reason='does not begin with "a" and a thing',
):
    """The first "a" becomes "the": the things in a picture can be treated as known."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        first = caption.phrase_at(0)
        quantities = {"couple", "lot", "few", "bunch", "number", "variety", "close", "lots"}
        if first is None or caption.word(0) not in ("a", "an"):
            return
        if not quantities & {caption.word(first.head), caption.word(1)}:
            yield reword(0, 1, "the")


class OwnReference(Harmless, KnowsImages, title="Another caption of the image", experimental=True):
    """Another caption of the same image.

    Metrics compare with it: a metric that looks for copies scores it higher. Experimental: it is
    right, too, but in 8 of 36 captions read for the audit it said less than the first.
    """

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        references = self.known(caption).references
        others = [r for r in references if not reads_the_same(r, caption.text)] or [caption.text]
        new = others[int(rng.integers(len(others)))]
        return rewritten_whole(caption.text, new, "has no other caption")


def respelt(text: str, new: str, unchanged_reason: str) -> Corrupted:
    """A caption whose tokens are spelled differently, each in its place."""
    if new == text:
        return Corrupted(text, False, realised=0.0, reason=unchanged_reason)
    pairs = zip(text.split(), new.split(), strict=True)
    edits = tuple(Edit(i, old, now) for i, (old, now) in enumerate(pairs) if old != now)
    return Corrupted(
        new, True, edits, None, len(edits) / max(1, len(words_by_position(text.split())))
    )


class LowerCase(Harmless, Corruption, title="Small letters"):
    """Everything in small letters."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return respelt(caption.text, caption.text.lower(), "has no capital")


class FinalStop(Harmless, Corruption, title="Final stop"):
    """The full stop at the end is removed, or added."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = caption.text
        last = text.split()[-1:]
        if not last or last[0][-1] in "!?,;:\"'" or not last[0].strip("."):
            return Corrupted(text, False, realised=0.0, reason="ends in another mark")
        whole = text.rstrip()
        new = whole.rstrip(".") if whole.endswith(".") else f"{whole}."
        return respelt(text, new, "ends in another mark")


class WhiteSpace(Harmless, Corruption, title="White space"):
    """A blank between two words becomes two or three, or a tab."""

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


_HYPHENED = word_set(
    "double-decker snow-covered flat-screen t-shirt mid-air tree-lined old-fashioned close-up "
    "stainless-steel multi-colored half-eaten high-rise grass-covered hot-air two-story "
    "cross-country"
)


class Hyphen(
    Harmless,
    LanguageCorruption,
    title="Hyphen",
    unchanged_reason="has no word that is written with and without a hyphen",
):
    """A hyphen is added or removed: "double decker", "double-decker"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word = caption.word(i)
        joined = f"{word}-{caption.word(i + 1)}"
        if word in _HYPHENED:
            return reword(i, i + 1, word.replace("-", " "))
        fits = joined in _HYPHENED and not caption.tokens[i].closes
        return reword(i, i + 2, joined) if fits else []


class TypographicQuotes(Harmless, Corruption, title="Typographic quotes"):
    """Straight quotation marks and apostrophes become typographic ones."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        new = re.sub(r'(^|\s)"', r"\1“", caption.text).replace('"', "”")
        new = re.sub(r"(^|\s)'", r"\1‘", new).replace("'", "’")
        return respelt(caption.text, new, "has no quotation mark")
