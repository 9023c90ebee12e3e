"""Relations and actions: another verb, another place, roles exchanged, another order."""

from collections.abc import Sequence

from metaeval.corruptions.language.base import (
    Change,
    LanguageCorruption,
    Places,
    reword,
    swap_phrases,
)
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.parsed import (
    ARTICLES,
    ING_NOUNS,
    NO_THINGS,
    PEOPLE,
    NounPhrase,
    ParsedCaption,
)
from metaeval.corruptions.language.rewriting import verb_form, verb_lemma
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words as word_set

VERB_TAGS = ("VB", "VBZ", "VBP", "VBG", "VBD", "VBN")
_ALIVE = PEOPLE | word_set(
    "dog dogs cat cats horse horses cow cows sheep elephant elephants giraffe giraffes zebra "
    "zebras bear bears bird birds group herd crowd family animal animals puppy kitten he she they"
)
_HERDS = word_set("herd flock crowd family team")
_TOYS = word_set("teddy stuffed toy plush")
# actions at a place, and actions on a thing: no two of them occur together
_SOMEWHERE = ("dancing", "crawling", "kneeling", "jumping", "swimming")
_TO_SOMETHING = ("painting", "washing", "kicking", "repairing", "dragging", "hugging", "sniffing")
_HAPPENS = word_set(
    "sitting standing walking laying lying skiing surfing skateboarding "
    "snowboarding playing grazing posing eating sleeping flying running swimming "
    "kneeling jumping resting"
)
_DONE_TO = word_set(
    "riding holding eating flying wearing cutting throwing watching feeding petting "
    "using carrying swinging hitting pulling pushing catching brushing reading "
    "washing kicking making preparing chasing chewing"
)
OPPOSITE_VERBS = pairs(
    "sit/stand stand/sit push/pull pull/push throw/catch catch/throw enter/leave leave/enter "
    "arrive/depart depart/arrive smile/frown laugh/cry sleep/play park/move land/take_off "
    "watch/ignore load/unload raise/lower lift/drop climb/descend ascend/descend buy/sell "
    "sell/buy win/lose approach/avoid hold/drop carry/drop gather/scatter attach/detach "
    "hide/show open/close close/open connect/disconnect hit/miss walk/sit run/sit lay/stand "
    "lie/stand pack/unpack"
)


def is_alive(caption: ParsedCaption, doer: NounPhrase) -> bool:
    """Whether a phrase names people or animals ("a herd of them", too), and no toys."""
    if _TOYS & set(caption.words[doer.start : doer.end]):
        return False
    of_these = caption.word(doer.start - 1) == "of"
    herd = of_these and caption.word(doer.start - 2) in _HERDS
    return caption.word(doer.head) in _ALIVE or herd


def _doer(caption: ParsedCaption, place: int) -> NounPhrase | None:
    """The noun phrase right before a verb (or before its "is")."""
    before = place - (caption.word(place - 1) in ("is", "are")) - 1
    return caption.phrase_of(before)


class _Relation(LanguageCorruption, kind="relations", severity="critical"):
    """Changes what things do to each other."""


class WrongVerb(
    _Relation,
    title="Verb",
    unchanged_reason="has no replaceable verb in -ing with a person as subject",
):
    """Who sits dances, what is held is washed: a verb in -ing gives way to another action's."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word, doer, thing = caption.word(i), _doer(caption, i), caption.phrase_at(i + 1)
        if caption.tokens[i].closes or doer is None or not is_alive(caption, doer):
            return []
        options: Sequence[str] = ()
        if word in _DONE_TO and thing and caption.word(thing.head) not in NO_THINGS:
            options = _TO_SOMETHING
        elif word in _HAPPENS and caption.tag(i + 1) in ("IN", "TO"):
            options = _SOMEWHERE
        verbs = {word, "swimming"} if caption.word(doer.head).startswith("bird") else {word}
        return reword(i, i + 1, *(o for o in options if o not in verbs and not known.speaks_of(o)))


class OppositeVerb(
    _Relation, title="Antonymous verb", unchanged_reason="has no verb with an opposite"
):
    """A verb gives way to its opposite in the same form: sitting, standing; throwing, catching."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        token = caption.tokens[i]
        ing = token.word.endswith("ing")
        by_form = OPPOSITE_VERBS.get(verb_lemma(token.word)) if ing else None
        opposite = OPPOSITE_VERBS.get(token.lemma, by_form)
        if opposite is None or not self._is_verb(caption, i) or known.speaks_of(opposite):
            return []
        tag = "VBG" if ing else token.tag.replace("VBP", "VB")
        return reword(i, i + 1, verb_form(opposite, tag))

    @staticmethod
    def _is_verb(caption: ParsedCaption, place: int) -> bool:
        token = caption.tokens[place]
        phrase = caption.phrase_of(place)
        if token.tag not in VERB_TAGS or (phrase and place < phrase.head):
            return False
        before, after = caption.word(place - 1), caption.word(place + 1)
        if (token.tag in ("VBN", "VBD") and before in ARTICLES) or before in ("parking", "close"):
            return False
        if {token.lemma, verb_lemma(token.word)} & {"sit", "stand", "lay", "lie"}:
            doer = _doer(caption, place)
            if doer is None or after == "up" or not is_alive(caption, doer):
                return False
            return not caption.word(doer.head).startswith("bird")  # which sits as it stands
        if token.lemma in ("hold", "carry", "hit", "catch", "throw", "watch", "push", "pull"):
            return caption.phrase_at(place + 1) is not None
        if token.lemma in ("walk", "run", "close", "open", "hide", "park", "land"):
            return token.word.endswith("ing") and after not in ("a", "an", "the", "his", "her")
        return after != "up" or token.lemma == "stand"


# words of a place → words of the opposite place
INVERSE = {
    tuple(old.split()): new
    for old, new in pairs(
        "on_top_of/under underneath/on_top_of under/on_top_of beneath/on_top_of atop/under "
        "above/below below/above in_front_of/behind behind/in_front_of inside/outside "
        "inside_of/outside_of outside_of/inside_of outside/inside towards/away_from "
        "toward/away_from left/right right/left close_to/far_away_from into/out_of out_of/into"
    ).items()
}
_UP_DOWN = {("up",): "down", ("down",): "up"}
# where up and down exclude each other; going down a street may also be going up
_SLOPES = word_set("hill slope mountain stairs ramp steps hillside wave")


def said_of(phrase: str, known: Known) -> bool:
    """Whether a reference contains the words: then it may be true of the image."""
    return f" {phrase} " in " ".join(known.references).lower()


class InvertedRelation(
    _Relation,
    title="Spatial relation inverted",
    severity="major",
    experimental=True,
    unchanged_reason="names no place with an opposite",
):
    """A place becomes the opposite one: on top of, under; in front of, behind; left, right."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        end = 0
        for i in range(len(caption)):
            match = self._at(caption, i) if i >= end else None
            if match is not None:
                size, new = match
                end = i + size
                yield reword(i, end, new) if not said_of(new, known) else []

    @staticmethod
    def _at(caption: ParsedCaption, i: int) -> tuple[int, str] | None:
        for size in (3, 2, 1):
            words = caption.words[i : i + size]
            invertible = words in INVERSE or words in _UP_DOWN
            if len(words) < size or not invertible or not caption.is_at(i, words):
                continue
            thing = caption.phrase_at(i + size)
            if words in (("left",), ("right",)):
                after, before = caption.word(i + 1), caption.word(i - 1)
                aside = after in ("side", "hand") or before in ("the", "his", "her")
                return (size, INVERSE[words]) if aside else None
            if thing is None or caption.tokens[i + size - 1].closes:
                return None
            if words in _UP_DOWN:
                slope = caption.word(thing.head) in _SLOPES
                return (size, _UP_DOWN[words]) if slope else None
            if caption.word(thing.head) in ("fence", "background", "bars", "window", "air"):
                return None
            return size, INVERSE[words]
        return None


_BESIDE = [
    phrase.split()
    for phrase in (
        *("next to", "near", "beside", "close to", "by", "in front of", "behind", "under"),
        *("underneath", "on top of", "beneath"),
    )
]
_CONTAINERS = word_set(
    "bowl box vase basket car truck suitcase sink cup bathtub tub cage bag pan pot "
    "glass drawer boat bus container refrigerator oven microwave"
)
_SURFACES = word_set(
    "table couch bed bench chair desk counter plate tray rug roof shelf sofa car "
    "truck suitcase elephant stove countertop toilet refrigerator blanket"
)
_PUT = word_set("sitting standing laying lying sits sleeping parked resting is")
# what is next to a thing may be behind it
_SIDES = ("by", "next to", "near", "beside", "close to")
_ALIKE = dict.fromkeys(_SIDES, ("behind",)) | {
    "on": ("on top of",),
    "in": ("inside", "under"),
    "underneath": ("under",),
    "beneath": ("under",),
}
_OTHER_PLACES = ("on top of", "under", "behind", "inside", "far away from")


class OtherRelation(
    _Relation,
    title="Spatial relation replaced",
    severity="major",
    experimental=True,
    unchanged_reason="names no replaceable place",
):
    """A place becomes another one that excludes it: next to a car, on top of a car."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        size = self._size(caption, i)
        thing = caption.phrase_at(i + size) if size else None
        if thing is None or caption.word(thing.head) in NO_THINGS:
            return []
        old = " ".join(caption.words[i : i + size])
        excluded = (old, *_ALIKE.get(old, ()))
        options = (o for o in _OTHER_PLACES if o not in excluded and not said_of(o, known))
        return reword(i, i + size, *options)

    @staticmethod
    def _size(caption: ParsedCaption, place: int) -> int:
        """How many words say a place there; 0 where none do."""
        for words in _BESIDE:
            if caption.is_at(place, words):
                passive = words == ["by"] and caption.tag(place - 1) in ("VBN", "VBD")
                return 0 if passive else len(words)
        thing = caption.phrase_at(place + 1)
        if thing is None or (thing.end < len(caption) and caption.word(thing.end) == "of"):
            return 0
        head = caption.word(thing.head)
        before = caption.word(place - 1)
        put = place and (caption.tokens[place - 1].is_noun or before in _PUT)
        fits = {"in": _CONTAINERS, "on": _SURFACES}.get(caption.word(place), frozenset())
        return int(bool(put) and head in fits)


_ASYMMETRIC = word_set(
    "on in under behind riding holding eating wearing carrying chasing pulling "
    "pushing watching above inside over below underneath petting feeding hitting "
    "throwing driving"
)
_MULTI = [
    phrase.split()
    for phrase in (
        *("in front of", "on top of", "inside of", "looking at", "sitting on", "standing on"),
        *("laying on", "sitting in", "standing in", "walking on", "parked on", "lying on"),
        *("sitting on top of", "playing with"),
    )
]
_TIMES = word_set("daytime nighttime dark daylight sunshine sunlight sunset evening morning")


class SwapRoles(
    _Relation,
    title="Arguments swapped",
    experimental=True,
    unchanged_reason="has no asymmetric relation of two things",
):
    """Who does and what it is done to change places: "a horse riding a man".

    Only around relations that are not symmetric; "is" and "has" agree with both, or it is left.
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for first in caption.phrases:
            be = int(caption.word(first.end) in ("is", "are"))
            size = be + self._relation(caption, first.end + be)
            second = caption.phrase_at(first.end + size) if size > be else None
            if second is not None and self._fit(caption, first, second, bool(be)):
                yield swap_phrases(caption, first, second)

    @staticmethod
    def _relation(caption: ParsedCaption, place: int) -> int:
        sizes = [len(words) for words in _MULTI if caption.is_at(place, words)]
        return max(sizes, default=int(caption.word(place) in _ASYMMETRIC))

    @staticmethod
    def _fit(caption: ParsedCaption, first: NounPhrase, second: NounPhrase, agrees: bool) -> bool:
        heads = caption.tokens[first.head], caption.tokens[second.head]
        opening = {"a", "an", "the", "two", "three", "some"}
        start = first.start if caption.word(first.start - 2) != "there" else 0
        return (
            # further on, both may be places of the subject: "riding on a bicycle on the street"
            start == 0
            and caption.tag(second.end) not in ("VBN", "VBD", "JJ")
            and heads[0].word not in NO_THINGS
            and heads[1].word not in NO_THINGS
            and heads[0].lemma != heads[1].lemma
            and caption.word(first.start) in opening
            and caption.word(second.start) in opening
            and caption.word(first.start - 1) not in ("of", "and", "with")
            and caption.word(second.end) not in ("of", "and")
            and not {heads[0].word, heads[1].word} & _TIMES
            and caption.tag(second.end) not in ("VB", "VBP")
            and not caption.tokens[first.head].closes
            and (not agrees or heads[0].is_plural == heads[1].is_plural)
        )


_EVENTS = word_set(
    "game match race meal flight takeoff take-off landing serve swing pitch rain storm sunset "
    "sunrise dinner lunch breakfast jump fall ceremony wedding party show concert crash"
)
_REPLACED = word_set("on in at with under over by from into through behind near around")
_WRONG = ("during", "of", "among", "until", "since")


class WrongPreposition(
    _Relation,
    title="Preposition",
    severity="major",
    unchanged_reason="has no preposition before a thing",
):
    """A preposition gives way to one that makes no sense there: on a couch, during a couch."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        thing = caption.phrase_at(i + 1)
        if caption.word(i) not in _REPLACED or thing is None or caption.tokens[i].closes or not i:
            return []
        if caption.word(thing.head) in NO_THINGS or caption.word(thing.end) == "of":
            return []
        sensible = {"among"} if caption.tokens[thing.head].is_plural else set()
        if caption.word(thing.head) in _EVENTS:
            sensible |= {"during", "until", "since"}  # "racing during a race"
        fits = caption.tag(thing.start) in ("DT", "CD")
        return reword(i, i + 1, *(w for w in _WRONG if w not in sensible)) if fits else []


_ABOUT_TO = [
    phrase.split()
    for phrase in (
        *("about to", "getting ready to", "get ready to", "ready to", "preparing to"),
        *("waiting to", "trying to", "prepares to", "going to"),
    )
]


class EventOrder(
    _Relation,
    title="Order of events",
    severity="major",
    experimental=True,
    unchanged_reason="describes no order of events",
):
    """What comes next is over, what comes before comes after: "about to eat", "done eating"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        return self._before_after(caption, i) or self._done(caption, i)

    @staticmethod
    def _before_after(caption: ParsedCaption, i: int) -> list[Change]:
        """Only between events: "kneeling before two horses" and "chasing after a ball" are not."""
        word = caption.word(i)
        other = {"before": "after", "after": "before", "while": "before"}.get(word)
        if other is None or not i:
            return []
        following = caption.word(i + 1)
        happens = following.endswith("ing") and following not in ING_NOUNS
        thing = caption.phrase_at(i + 1)
        event = thing is not None and caption.word(thing.head) in _EVENTS and word != "while"
        chased = word == "after" and verb_lemma(caption.word(i - 1)) in ("chase", "run", "look")
        return reword(i, i + 1, other) if not chased and (happens or event) else []

    @staticmethod
    def _done(caption: ParsedCaption, i: int) -> list[Change]:
        places = (i + len(words) for words in _ABOUT_TO if caption.is_at(i, words))
        place = next((place for place in places if caption.tag(place) == "VB"), 0)
        if not place or caption.word(place) == "be" or caption.word(i - 1) in ("getting", "get"):
            return []
        return reword(i, place + 1, f"done {verb_form(caption.word(place), 'VBG')}")
