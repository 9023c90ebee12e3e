"""The scene: another place, another time of day, other weather."""

from __future__ import annotations

from metaeval.corruptions.base import Severity
from metaeval.corruptions.language.base import LanguageCorruption, Places, reword
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import article_for
from metaeval.text.scene_graphs.rules.function_words import pairs
from metaeval.text.scene_graphs.rules.function_words import words as word_set

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


class _Scene(LanguageCorruption):
    kind = "scene"
    severity: Severity | None = "major"


class WrongPlace(_Scene):
    """Where it is becomes somewhere else: a beach, a kitchen; rooms, nature, town and sport differ.

    The preposition comes along: "on a beach" becomes "in a kitchen".
    """

    name = "wrong_place"
    title = "Place"
    severity = "critical"
    unchanged_reason = "names no setting"

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


class WrongTime(_Scene):
    """Day becomes night, morning evening, dusk noon, and back."""

    name = "wrong_time"
    title = "Time of day"
    unchanged_reason = "names no time of day"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, word in enumerate(caption.words):
            if word not in _TIMES or known.speaks_of(_TIMES[word]):
                continue
            before, after = caption.word(i - 1), caption.word(i + 1)
            event = _TIME_OF_EVENT & set(caption.words[max(0, i - 2) : i])
            if before in _BEFORE_TIME and after not in _NAMES_AFTER_TIME and not event:
                yield reword(
                    i, i + 1, "day" if word == "night" and before != "at" else _TIMES[word]
                )


# a space parts two kinds of weather that may take a word's place
_WEATHER = pairs(
    "sunny/rainy_snowy rainy/sunny cloudy/cloudless overcast/sunny foggy/sunny windy/windless "
    "stormy/sunny snowy/sun-scorched cloudless/cloudy gloomy/sunny hazy/clear rain/sunshine "
    "snow/rain sunshine/rain fog/sunshine snow-covered/sun-scorched clear/cloudy_stormy"
)


class WrongWeather(_Scene):
    """Sun becomes rain, snow sunshine, a cloudy sky a cloudless one."""

    name = "wrong_weather"
    title = "Weather"
    unchanged_reason = "does not mention the weather"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, word in enumerate(caption.words):
            if word in _WEATHER and self._is_weather(caption, i):
                options = (w for w in _WEATHER[word].split() if not known.speaks_of(w))
                yield reword(i, i + 1, *options)

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
