"""COCO's categories in captions: which nouns name them, and what to call them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from string import punctuation
from typing import Any, NamedTuple

from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import singular, verb_lemma
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.lexicon import NOUNS, ROLES
from metaeval.text.scene_graphs.rules.tagger import set_of_words as word_set


@dataclass(frozen=True, slots=True)
class Known:
    """What other captions of the image say and what is annotated in it.

    Attributes
    ----------
    references
        The references.
    words
        The words of references and human caption in lower case, with the singulars and the verbs'
        lemmas of them all.
    present
        COCO's categories that are annotated or named.
    """

    references: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()

    def speaks_of(self, phrase: str) -> bool:
        """Whether some word of the phrase is said of the image; then it is not sure to be false."""
        parts = phrase.lower().split()
        return any(word in self.words or verb_lemma(word) in self.words for word in parts)

    @property
    def families(self) -> frozenset[str]:
        """COCO's supercategories of what is present."""
        return frozenset(map(supercategory, self.present))


def _word_forms(texts: Iterable[str]) -> frozenset[str]:
    """The words of texts, with singulars and lemmas."""
    words = {token.strip(punctuation).lower() for text in texts for token in text.split()} - {""}
    split = {part for word in words for part in word.split("-")}
    words |= split
    return frozenset(words | {singular(w) for w in words} | {verb_lemma(w) for w in words})


def known_images(dataset: CaptionDataset) -> Mapping[ImageId, Known]:
    """Image id → what is known of it; made once a dataset."""
    return dataset.derive("what is known of images", lambda: _known_images(dataset))


def _known_images(dataset: CaptionDataset) -> dict[ImageId, Known]:
    part: Any = dataset.part("objects")
    objects = {} if isinstance(part, Absent) else part
    known = {}
    for image_id, human, references in zip(
        dataset.image_ids, dataset.human, dataset.references, strict=True
    ):
        texts = (human, *references)
        labels = objects[image_id].labels if image_id in objects else ()
        present = frozenset(labels).union(*map(categories_in, texts))
        known[image_id] = Known(tuple(references), _word_forms(texts), present)
    return known


# finer kinds of the lexicon → COCO's category
_CATEGORY = {
    **dict.fromkeys(("man", "woman", "boy", "girl", "people", "children"), "person"),
    "adults": "person",
    "sailing boat": "boat",
    "row boat": "boat",
    "tennis ball": "sports ball",
    "baseball": "sports ball",
    "desk": "dining table",
    "monitor": "tv",
}
# true of several categories, or of other things: they count as present, but are never replaced
_VAGUE = word_set(
    "board boards bag bags seat seats cycle cycles bike bikes disc discs disk disks "
    "coach coaches jet jets vehicle vehicles screen screens computer computers dish "
    "dishes dessert desserts ball balls plant plants meter meters glove gloves "
    "pastry pastries football footballs baseball baseballs orange basin basins "
    "cooker notebook vessel vessels person people persons individual individuals "
    "remote remotes mouse mice"
) | {
    *("street sign", "street signs", "stuffed animal", "stuffed animals", "piece of luggage"),
    *("plate of food", "plates of food", "bowl of food", "bowls of food", "bowl of soup"),
    "pieces of luggage",
}
# words for a category in addition to the lexicon's nouns
_ALSO = {
    "person": "lady ladies guy guys kid kids baby babies toddler toddlers player players surfer "
    "skier snowboarder skateboarder rider batter crowd someone he she his her chef family couple",
    "bird": "duck ducks seagull seagulls pigeon pigeons parrot owl goose geese swan swans eagle "
    "chicken rooster",
    "dog": "bulldog poodle labrador dachshund",
    "cow": "cattle bull bulls calf calves ox oxen",
    "sheep": "lamb lambs ram rams goat goats",
    "horse": "pony ponies foal donkey mule",
    "car": "taxi cab suv van vans jeep minivan traffic",
    "truck": "pickup semi van firetruck trailer",
    "bus": "trolley double-decker",
    "train": "trains subway tram trolley railcar engine",
    "boat": "ship ships canoe kayak ferry raft",
    "airplane": "aircraft biplane airliner",
    "cup": "mug mugs glass glasses drink coffee tea",
    "wine glass": "wine glass glasses drink",
    "bottle": "beer wine soda drink",
    "bowl": "soup salad cereal",
    "knife": "knifes silverware utensils",
    "fork": "silverware utensils",
    "spoon": "silverware utensils ladle",
    "sandwich": "burger burgers sub bagel panini bun",
    "orange": "orange fruit fruits",
    "apple": "fruit fruits",
    "banana": "fruit fruits",
    "carrot": "vegetables veggies salad",
    "broccoli": "vegetables veggies salad",
    "cake": "cupcake cupcakes dessert pastry pastries",
    "donut": "pastry pastries dessert bagel",
    "hot dog": "sausage bratwurst",
    "pizza": "pie",
    "chair": "stool stools armchair recliner furniture",
    "couch": "futon furniture",
    "dining table": "counter furniture",
    "bed": "bunk bedroom furniture",
    "potted plant": "flowers flower plant plants",
    "vase": "flowers pot pitcher jar",
    "toilet": "bathroom restroom urinal urinals",
    "sink": "bathroom restroom kitchen faucet",
    "oven": "kitchen range",
    "microwave": "kitchen",
    "refrigerator": "kitchen freezer",
    "toaster": "kitchen",
    "tv": "screen monitor monitors wii nintendo video",
    "laptop": "computer computers macbook desk",
    "keyboard": "computer computers desk desktop piano",
    "mouse": "computer computers desk desktop",
    "remote": "wii wiimote controller controllers nintendo",
    "cell phone": "phone phones iphone smartphone selfie",
    "backpack": "luggage bags bag",
    "handbag": "luggage bags bag",
    "suitcase": "luggage baggage bags bag",
    "umbrella": "parasols",
    "book": "bookshelf bookcase library",
    "clock": "clocktower watch tower",
    "teddy bear": "doll plush toy toys",
    "toothbrush": "brushing",
    "frisbee": "disc",
    "sports ball": "ball balls tennis soccer baseball football volleyball basketball",
    "baseball bat": "bat bats baseball",
    "baseball glove": "baseball mitt",
    "tennis racket": "tennis racquet racquets",
    "kite": "kites parasail parachute",
    "skis": "ski skiing skier skiers",
    "snowboard": "snowboarding snowboarder",
    "skateboard": "skateboarding skateboarder skater",
    "surfboard": "surfing surfer surfers surf board",
    "traffic light": "light lights signal",
    "stop sign": "sign signs",
    "parking meter": "meter meters",
    "bench": "benches",
}


class Mention(NamedTuple):
    """Tokens `start` ≤ i < `end` name a thing of a category."""

    start: int
    end: int
    category: str
    many: bool


def supercategory(category: str) -> str:
    """COCO's supercategory; of a category that is not COCO's, its own name."""
    return THINGS[category].family if category in THINGS else category


@cache
def _nouns() -> dict[tuple[str, ...], tuple[frozenset[str], bool]]:
    """Words of a noun → the categories that it can name, and whether it is a plural."""
    named = [(pair, _CATEGORY.get(kind, kind)) for kind, pairs in NOUNS.items() for pair in pairs]
    nouns: dict[tuple[str, ...], tuple[frozenset[str], bool]] = {}
    for pair, category in named:
        for many in (True, False):
            words = tuple(pair[many].split())
            nouns[words] = (nouns.get(words, (frozenset[str](),))[0] | {category}, many)
    roles = [pair for pairs in ROLES.values() for pair in pairs]
    people = {tuple(pair[many].split()): many for many in (True, False) for pair in roles}
    return {words: (frozenset({"person"}), many) for words, many in people.items()} | nouns


# words that suggest categories without naming them
_HINTS = {
    word: frozenset(category for category, words in _ALSO.items() if word in words.split())
    for word in " ".join(_ALSO.values()).split()
}


_LONGEST = 3


def categories_in(text: str) -> frozenset[str]:
    """Every category that some noun of the text can name: in doubt, more rather than fewer."""
    words = [token.strip(punctuation).lower() for token in text.split()]
    named: set[str] = set()
    for start in range(len(words)):
        named |= _HINTS.get(words[start], frozenset())
        for size in range(1, _LONGEST + 1):
            named |= _nouns().get(tuple(words[start : start + size]), (frozenset(), False))[0]
    return frozenset(named)


def mentions(caption: ParsedCaption) -> list[Mention]:
    """The things that the caption names beyond doubt, in order.

    The noun ends its noun phrase ("train" of "train station" names no train), can name one category
    alone, and is not one of the vague ones ("board").
    """
    mentioned: list[Mention] = []
    start = 0
    while start < len(caption):
        mention = _mention_at(caption, start)
        mentioned += [mention] if mention else []
        start = mention.end if mention else start + 1
    return mentioned


def _mention_at(caption: ParsedCaption, start: int) -> Mention | None:
    for size in range(_LONGEST, 0, -1):
        end = start + size
        words = caption.words[start:end]
        categories, many = _nouns().get(words, (frozenset(), False))
        last = caption.phrase_of(end - 1)
        if categories and last is None and end <= len(caption) and caption.is_at(start, words):
            return None  # "tv remote" is not a noun here, and not a tv
        if len(categories) != 1 or not caption.is_at(start, words) or last is None:
            continue
        if " ".join(words) in _VAGUE or last.end != end or caption.word(end) == "of":
            return None
        if words in _UNCHANGING:
            many = caption.tokens[end - 1].is_plural or caption.word(last.start) not in _ONE
        return Mention(start, end, next(iter(categories)), many)
    return None


# nouns whose plural is like the singular ("sheep")
_UNCHANGING = {tuple(a.split()) for pairs in NOUNS.values() for a, b in pairs if a == b}
_ONE = ("a", "an", "one", "this", "another")


@cache
def name_of(category: str, many: bool) -> str:
    """What to call things of a category ("skis" is "pair of skis")."""
    return NOUNS[category][0][many]


@cache
def namable(families: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Categories that a caption can name instead of others, of these families (all if empty)."""
    return tuple(
        category
        for category, thing in THINGS.items()
        if category != "person" and (not families or thing.family in families)
    )
