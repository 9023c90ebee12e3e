"""Attributes: another colour, size, age, material or state, an antonym, none, the neighbour's.

The scene: another place, another time of day, other weather.
"""

from collections.abc import Mapping

from metaeval.corruptions.language.base import Change, LanguageCorruption, Places, reword
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.content.objects import things
from metaeval.corruptions.language.parsed import PEOPLE, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording, article_for
from metaeval.data.scenes.cast import LOOKALIKES
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words as word_set

COLOURS = (
    *("red", "blue", "green", "yellow", "orange", "purple"),
    *("pink", "brown", "black", "white", "gray"),
)
_AS_WRITTEN = {colour: colour for colour in COLOURS} | {"grey": "gray", "tan": "tan"}
# with these nouns the colour is not the thing's colour, or determines what the thing is
_NOT_OF = word_set(
    "light lights bear bears wine pepper peppers onion onions bean beans board tea "
    "juice slices house hair tomato tomatoes tree trees and or"
)


def _both_ways(text: str) -> dict[str, str]:
    return {**{b: a for a, b in pairs(text).items()}, **pairs(text)}


SIZES = _both_ways("large/small big/little huge/tiny tall/short long/short wide/narrow") | pairs(
    "giant/tiny massive/tiny enormous/tiny mini/huge larger/smaller smaller/larger little/huge "
    "short/long miniature/giant"
)
AGES = _both_ways("old/young older/younger elderly/young") | pairs(
    "old/new new/old antique/modern vintage/modern ancient/modern modern/old-fashioned"
)
MATERIALS = ("wooden", "metal", "plastic", "glass", "leather", "stone", "brick", "marble", "straw")
_MATERIAL_WORDS = frozenset(
    {*MATERIALS, "wood", "concrete", "ceramic", "steel", "metallic", "cement", "granite"}
)
_CONFUSED = (
    {"wooden", "wood", "straw"},
    {"metal", "metallic", "steel", "plastic"},
    {"stone", "brick", "marble", "concrete", "cement", "granite", "ceramic"},
    {"glass", "plastic"},
)
STATES = _both_ways(
    "open/closed empty/full wet/dry clean/dirty messy/tidy cooked/raw ripe/unripe"
) | pairs(
    "lit/unlit broken/intact crowded/deserted busy/deserted cluttered/tidy "
    "decorated/undecorated rusted/gleaming rusty/gleaming sliced/whole opened/closed "
    "parked/moving snowy/snowless bare/leafy fresh/rotten lush/barren baked/raw fried/raw "
    "grilled/raw stuffed/deflated illuminated/unlit frozen/melted shut/open "
    "dilapidated/well-kept uncooked/cooked bright/dark"
)
OPPOSITES = _both_ways(
    "happy/sad beautiful/ugly high/low outdoor/indoor public/private wild/tame thick/thin "
    "deep/shallow different/identical calm/stormy hot/cold colorful/colorless healthy/unhealthy "
    "steep/flat"
) | pairs(
    "pretty/ugly cute/ugly nice/horrible many/few several/few various/identical same/different "
    "adorable/ugly delicious/disgusting grassy/barren fluffy/hairless colored/colorless "
    "electric/manual fancy/plain ornate/plain rural/urban urban/rural rocky/smooth "
    "curved/straight striped/plain tiled/carpeted mounted/unmounted smiling/frowning good/bad "
    "sharp/blunt"
)


def before_noun(caption: ParsedCaption, place: int) -> bool:
    """Whether the token is inside a noun phrase, before its noun."""
    phrase = caption.phrase_of(place)
    return phrase is not None and place < phrase.head and not caption.tokens[place].closes


def _noun_after(caption: ParsedCaption, place: int) -> str:
    phrase = caption.phrase_of(place)
    return caption.word(phrase.head) if phrase else ""


def is_colour(caption: ParsedCaption, place: int) -> bool:
    """Whether the token is the only colour of its phrase's thing."""
    around = {caption.word(place - 1), caption.word(place + 1)}
    return (
        caption.word(place) in _AS_WRITTEN
        and before_noun(caption, place)
        and not around & ({"and", "or"} | set(_AS_WRITTEN))
        and not _NOT_OF & set(caption.words[place + 1 : place + 3])
    )


class _Attribute(LanguageCorruption, kind="attributes", severity="major"):
    """Changes what a thing is like."""


class WrongColour(_Attribute, title="Colour", unchanged_reason="has no thing with a single colour"):
    """A colour becomes one that is not confused with it and that no caption of the image names."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        if not is_colour(caption, i):
            return []
        true = _AS_WRITTEN[caption.word(i)]
        seen = {true, *LOOKALIKES[true], *known.words, *caption.words}
        return reword(i, i + 1, *(c for c in COLOURS if c not in seen))


class _FromTable(_Attribute):
    """An adjective before its noun is replaced by the table's."""

    table: Mapping[str, str]
    not_with: frozenset[str] = frozenset()
    predicates = False  # also after "is" and "are"

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word = caption.word(i)
        new = self.opposite(caption, i, self.table[word]) if word in self.table else ""
        near = {*caption.words[max(0, i - 1) : i + 2], _noun_after(caption, i)}
        if not new or known.speaks_of(self.table[word]) or self.not_with & near:
            return []
        predicate = self.predicates and caption.word(i - 1) in ("is", "are", "very")
        fits = before_noun(caption, i) or (predicate and caption.word(i + 1) in ("", "and"))
        return reword(i, i + 1, new) if fits else []

    def opposite(self, caption: ParsedCaption, place: int, new: str) -> str:
        """What the word at a place becomes: what the table says, or ""."""
        return new


class WrongSize(
    _FromTable,
    title="Size",
    unchanged_reason="has no thing with a size",
    table=SIZES,
    not_with=word_set(
        "boy boys girl girls kid kids child children baby bit time black sleeved haired "
        "sleeve hair piece league"
    ),
):
    """Large becomes small, tall short, and back; little children are young, not little."""


class WrongAge(
    _FromTable,
    title="Age of things and people",
    unchanged_reason="has nothing that is old, young or new",
    table=AGES | {"young": "elderly"},
    not_with=word_set("year years fashioned york school boy girl"),
):
    """Young becomes old, an old thing new, and back."""

    def opposite(self, caption: ParsedCaption, place: int, new: str) -> str:
        person = caption.word(place) == "old" and _noun_after(caption, place) in PEOPLE
        return "young" if person else new


class WrongMaterial(_Attribute, title="Material", unchanged_reason="names no material"):
    """A thing's material becomes another that looks different."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word = caption.word(i)
        if word not in _MATERIAL_WORDS or not before_noun(caption, i):
            return []
        if caption.word(i - 1) in ("wine", "stained", "of", "and", "looking", "stainless"):
            return []
        alike = {m for group in _CONFUSED if word in group for m in group}
        options = (m for m in MATERIALS if m not in alike and not known.speaks_of(m))
        return reword(i, i + 1, *options)


class WrongState(
    _FromTable,
    title="State",
    experimental=True,
    unchanged_reason="names no state of a thing",
    table=STATES,
    predicates=True,
    not_with=word_set(
        "field area space air fields sky water teddy animal animals bear bears toy toys "
        "lid land cheese room french fries chicken of plain plains range green blue red "
        "light lights colors colored yellow goods orange pink view views length moon size course"
    ),
):
    """Open becomes closed, empty full, sliced whole, and back."""


class OppositeAdjective(
    _FromTable,
    title="Antonym",
    unchanged_reason="has no adjective with an opposite",
    table=OPPOSITES,
    predicates=True,
    not_with=word_set(
        "rod rods air cocoa tub bed chair chairs school way sauce brightly very pot screen "
        "screens panel iron bread"
    ),
):
    """Another adjective is replaced by its antonym: happy, sad; different, identical."""

    def opposite(self, caption: ParsedCaption, place: int, new: str) -> str:
        word, after = caption.word(place), caption.word(place + 1)
        named = word == "hot" and after in ("dog", "dogs", "pink")
        # "a pretty big dog" need not be pretty
        named = named or (word == "pretty" and caption.tag(place + 1).startswith("JJ"))
        return "" if named else new


_DROPPABLE = (
    {*_AS_WRITTEN, *SIZES, *AGES, "young", *_MATERIAL_WORDS, *STATES, *OPPOSITES}
    | word_set("elderly male female shiny fluffy furry spotted plaid floral smiling")
) - word_set(
    "same many several few different various single full high mini public stuffed hot short "
    "colored electric"
)


class DropAttribute(
    _Attribute,
    title="Attribute dropped",
    severity="mild",
    unchanged_reason="has no thing with an attribute",
):
    """An adjective is dropped: "a red bus" becomes "a bus". Nothing becomes false."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        fits = (
            caption.word(i) in _DROPPABLE
            and before_noun(caption, i)
            and (caption.word(i) not in _AS_WRITTEN or is_colour(caption, i))
            and caption.word(i - 1) not in ("and", "very", "or", "too", "so")
            and caption.word(i + 1) not in ("and", "or", "colored", "haired")
        )
        return reword(i, i + 1, "") if fits else []


class MoveAttribute(
    _Attribute,
    title="Attribute moved",
    unchanged_reason="does not name a thing with a colour and one without",
):
    """A colour moves to another thing: "a red bus and a car" becomes "a bus and a red car".

    White and black are left alone, since too many things are; so is a colour that another caption
    gives to the other thing.
    """

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word = caption.word(i)
        if not is_colour(caption, i) or word in ("white", "black"):
            return []
        return [
            (Rewording(i, i + 1), Rewording(other.noun, other.noun, (word,)))
            for other in things(caption)
            if not other.start <= i < other.end
            and not (word == "brown" and caption.says({"wooden", "wood", "leather"}))
            and not set(caption.words[other.start : other.end]) & set(_AS_WRITTEN)
            and caption.tokens[other.head].lemma not in self._so_coloured(word, known)
        ]

    @staticmethod
    def _so_coloured(colour: str, known: Known) -> set[str]:
        """Words near the colour in the references."""
        texts = ([t.strip(".,").lower() for t in text.split()] for text in known.references)
        return {
            near
            for words in texts
            for i, word in enumerate(words)
            if word == colour
            for near in words[i + 1 : i + 4]
        }


# places by cluster, each with its preposition; one gives way to another cluster's
_PLACES = {
    "room": pairs(
        "kitchen/in bathroom/in bedroom/in living_room/in office/in restaurant/in classroom/in "
        "store/in library/in"
    ),
    "nature": pairs(
        "beach/on forest/in desert/in river/in lake/on meadow/in field/in pasture/in ocean/in"
    ),
    "town": pairs(
        "street/on parking_lot/in airport/at train_station/at highway/on sidewalk/on road/on "
        "city/in"
    ),
    "sport": pairs("tennis_court/on baseball_field/on ski_slope/on skate_park/in"),
}
_CLUSTER = {place: cluster for cluster, places in _PLACES.items() for place in places} | pairs(
    "mountain/nature hill/nature hillside/nature park/nature woods/nature wave/nature "
    "zoo/nature farm/nature court/sport slope/sport restroom/room hotel_room/room shop/room "
    "runway/town intersection/town bridge/town yard/nature shore/nature ramp/sport house/room "
    "baseball_game/sport tennis_match/sport"
)
# words of the image's captions that speak for a cluster
_HINTS = {
    "room": word_set("room indoors inside kitchen counter house"),
    "nature": word_set(
        "beach ocean sea water river lake field grass grassy forest desert hill mountain pasture "
        "meadow sand trees woods"
    ),
    "town": word_set(
        "street road city traffic parking highway sidewalk building buildings airport station"
    ),
    "sport": word_set("court slope ramp game match"),
}


class _Scene(LanguageCorruption, kind="scene", severity="major"):
    """Changes where, when or in what weather it is."""


class WrongPlace(_Scene, title="Place", severity="critical", unchanged_reason="names no setting"):
    """Where it is becomes somewhere else: a beach, a kitchen; rooms, nature, town and sport differ.

    The preposition comes along: "on a beach" becomes "in a kitchen".
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for phrase in caption.phrases:
            noun = " ".join(caption.words[phrase.noun : phrase.end])
            cluster = _CLUSTER.get(noun) or _CLUSTER.get(caption.word(phrase.head))
            where = phrase.start - 1
            article = caption.word(phrase.start)
            if cluster is None or caption.word(where) not in ("in", "on", "at"):
                continue
            named = caption.word(phrase.end) in ("of", "sign", "and")
            if article in ("a", "an", "the") and not named:
                options = (
                    f"{preposition} {'the' if article == 'the' else article_for(place)} {place}"
                    for other, members in _PLACES.items()
                    if other != cluster and not known.words & _HINTS[other]
                    for place, preposition in members.items()
                    if not known.speaks_of(place)
                )
                yield reword(where, phrase.end, *options)


_TIMES = pairs(
    "night/noon day/night daytime/nighttime nighttime/daytime morning/evening evening/morning "
    "afternoon/night noon/midnight sunset/noon dusk/noon sunrise/midnight dawn/noon "
    "midday/midnight daylight/moonlight sunlight/moonlight midnight/noon"
)
_BEFORE_TIME = word_set(
    "at during the in a cloudy rainy of by snowy clear early late"  # "early morning"
)
_TIME_OF_EVENT = word_set("sunny bright valentine's wedding one every game")
# "a night stand", "a day bed"
_NAMES_AFTER_TIME = word_set("stand stands table tables bed beds light lights care gown lamp")


class WrongTime(_Scene, title="Time of day", unchanged_reason="names no time of day"):
    """Day becomes night, morning evening, dusk noon, and back."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        word, before, after = (caption.word(i + k) for k in (0, -1, 1))
        event = _TIME_OF_EVENT & set(caption.words[max(0, i - 2) : i])
        if word not in _TIMES or known.speaks_of(_TIMES[word]) or event:
            return []
        if before not in _BEFORE_TIME or after in _NAMES_AFTER_TIME:
            return []
        return reword(i, i + 1, "day" if word == "night" and before != "at" else _TIMES[word])


# a space parts two kinds of weather that may take a word's place
_WEATHER = pairs(
    "sunny/rainy_snowy rainy/sunny cloudy/cloudless overcast/sunny foggy/sunny windy/windless "
    "stormy/sunny snowy/sun-scorched cloudless/cloudy gloomy/sunny hazy/clear rain/sunshine "
    "snow/rain sunshine/rain fog/sunshine snow-covered/sun-scorched clear/cloudy_stormy"
)


class WrongWeather(_Scene, title="Weather", unchanged_reason="does not mention the weather"):
    """Sun becomes rain, snow sunshine, a cloudy sky a cloudless one."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        options = _WEATHER.get(caption.word(i), "").split()
        if not options or not self._is_weather(caption, i):
            return []
        return reword(i, i + 1, *(w for w in options if not known.speaks_of(w)))

    @staticmethod
    def _is_weather(caption: ParsedCaption, place: int) -> bool:
        word, before, after = (caption.word(place + k) for k in (0, -1, 1))
        if word in ("rain", "snow", "fog", "sunshine"):
            alone = after in ("", "with", "while", "and", "on", "near", "next")
            return (
                before in ("the", "in") and alone and caption.word(place - 2) in ("in", "through")
            )
        if word == "clear":
            return after in ("sky", "skies", "day", "night") or caption.word(place + 2) == "sky"
        return caption.phrase_of(place) is not None and after != ""
