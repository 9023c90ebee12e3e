"""Does FAIEr find in an image the words for what is there? After the paper's Table 5.

For every image, each word for one of COCO's 80 categories is matched, as "a WORD", with the image's
union vectors: the mean over its tokens of the best match among the regions. Ground-truth words name
what is annotated in the image; all others are other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.faier.matcher import UnionMatcher
from metaeval.metrics.faier.network import NO_REFERENCE, FaierNetwork, encode, load_network
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained

# a category's own name always counts; the words of a line are separated by commas
_NAMES = """
person: man, men, woman, women, boy, boys, girl, girls, child, children, people, player, guy, lady
bicycle: bike, bikes, bicycles
car: cars, taxi, suv
motorcycle: motorcycles, motorbike, motorbikes
airplane: plane, planes, airplanes, jet, airliner
bus: buses
train: trains
truck: trucks
boat: boats, ship, sailboat, canoe
traffic light: traffic lights, stoplight
fire hydrant: hydrant
stop sign: stop signs
parking meter: parking meters, meter
bench: benches
bird: birds, seagull, duck, pigeon, parrot
cat: cats, kitten
dog: dogs, puppy
horse: horses, pony
sheep: lamb, lambs
cow: cows, cattle, bull
elephant: elephants
bear: bears
zebra: zebras
giraffe: giraffes
backpack: backpacks
umbrella: umbrellas, parasol
handbag: purse
tie: necktie, ties
suitcase: suitcases, luggage
frisbee: frisbees
skis: ski
snowboard: snowboards
sports ball: ball, soccer ball, baseball, tennis ball
kite: kites
baseball bat: bat, bats
baseball glove: glove, mitt
skateboard: skateboards
surfboard: surfboards
tennis racket: racket, racquet
bottle: bottles
wine glass: wine glasses
cup: cups, mug
fork: forks
knife: knives
spoon: spoons
bowl: bowls
banana: bananas
apple: apples
sandwich: sandwiches
orange: oranges
broccoli:
carrot: carrots
hot dog: hot dogs
pizza: pizzas
donut: donuts, doughnut, doughnuts
cake: cakes, cupcake
chair: chairs
couch: sofa, couches
potted plant: plant, plants
bed: beds
dining table: table
toilet: toilets
tv: television, televisions
laptop: laptops
mouse:
remote: remotes, controller
keyboard: keyboards
cell phone: phone, cellphone
microwave:
oven: stove
toaster:
sink: sinks
refrigerator: fridge
book: books
clock: clocks
vase: vases
scissors:
teddy bear: teddy bears
hair drier: hair dryer
toothbrush: toothbrushes
"""

# Names of a category → its words, the category's own name first.
WORDS: dict[str, tuple[str, ...]] = {
    name: (name, *(word.strip() for word in rest.split(",") if word.strip()))
    for name, rest in (line.split(":") for line in _NAMES.strip().splitlines())
}


Floats = npt.NDArray[np.float64]


class WordMatches(NamedTuple):
    """What the table's row says; `unsaid` is of ground-truth words that no reference has."""

    gold: float
    other: float
    wins: float
    unsaid: float
    pointed: float
    chance: float


def known_words(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """(category, word) for all words whose every token the vocabulary has."""
    return [
        (category, word)
        for category, words in WORDS.items()
        for word in words
        if all(token in vocabulary for token in vocabulary.tokenise([word])[0])
    ]


def wins(gold: Floats, other: Floats) -> float:
    """The share of pairs in which the ground-truth word is higher; half for a tie."""
    over = (gold[:, None] > other).sum() + 0.5 * (gold[:, None] == other).sum()
    return float(over) / (len(gold) * len(other))


def mentioned(references: Sequence[str], vocabulary: Vocabulary) -> set[str]:
    """The categories that the references have a word for."""
    texts = [f" {' '.join(tokens)} " for tokens in vocabulary.tokenise(references)]
    return {c for c, words in WORDS.items() for w in words if any(f" {w} " in t for t in texts)}


def measure(
    matcher: UnionMatcher, regions: Regions, dataset: CaptionDataset, vocabulary: Vocabulary
) -> WordMatches:
    """The table's row for a matcher that is prepared on the dataset."""
    known = known_words(vocabulary)
    texts = encode([f"a {word}" for _, word in known], TripletParser(), vocabulary)
    words = matcher.read(texts)["objects"]
    # the word's tokens stand between "<start> a" and "<end>"
    spans = [(int(s) + 2, int(s + n) - 1) for s, n in zip(words.starts, words.counts, strict=True)]
    category = np.array([name for name, _ in known])
    means: list[tuple[float, float, float]] = []
    unsaid, pointed, chance = [], [], []
    for i, references in enumerate(dataset.references):
        labels = np.array(regions.labels[i])
        there = np.isin(category, labels)
        if not there.any():
            continue
        matches = (words.vectors @ matcher.unions_of(i)["objects"].T).double().cpu().numpy()
        best = np.array([matches[a:b].max(axis=1).mean() for a, b in spans])
        means.append((best[there].mean(), best[~there].mean(), wins(best[there], best[~there])))
        silent = there & ~np.isin(category, list(mentioned(references, vocabulary)))
        if silent.any():
            unsaid.append(wins(best[silent], best[~there]))
        objects = np.flatnonzero(np.isin(labels, list(WORDS)))
        for k in np.flatnonzero(there):
            a, b = spans[k]
            at = objects[matches[a:b, objects].mean(axis=0).argmax()]
            pointed.append(labels[at] == category[k])
            chance.append((labels[objects] == category[k]).mean())
    gold, other, share = np.mean(means, axis=0)
    lost = float(np.mean(unsaid)) if unsaid else float("nan")
    return WordMatches(gold, other, share, lost, float(np.mean(pointed)), float(np.mean(chance)))


def table(
    model: FaierNetwork,
    vocabulary: Vocabulary,
    dataset: CaptionDataset,
    counts: Sequence[int] = (4, 0),
) -> dict[int, WordMatches]:
    """The rows by number of references."""
    regions = GoldRegions().load(dataset)
    flat = [text for own in dataset.references for text in own]
    references = encode([*flat, NO_REFERENCE], TripletParser(), vocabulary)
    measured, matcher = {}, UnionMatcher(model)
    for k in counts:
        rows, first = [], 0
        for own in dataset.references:
            rows.append(list(range(first, first + min(k, len(own)))) or [len(flat)])
            first += len(own)
        matcher.prepare(regions, references, rows)
        measured[k] = measure(matcher, regions, dataset, vocabulary)
    return measured


def load(
    dataset: CaptionDataset, which: str, variant: str = "r"
) -> tuple[FaierNetwork, Vocabulary, str]:
    """A trained network, its vocabulary and its name."""
    weights = pretrained.choose("faier", dataset, which, variant=variant)
    if isinstance(weights, Absent):
        raise ConfigError(str(weights))
    return load_network(weights), weights.vocabulary(), weights.name
