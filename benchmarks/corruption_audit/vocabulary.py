"""What the words of a scene's captions mean: a second reading of the scenes' lexicon.

The lexicon lists wordings of a fact; this module inverts it: what does a word say, and
is it true? Corruptions also write words that no scene's caption has. Those whose meaning is plain
are listed here; all others are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

from metaeval.data.scenes import Relation, SceneGraph, SceneObject
from metaeval.data.scenes.cast import Actor
from metaeval.data.scenes.lexicon import (
    AGE_WORDS,
    BACKDROPS,
    COLOUR_WORDS,
    DRESSES,
    GARMENTS,
    HATS,
    LIGHTS,
    MATERIAL_WORDS,
    NOUNS,
    OWN_COLOUR_WORDS,
    PLURALS,
    ROLES,
    ROOMS,
    SIZE_WORDS,
    SNOW_GARMENTS,
    WHERE,
)
from metaeval.data.scenes.things import THINGS
from metaeval.data.scenes.verbs import DOINGS, FRAMES, doing_of
from metaeval.text.scene_graphs.rules.function_words import words as word_set

ARTICLES = frozenset({"a", "an", "the"})
LINKS = frozenset({"is", "are", "that", "which", "who", "there"})
_PEOPLE = {"man", "woman", "boy", "girl"}
_ALL = frozenset(thing.family for thing in THINGS.values())

# ---- things

# words for whole families of things, which say less than the kind
_FAMILIES: dict[str, frozenset[str]] = {
    word.replace("_", " "): frozenset(families.split())
    for words, families in (
        ("animal animals creature creatures", "animal"),
        ("vehicle vehicles", "vehicle"),
        ("furniture piece_of_furniture pieces_of_furniture", "furniture outdoor"),
        ("food food_item food_items fruit fruits", "food"),
        ("utensil utensils", "kitchen"),
        ("appliance appliances", "appliance"),
        ("electronic_device electronic_devices", "electronic"),
        ("accessory accessories", "accessory"),
        ("living_thing living_things", "animal person"),
    )
    for word in words.split()
}
_FAMILIES |= dict.fromkeys(("thing", "things", "object", "objects"), _ALL)
# nouns of captions that are the lexicon's in another spelling, and things that no scene shows
_ALSO_CALLED = {
    "young cat": "kitten",
    "young dog": "puppy",
    "snow boarder": "snowboarder",
    "skate boarder": "skateboarder",
    "plush toy": "stuffed animal",
    "plush toys": "stuffed animals",
    "aeroplane": "airplane",
    "aeroplanes": "airplanes",
    "stop light": "traffic light",
}
_NO_SUCH_PERSON = word_set(
    "chef chefs nurse nurses soldier soldiers police officers officer firefighter firefighters "
    "fisherman fishermen golfer golfers swimmer swimmers baby babies waiter waiters farmer farmers "
    "clown clowns"
)


@cache
def _kinds_by_noun() -> dict[str, frozenset[str]]:
    kinds: dict[str, set[str]] = {}
    for kind, nouns in NOUNS.items():
        for noun in (n for pair in nouns for n in pair):
            kinds.setdefault(noun, set()).add(kind)
    for thing, nouns in ROLES.items():
        for noun in (n for pair in nouns for n in pair):
            kinds.setdefault(noun, set()).add(f"person with {thing}")
    return {noun: frozenset(named) for noun, named in kinds.items()}


def kinds_named(noun: str) -> frozenset[str]:
    """The kinds that a noun may stand for ("person with skis" of a skier); none if it is unknown.

    A person whom no scene shows (a nurse) is a kind that nothing is.
    """
    if noun in _NO_SUCH_PERSON or set(noun.split()) & _NO_SUCH_PERSON:
        return frozenset({"nobody"})
    return _kinds_by_noun().get(_ALSO_CALLED.get(noun, noun), frozenset())


def nouns_in(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where (start, end) words are nouns of things, the longest first, none in another."""
    taken: list[tuple[int, int]] = []
    for n in range(min(4, len(words)), 0, -1):
        for start in range(len(words) - n + 1):
            free = all(start >= b or start + n <= a for a, b in taken)
            if free and kinds_named(" ".join(words[start : start + n])):
                taken.append((start, start + n))
    return sorted(taken)


def families_named(noun: str) -> frozenset[str]:
    """COCO's supercategories that a vague word can mean; empty for other words."""
    return _FAMILIES.get(noun, frozenset())


def true_kinds(objects: Sequence[SceneObject], with_things: Iterable[str] = ()) -> set[str]:
    """What things may be called: kind, category and, of people, the general words.

    `with_things` are the kinds of things that they ride, hold or wear.
    """
    kinds = {o.kind for o in objects}
    kinds |= {o.category for o in objects if o.kind not in _PEOPLE}
    if any(o.category == "boat" for o in objects):
        kinds |= {"sailing boat", "row boat"}
    if kinds & _PEOPLE:
        kinds |= {"person", "people", *(f"person with {thing}" for thing in with_things)}
        kinds |= {"adults"} if kinds & {"man", "woman"} else set()
        kinds |= {"children"} if kinds & {"boy", "girl"} else set()
    return kinds


def families(objects: Sequence[SceneObject]) -> set[str]:
    """COCO's supercategories of things."""
    return {THINGS[o.category].family for o in objects}


# ---- attributes

_VALUES = {
    "colour": COLOUR_WORDS,
    "size": SIZE_WORDS,
    "material": MATERIAL_WORDS,
    "age": AGE_WORDS,
}
_MORE_VALUES = {
    "younger": ("age", "young"),
    "very small": ("size", "small"),
    "brick": ("material", "brick"),
    "stone": ("material", "stone"),
    "marble": ("material", "marble"),
    "grey": ("colour", "gray"),
    "straw": ("material", "straw"),
}


def values_named(words: str) -> set[tuple[str, str]]:
    """The meaning of an adjective: ("colour", "red"), …; none if it is unknown."""
    said = {
        (kind, value)
        for kind, table in _VALUES.items()
        for value, names in table.items()
        if words in names
    }
    said |= {("colour", value) for (_, value), names in OWN_COLOUR_WORDS.items() if words in names}
    return said | ({_MORE_VALUES[words]} if words in _MORE_VALUES else set())


@cache
def garments() -> dict[str, frozenset[str]]:
    """Attribute's name → the words for such clothes."""
    table = {"clothing": (*GARMENTS, *SNOW_GARMENTS), "hat": HATS, "dress": DRESSES}
    return {
        name: frozenset(w for g in words for w in (g, PLURALS.get(g, f"{g}s")))
        for name, words in table.items()
    }


# what excludes what; words that scenes' captions have come first
_CONTRARY = {
    word: frozenset(contrary.split())
    for words, contrary in (
        ("grassy green lush", "barren"),
        ("snowy", "scorched snowless"),
        ("fluffy puffy", "hairless"),
        ("above", "below"),
        ("dry", "wet"),
        ("open", "closed"),
        ("busy", "deserted"),
        ("outdoor", "indoor"),
        ("clean spotless", "dirty"),
        ("tidy neat", "messy"),
        ("calm peaceful", "stormy"),
        ("deep", "shallow"),
        ("urban", "rural"),
        ("rural", "urban"),
        ("bright", "dark"),
        ("tiled", "carpeted"),
        ("high", "low"),
        ("public", "private"),
        ("empty", "full"),
        ("rocky rough", "smooth"),
        ("framed", "unframed"),
        ("ripe", "unripe"),
        ("striped", "plain"),
        ("painted", "unpainted"),
        ("new modern", "old fashioned"),
        ("pretty cute adorable beautiful gorgeous lovely charming", "ugly"),
        ("nice", "horrible"),
        ("happy cheerful", "sad"),
        ("healthy", "unhealthy"),
        ("colorful", "colorless"),
        ("fancy ornate", "plain"),
        ("delicious", "disgusting"),
        ("fresh", "rotten"),
        ("thick", "thin"),
        ("wild", "tame"),
        ("tall", "short"),
        ("long", "short"),
        ("old", "young new"),
        ("plain", "fancy ornate striped"),
    )
    for word in words.split()
}


def excludes(said: str, new: str) -> bool:
    """Whether two words exclude each other: opposites, another colour, another size."""
    a, b = values_named(said), values_named(new)
    other = {kind for kind, _ in a} & {kind for kind, _ in b} and not a & b
    return bool(other) or new in _CONTRARY.get(said, ())


# ---- what things do

# what excludes every verb of the scenes, in which people and things rest, ride, hold and look
_NEVER_SHOWN = word_set(
    "dancing crawling kneeling jumping painting washing kicking repairing dragging hugging "
    "sniffing dropping drops drop ignoring ignores ignore hiding showing shows show avoiding "
    "descending catching missing misses crying frowning lowering lowers lower moving "
    "departing leaving scattering selling taking departs"
)


def ways_to_say(graph: SceneGraph, relation: Relation) -> set[str]:
    """A relation in all words that captions have for it, without "is" and "are"."""
    groups = graph.groups()
    a, b = (groups[i][0] for i in (relation.subject, relation.object))
    family = {"indoor": "toy"}.get(THINGS[a.category].family, THINGS[a.category].family)
    names = [relation.predicate]
    if relation.predicate == "sitting at":
        names += ["sitting around"]
    ways: set[str] = set()
    for name in names:
        keys = (f"{name}>{b.category}", f"{name}<{a.category}", f"{name}<{family}", name)
        key = next((k for k in keys if k in FRAMES), name)
        for f in FRAMES.get(key, ()):
            ways |= {f"{form} {f.rest}".strip() for form in (f.ing, f.one, f.many)}
            ways.add(f.rest)
            if f.ing in ("sitting", "resting", "waiting"):  # as one who lies, a bird
                ways |= {f"{v} {f.rest}" for v in ("laying", "lays", "lay", "lying", "lies")}
    return ways - {""}


def ways_to_do(graph: SceneGraph, group: int) -> set[str]:
    """What a group in no relation does, in all words."""
    actor = Actor(group, graph.groups()[group], graph.setting)
    frames = DOINGS[doing_of(actor, graph)]
    return {form for f in frames for form in (f.ing, f.one, f.many)} - {""}


@cache
def every_way() -> frozenset[str]:
    """All relations and doings in all their words."""
    frames = [f for table in (FRAMES, DOINGS) for fs in table.values() for f in fs]
    said = {f"{form} {f.rest}".strip() for f in frames for form in (f.ing, f.one, f.many)}
    return frozenset(said | {f.rest for f in frames}) - {""}


@cache
def every_verb() -> frozenset[str]:
    """The first words of all wordings of an action."""
    frames = [f for table in (FRAMES, DOINGS) for fs in table.values() for f in fs]
    return frozenset(v.split()[0] for f in frames for v in (f.ing, f.one, f.many) if v)


def never_shown(words: Sequence[str]) -> bool:
    """Whether a verb is one of those that never occur in a scene."""
    return bool(_NEVER_SHOWN & set(words))


# ---- where

# prepositions by place: those of a line have the same meaning
_PREPOSITIONS = (
    ("near", "by", "beside", "next to", "close to", "alongside", "along", "at", "to the side of"),
    ("on", "on top of", "atop", "over"),
    ("in", "inside", "inside of", "within"),
    ("under", "underneath", "beneath", "below"),
    ("behind", "in back of"),
    ("in front of", "against"),
    ("outside", "outside of", "out of"),
    ("far away from", "away from"),
    ("above",),
    ("around",),
    ("across",),
    ("through",),
    ("down",),
    ("up",),
    ("with", "has"),
    ("without",),
)
_SAME_PLACE = {words: k for k, line in enumerate(_PREPOSITIONS) for words in line}
# these do not name a place
NO_PLACE = frozenset({"during", "of", "among", "until", "since"})


def preposition(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The preposition with which words begin ("" for none), and the rest."""
    for n in range(min(4, len(words)), 0, -1):
        if " ".join(words[:n]) in _SAME_PLACE or (n == 1 and words[0] in NO_PLACE):
            return " ".join(words[:n]), words[n:]
    return "", words


def same_place(a: str, b: str) -> bool | None:
    """Whether two prepositions name the same place; `None` where one is unknown."""
    if a == b:
        return True
    if a not in _SAME_PLACE or b not in _SAME_PLACE:
        return None
    return _SAME_PLACE[a] == _SAME_PLACE[b]


_EVERYWHERE = {key: {" ".join(p) for p in phrases} for key, phrases in WHERE.items()} | {
    f"room: {key}": {" ".join(p) for p in phrases} for key, phrases in ROOMS.items()
}
_BEHIND = {key: {" ".join(p) for p in phrases} for key, phrases in BACKDROPS.items()}
# places that no scene has; the others are found by the nouns of `WHERE`
_NO_SUCH_PLACE = word_set("classroom library restaurant store desert river highway lot")
_SIDEWALK = frozenset({"street"})


def same_setting(old: str, new: str) -> bool | None:
    """Whether two phrases name the same place; `None` where one is unknown."""
    for table in (_EVERYWHERE, _BEHIND):
        before = {key for key, phrases in table.items() if old in phrases}
        after = {key for key, phrases in table.items() if new in phrases}
        if before and after:
            return bool(before & after)
    return None


@cache
def _place_nouns() -> dict[str, frozenset[str]]:
    """Last word of a place → the settings that have it."""
    nouns: dict[str, set[str]] = {}
    for key, phrases in _EVERYWHERE.items():
        for phrase in phrases:
            nouns.setdefault(phrase.split()[-1], set()).add(key.removeprefix("room: "))
    return {noun: frozenset(keys) for noun, keys in nouns.items()}


def settings_named(words: Sequence[str]) -> frozenset[str] | None:
    """The settings whose place a phrase names by its last word; `None` for an unknown one."""
    if not words:
        return None
    if words[-1] in _NO_SUCH_PLACE:
        return frozenset()
    if words[-1] == "sidewalk":
        return _SIDEWALK
    return _place_nouns().get(words[-1])


_TAILS = {"in", "on", "with", "behind", "nearby", "above", "around", "outside", "covered", "of"}


@cache
def words_of_places() -> frozenset[str]:
    """Nouns of places, background, light and clothes: none of them is what a thing is called."""
    places = [p for table in (WHERE, ROOMS, LIGHTS, BACKDROPS) for ps in table.values() for p in ps]
    last = {p[-1] for p in places}
    for phrase in places:  # "with trees in the background"
        last |= {a for a, b in pairwise(phrase[1:]) if b in _TAILS}
    clothes = {w.split()[-1] for words in garments().values() for w in words}
    things = {word for noun in _kinds_by_noun() for word in noun.split()}
    return frozenset(last | clothes) - things - _TAILS - ARTICLES - {"as", "high", "out", "up"}


# ---- light

_DAY = {"sunny", "cloudy", "overcast"}
# word → the lights in which it is true ("indoors" implies none)
_LIGHT: dict[str, set[str]] = {
    "sunny": {"sunny"},
    "rainy": set(),
    "rain": set(),
    "stormy": set(),
    "snowy": set(),
    "sun-scorched": set(),
    "cloudless": {"sunny", "night"},
    "cloudy": {"cloudy", "overcast"},
    "night": {"night"},
    "nighttime": {"night"},
    "midnight": {"night"},
    "moonlight": {"night"},
    "dark": {"night"},
    "noon": _DAY,
    "midday": _DAY,
    "day": {*_DAY, "sunset"},
    "daytime": {*_DAY, "sunset"},
    "daylight": {*_DAY, "sunset"},
    "evening": {"sunset", "night"},
    "morning": _DAY,
    "sunset": {"sunset"},
    "dusk": {"sunset"},
    "dawn": {"sunset"},
    "sunrise": {"sunset"},
    "sunshine": {"sunny"},
    "overcast": {"overcast"},
}


def light_holds(light: str, word: str) -> bool | None:
    """Whether a word for weather or time of day is true in this light; `None` if unknown."""
    return light in _LIGHT[word] if word in _LIGHT else None
