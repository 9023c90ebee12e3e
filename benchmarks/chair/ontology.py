"""Make the list of words by which CHAIR knows COCO's categories, from WordNet.

    python -m benchmarks.chair.ontology > metaeval/metrics/hallucination/coco_objects.json

A category's words are those of its sense and of all kinds of it, as far as that is what a word
first means (WordNet orders senses by frequency): a "player" is a person, a "cat" is not a gossip;
words that are adjectives too are left out. To
them come the category's own name, a few words of captions that WordNet knows otherwise (`MORE`),
and plurals. Words that two categories claim belong to the one that is named so, else to the first.
Rohrbach et al. (2018) have a list of the same kind; this one shares its rules, not its lines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lemminflect import getInflection

from metaeval.data.dataset import Absent
from metaeval.metrics.meteor.nltk_metric import find_wordnet, read_wordnet
from metaeval.vision.regions.gold import CATEGORIES

# the categories whose sense is not the first noun of their own name
SENSES = {
    "boat": "vessel.n.02",
    "stop sign": None,
    "cow": "cattle.n.01",
    "tie": "necktie.n.01",
    "skis": "ski.n.01",
    "sports ball": "ball.n.01",
    "kite": "kite.n.03",
    "wine glass": "wineglass.n.01",
    "hot dog": "frank.n.02",
    "donut": "doughnut.n.02",
    "couch": "sofa.n.01",
    "potted plant": None,
    "dining table": None,
    "toilet": "toilet.n.02",
    "tv": "television_receiver.n.01",
    "mouse": "mouse.n.04",
    "remote": "remote_control.n.01",
    "keyboard": "computer_keyboard.n.01",
    "cell phone": "cellular_telephone.n.01",
    "microwave": "microwave.n.02",
    "toaster": "toaster.n.02",
    "book": "book.n.02",
    "teddy bear": "teddy.n.01",
    "hair drier": "hand_blower.n.01",
    "glass": None,
    "handbag": "bag.n.04",
    "broccoli": "broccoli.n.02",
    "cake": None,
    "apple": None,
    "banana": "banana.n.02",
    "suitcase": "bag.n.06",
    "traffic light": None,
    "fire hydrant": "fireplug.n.01",
}
# what captions call things by, and WordNet puts elsewhere
MORE = {
    "person": "people kid kids folks guy lady ladies boy girl crowd skateboarder snowboarder "
    "skier adult male female surfer cyclist biker motorcyclist pedestrian toddler",
    "bicycle": "bike",
    "motorcycle": "motorbike;moped;scooter;motor bike;motor scooter",
    "car": "van;minivan;suv;taxi;cab;jeep;sedan",
    "airplane": "plane;jet;airliner;biplane;jumbo jet",
    "bus": "double decker",
    "train": "locomotive;tram;trolley;subway",
    "truck": "pickup;firetruck;fire truck;semi",
    "boat": "canoe;kayak;sailboat;ferry;raft;yacht",
    "traffic light": "stoplight;stop light;traffic signal;street light;streetlight",
    "fire hydrant": "hydrant",
    "bird": "chick;parrot;duck;goose;geese;seagull;pigeon;chicken;rooster;owl",
    "cat": "kitten;kitty",
    "dog": "puppy;pup;doggy",
    "horse": "pony;foal;colt",
    "sheep": "lamb;ram;ewe",
    "cow": "bull;calf;ox;oxen;cattle;cows",
    "bear": "polar bear;grizzly;bear cub",
    "backpack": "knapsack;rucksack;back pack",
    "handbag": "purse;hand bag",
    "suitcase": "luggage;suit case;baggage",
    "skis": "ski",
    "sports ball": "ball;soccer ball;tennis ball;beach ball",
    "frisbee": "disc;disk",
    "baseball bat": "bat",
    "baseball glove": "mitt;catcher's mitt",
    "skateboard": "skate board",
    "surfboard": "surf board;boogie board",
    "tennis racket": "racket;racquet;tennis racquet",
    "wine glass": "wineglass;goblet",
    "cup": "mug;coffee cup",
    "sandwich": "burger;hamburger;cheeseburger;sub",
    "hot dog": "hotdog;hot dogs",
    "donut": "doughnut",
    "cake": "cupcake;cheesecake;birthday cake;wedding cake;layer cake",
    "chair": "armchair;stool;recliner",
    "couch": "sofa;loveseat;futon",
    "potted plant": "potted plants;houseplant;house plant",
    "bed": "bunk bed;crib",
    "dining table": "table;coffee table;kitchen table",
    "tv": "television;tv set;televisions;tvs",
    "laptop": "laptop computer;notebook computer",
    "mouse": "computer mouse",
    "remote": "remote control;controller;wii remote;remotes",
    "keyboard": "computer keyboard",
    "cell phone": "phone;cellphone;mobile phone;smartphone;iphone;telephone",
    "microwave": "microwave oven",
    "oven": "stove;stove top;stovetop",
    "refrigerator": "fridge",
    "vase": "urn",
    "teddy bear": "stuffed bear;teddy;stuffed animal",
    "hair drier": "hair dryer;hairdryer;blow dryer",
    "giraffe": "giraffes",
    "book": "novel",
    "toilet": "urinal;toilet seat;commode",
    "pizza": "pizza pie",
}
PLURALS = {
    "people",
    "kids",
    "folks",
    "cows",
    "skis",
    "scissors",
    "oxen",
    "geese",
    "cattle",
    "luggage",
    "baggage",
    "broccoli",
    "televisions",
    "tvs",
    "remotes",
    "giraffes",
}
# what first means a person to WordNet, and mostly something else in captions
NOT = {
    "person": [
        "washer",
        "carrier",
        "toaster",
        "host",
        "model",
        "guide",
        "subject",
        "star",
        "counter",
        "cooker",
        "dryer",
        "hanger",
        "have",
        "monitor",
        "hood",
        "fighter",
        "comforter",
        "peeler",
        "catcher",
        "beater",
        "bleacher",
        "shrimp",
        "forward",
        "sitter",
        "topper",
        "roller",
        "heater",
        "mixer",
        "slicer",
        "holder",
        "drier",
    ]
}
# of these, only single words: phrases end in one of them, or are names of species
LIVING = ("person", "bird", "dog", "horse", "boat")
# phrases in which no object is meant, or another one than the last word says
IGNORED = [
    "home plate",
    "train track",
    "train tracks",
    "train station",
    "bus stop",
    "bus station",
    "car park",
    "boat house",
    "book store",
    "book shelf",
    "table cloth",
    "toilet paper",
    "wine bottle opener",
    "dog food",
    "cat food",
    "person's",
    "motor home",
    "orange juice",
    "apple juice",
    "carrot cake",
    "bed room",
    "cake pan",
    "pizza box",
    "pizza cutter",
    "pizza oven",
    "bath room",
    "horse drawn",
    "bear hug",
    "zebra crossing",
    "ski lift",
    "ski slope",
    "ski pole",
    "ski poles",
    "ski resort",
    "ski jump",
    "ski suit",
    "tennis court",
    "chair lift",
    "clock tower",
    "bird house",
    "birthday party",
]
# a word for a person before one of these says what kind of animal or vehicle it is
_ANIMALS = ["bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"]
QUALIFIERS = {
    "baby": _ANIMALS,
    "adult": _ANIMALS,
    "passenger": ["airplane", "bus", "train", "boat", "car"],
    "commuter": ["bus", "train"],
}


def kinds_of(category: str, wordnet: Any) -> Iterator[str]:
    """The words that first mean a kind of this category."""
    name = SENSES.get(category, f"{category.replace(' ', '_')}.n.01")
    if name is None:
        return
    sense = wordnet.synset(name)
    for kind in {sense, *sense.closure(lambda s: s.hyponyms())}:
        for lemma in kind.lemma_names():
            word = lemma.replace("_", " ").lower()
            common = lemma.islower() and word.count(" ") <= (category not in LIVING)
            first = wordnet.synsets(lemma, "n")[0] == kind
            adjective = wordnet.synsets(lemma, "a")  # colored, dry, modern …
            if first and common and not adjective and word not in NOT.get(category, ()):
                yield word


def main() -> None:
    folder = find_wordnet(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    if isinstance(folder, Absent):
        raise SystemExit(str(folder))
    wordnet = read_wordnet(folder)
    owner = {category: category for category in CATEGORIES}  # no other category may claim a name
    for category in CATEGORIES:
        split = ";" if ";" in MORE.get(category, "") or category != "person" else " "
        for word in filter(None, MORE.get(category, "").split(split)):
            owner.setdefault(word, category)
    for category in CATEGORIES:
        for word in kinds_of(category, wordnet):
            owner.setdefault(word, category)
    for word, category in list(owner.items()):
        head, _, last = word.rpartition(" ")
        if last in PLURALS:
            continue
        for plural in getInflection(last, tag="NNS"):
            owner.setdefault(f"{head} {plural}".strip(), category)
    owner.pop("orange")  # in captions a colour, four times of five
    words = {
        category: sorted(w for w, of in owner.items() if of == category) for category in CATEGORIES
    }
    value = {"words": words, "ignored": sorted(IGNORED), "qualifiers": QUALIFIERS}
    print(json.dumps(value, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
