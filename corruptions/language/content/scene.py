"""The scene: another place, another time of day, other weather."""

from __future__ import annotations

from metaeval.corruptions.language.base import LanguageCorruption, Places
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording, article_for

# places by cluster, each with its preposition; one gives way to another cluster's
_PLACES: dict[str, dict[str, str]] = {
    "room": {"kitchen": "in", "bathroom": "in", "bedroom": "in", "living room": "in",
             "office": "in", "restaurant": "in", "classroom": "in", "store": "in",
             "library": "in"},
    "nature": {"beach": "on", "forest": "in", "desert": "in", "river": "in", "lake": "on",
               "meadow": "in", "field": "in", "pasture": "in", "ocean": "in"},
    "town": {"street": "on", "parking lot": "in", "airport": "at", "train station": "at",
             "highway": "on", "sidewalk": "on", "road": "on", "city": "in"},
    "sport": {"tennis court": "on", "baseball field": "on", "ski slope": "on",
              "skate park": "in"},
}  # fmt: skip
_CLUSTER = {place: cluster for cluster, places in _PLACES.items() for place in places} | {
    "mountain": "nature", "hill": "nature", "hillside": "nature", "park": "nature",
    "woods": "nature", "wave": "nature", "zoo": "nature", "farm": "nature", "court": "sport",
    "slope": "sport", "restroom": "room", "hotel room": "room", "shop": "room", "runway": "town",
    "intersection": "town", "bridge": "town", "yard": "nature", "shore": "nature",
    "ramp": "sport", "house": "room", "baseball game": "sport", "tennis match": "sport",
}  # fmt: skip
# words of the image's captions that speak for a cluster
_HINTS = {
    "room": "room indoors inside kitchen counter house",
    "nature": "beach ocean sea water river lake field grass grassy forest desert hill mountain "
    "pasture meadow sand trees woods",
    "town": "street road city traffic parking highway sidewalk building buildings airport station",
    "sport": "court slope ramp game match",
}


class WrongPlace(LanguageCorruption):
    """Where it is becomes somewhere else: a beach, a kitchen; rooms, nature, town and sport differ.

    The preposition comes along: "on a beach" becomes "in a kitchen".
    """

    name = "wrong_place"
    title = "Place"
    kind = "scene"
    severity = "critical"
    unchanged_reason = "names no setting"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for phrase in caption.phrases:
            noun = " ".join(caption.words[phrase.noun : phrase.end])
            cluster = _CLUSTER.get(noun) or _CLUSTER.get(caption.word(phrase.head))
            where = phrase.start - 1
            if cluster is None or caption.word(where) not in ("in", "on", "at"):
                continue
            if caption.word(phrase.start) not in ("a", "an", "the") or (
                caption.word(phrase.end) in ("of", "sign", "and")
            ):
                continue
            article = caption.word(phrase.start)
            options = [
                (preposition, place)
                for other, members in _PLACES.items()
                if other != cluster and not known.words & set(_HINTS[other].split())
                for place, preposition in members.items()
                if not known.speaks_of(place)
            ]
            places += [
                [
                    (Rewording(where, phrase.end, (p, self._article(article, o), *o.split())),)
                    for p, o in options
                ]
            ] * bool(options)
        return places

    @staticmethod
    def _article(old: str, place: str) -> str:
        return "the" if old == "the" else article_for(place)


_TIMES = {
    "night": "noon", "day": "night", "daytime": "nighttime", "nighttime": "daytime",
    "morning": "evening", "evening": "morning", "afternoon": "night", "noon": "midnight",
    "sunset": "noon", "dusk": "noon", "sunrise": "midnight", "dawn": "noon", "midday": "midnight",
    "daylight": "moonlight", "sunlight": "moonlight", "midnight": "noon",
}  # fmt: skip


# "a night stand", "a day bed"
_NAMES_AFTER_TIME = frozenset(
    {"stand", "stands", "table", "tables", "bed", "beds", "light", "lights", "care", "gown", "lamp"}
)


class WrongTime(LanguageCorruption):
    """Day becomes night, morning evening, dusk noon, and back."""

    name = "wrong_time"
    title = "Time of day"
    kind = "scene"
    severity = "major"
    unchanged_reason = "names no time of day"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            if word not in _TIMES or known.speaks_of(_TIMES[word]):
                continue
            before = set(caption.words[max(0, i - 2) : i])
            if before & {"sunny", "bright", "valentine's", "wedding", "one", "every", "game"}:
                continue
            if caption.word(i + 1) in _NAMES_AFTER_TIME:
                continue
            new = _TIMES[word]
            if word == "night" and caption.word(i - 1) != "at":
                new = "day"
            if caption.word(i - 1) in ("at", "during", "the", "in", "a", "cloudy", "rainy", "of",
                                       "by", "snowy", "clear", "early", "late"):  # fmt: skip
                places.append([(Rewording(i, i + 1, (new,)),)])
        return places


_WEATHER = {
    "sunny": ("rainy", "snowy"), "rainy": ("sunny",), "cloudy": ("cloudless",),
    "overcast": ("sunny",), "foggy": ("sunny",), "windy": ("windless",), "stormy": ("sunny",),
    "snowy": ("sun-scorched",), "cloudless": ("cloudy",), "gloomy": ("sunny",), "hazy": ("clear",),
    "rain": ("sunshine",), "snow": ("rain",), "sunshine": ("rain",), "fog": ("sunshine",),
    "snow-covered": ("sun-scorched",), "clear": ("cloudy", "stormy"),
}  # fmt: skip


class WrongWeather(LanguageCorruption):
    """Sun becomes rain, snow sunshine, a cloudy sky a cloudless one."""

    name = "wrong_weather"
    title = "Weather"
    kind = "scene"
    severity = "major"
    unchanged_reason = "does not mention the weather"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            options = [w for w in _WEATHER.get(word, ()) if not known.speaks_of(w)]
            if options and self._is_weather(caption, i):
                places.append([(Rewording(i, i + 1, (o,)),) for o in options])
        return places

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
