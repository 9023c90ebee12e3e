"""Values of papers that are not one number of a run's result: functions of a run's folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.api import load_run
from metaeval.config import build, component, compose_config
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects, Part
from metaeval.data.judgments.judged import Judgments
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.scores import open_store
from metaeval.experiments.sensitivity.statistics import PROFILE_CELLS
from metaeval.metrics.faier.matcher import UnionMatcher
from metaeval.metrics.faier.network import (
    NO_REFERENCE,
    FaierNetwork,
    load_network,
    parse_and_encode,
)
from metaeval.readers.files import read_text
from metaeval.readers.tables import read_csv, read_number
from metaeval.readers.yaml_text import read_yaml
from metaeval.reproduce.compare import Values
from metaeval.results.measured import SETS
from metaeval.runs import files
from metaeval.runs.records import HUMAN
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import score_captions
from metaeval.stats.correlation.correlations import correlations
from metaeval.stats.ordering.pairwise import auc
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained

WRONG = (0.0, 0.1, 0.25, 0.5, 1.0)  # shares of wrong objects
MOST = 8  # objects; images with fewer take no part


def by_number_of_objects(
    dataset: CaptionDataset, most: int = MOST, seed: int = 0, store: Store | None = None
) -> Values:
    """Column → number of objects → the mean score of the images' human captions.

    The objects of each image are put in a random order, once; with k objects VIFIDEL sees the first
    k. Only images with `most` objects or more take part: all numbers are of the same images.
    """
    objects = _annotated(dataset)
    n_objects = [len(objects[i].labels) if i in objects else 0 for i in dataset.image_ids]
    rich = [k for k, n in enumerate(n_objects) if n >= most]
    if not rich:
        raise InputError(f"{dataset.name}: no image has {most} annotated objects")
    chosen = dataset.subset(rich)
    rng = np.random.default_rng(seed)
    order = {i: rng.permutation(len(objects[i].labels)) for i in chosen.image_ids}
    fewer = {
        str(n): {i: _taken(objects[i], order[i][:n].tolist()) for i in chosen.image_ids}
        for n in range(1, most + 1)
    }
    index = np.arange(len(chosen), dtype=np.intp)
    return _vifidel(
        chosen, fewer, chosen.human, index, lambda scores: float(np.nanmean(scores)), store
    )


_Value = Callable[[npt.NDArray[np.float64]], float | None]


def _annotated(dataset: CaptionDataset) -> Mapping[ImageId, Objects]:
    """The annotated objects of the images; InputError where there are none."""
    part = dataset.part("objects")
    if isinstance(part, Absent):
        raise InputError(str(part))
    return part


def _taken(objects: Objects, rows: Sequence[int]) -> Objects:
    return Objects(tuple(objects.labels[k] for k in rows), objects.boxes[rows])


def _vifidel(
    dataset: CaptionDataset,
    objects: Mapping[str, Mapping[ImageId, Objects]],
    captions: Sequence[str],
    index: npt.NDArray[np.intp],
    value: _Value,
    store: Store | None,
) -> Values:
    """Column → name → a value of VIFIDEL's scores of captions with the objects of that name."""
    metric = build("vifidel", compose_config(["metrics=[vifidel]"]))
    store = store or MemoryStore()
    values: dict[str, dict[str, float | None]] = {}
    for name, of_images in objects.items():
        parts: dict[str, Part] = {**dataset.parts, "objects": partial(dict, of_images)}
        seen = replace(dataset, parts=parts, _loaded={})
        scored = score_captions(metric, seen, captions, index, store)
        if scored.scores is None:
            raise InputError(f"VIFIDEL: {scored.reason}")
        for column, scores in zip(scored.columns, scored.scores.T, strict=True):
            values.setdefault(column.name, {})[name] = value(scores)
    return values


def with_wrong_objects(
    judged: Judgments, shares: Sequence[float] = WRONG, seed: int = 0, store: Store | None = None
) -> Values:
    """Column → share of wrong objects in per cent → Spearman's ρ with the ratings.

    Each object of an image gets, with the share as its probability, the label of an object drawn
    from all images, as a detector that errs would give it. An image has the same wrong objects in
    all of its documents, and those of a share are wrong with every greater share.
    """
    dataset, dimension = judged.dataset, judged.dimensions[0]
    objects = _annotated(dataset)
    known = [i for i in dataset.image_ids if i in objects]
    pool = [label for i in known for label in objects[i].labels]
    rows, ratings = judged.rows(dimension)
    image_of = dict(zip(dataset.image_ids, dataset.image_source or dataset.image_ids, strict=True))
    wrong = {
        f"{100 * share:g}": {
            i: _mislabelled(objects[i], pool, share, seed, str(image_of[i])) for i in known
        }
        for share in shares
    }
    candidates = [j.candidate for j in judged.judged]
    return _vifidel(
        dataset,
        wrong,
        candidates,
        judged.image_index,
        lambda scores: correlations(scores[rows], ratings).spearman,
        store,
    )


def _mislabelled(
    objects: Objects, pool: Sequence[str], share: float, seed: int, image: str
) -> Objects:
    rng = np.random.default_rng([seed, *image.encode()])
    chances, drawn = (
        rng.random(len(objects.labels)),
        rng.integers(len(pool), size=len(objects.labels)),
    )
    labels = [
        pool[k] if chance < share else label
        for label, chance, k in zip(objects.labels, chances, drawn.tolist(), strict=True)
    ]
    return Objects(tuple(labels), objects.boxes)


PAIRS = 15_000  # of FAIEr's Table 2
WORD_IMAGES = 1_000  # of FAIEr's Table 5; each takes 12 ms
# TIGEr's Fig. 7: what of a caption is wrong → the corruptions that make it so
COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "object": ("other_object",),
    "action": ("wrong_verb",),
    "property": ("wrong_colour", "wrong_size"),
    "counting": ("one_more",),
    "state": ("wrong_state",),
    "colour": ("wrong_colour",),
}


def human_above_machine(folder: Path) -> Values:
    """FAIEr's Table 2 from a run of captioners: "accuracy", "human" and "machine" of each column.

    PAIRS pairs of an image's human caption and a captioner's are drawn without replacement, with
    seed 0, from all of them. The accuracy is the share of the pairs in which the human caption
    scores strictly higher; pairs without both scores are left out.
    """
    result = load_run(folder).result
    columns = {
        str(metric.numbers.facts["sentence_column"]): metric.column
        for metric in result.metrics
        if metric.ok and metric.column.part_of is None
    }
    path = folder / files.AGAINST_HUMAN / files.SCORES
    scores = files.read_run_table(path, ("image_id", "set", "metric", "score"))
    values: dict[str, dict[str, float | None]] = {}
    for name, column in columns.items():
        of_metric = scores[scores["metric"] == name]
        if of_metric.empty:  # it did not run against people
            continue
        table = of_metric.pivot(index="image_id", columns="set", values="score")
        human = table.pop(HUMAN)
        machines = table[sorted(table.columns)]
        pairs = [(i, system) for system in machines.columns for i in machines.index]
        chosen = np.random.default_rng(0).permutation(len(pairs))[:PAIRS]
        people = human.to_numpy()[chosen % len(machines)]
        others = machines.to_numpy().T.reshape(-1)[chosen]
        known = ~np.isnan(people) & ~np.isnan(others)
        sign = 1 if column.higher_is_better else -1
        above = sign * (people[known] - others[known]) > 0
        values[name] = {
            "accuracy": float(above.mean()),
            "human": float(people[known].mean()),
            "machine": float(others[known].mean()),
        }
    return values


def below_human(folder: Path) -> Values:
    """The rank-order ρ of people's captions against each system's, from a run of captioners."""
    values: dict[str, dict[str, float | None]] = {}
    for row in load_run(folder).result.extra(files.AGAINST_HUMAN).records:
        values.setdefault(row["metric"], {})[row["system"]] = row["rank_order_rho"]
    return values


def components(folder: Path) -> Values:
    """TIGEr's Fig. 7 from a run of sensitivity: how often the true caption scores above the one
    with a wrong component, ties half; corruptions of a component weigh by their captions."""
    result = load_run(folder).result
    of_name = {entry["name"]: entry["set"] for entry in result.extra(SETS).records}
    profile = {(c["metric"], c["set"]): c for c in result.extra(PROFILE_CELLS).records}
    values: dict[str, dict[str, float | None]] = {}
    for metric in result.metrics:
        if not metric.ok or metric.column.part_of is not None:
            continue
        values[metric.name] = {}
        for kind, names in COMPONENTS.items():
            places = [(metric.name, of_name.get(name)) for name in names]
            cells = [profile[place] for place in places if place in profile]
            n = sum(cell["n"] for cell in cells)
            right = sum((cell["auc"] or 0.0) * cell["n"] for cell in cells)
            values[metric.name][kind] = right / n if n else None
    return values


def thumb_scores(folder: Path) -> Values:
    """Pearson's r of the scores that THumB's authors published with the ratings, by dimension."""
    judged = files.read_columns(folder / files.JUDGMENTS, ("image_id", "system"))
    config = read_yaml(folder / files.CONFIG)
    root = config["dataset"]["root"] or Path(str(config["paths"]["data"])) / "thumb"
    paths = sorted((Path(str(root)) / "metric_scores").glob("*.csv"))
    if not paths:
        raise InputError("has no metric_scores/*.csv; get them from THumB's repository", file=root)
    theirs = pd.DataFrame(
        {
            "image_id": row["seg_id"],
            "system": row["SYS"],
            "metric": row["metric"],
            "score": read_number(row["score"], path, record, "score"),
        }
        for path in paths
        for record, row in read_csv(read_text(path))
    )
    keys = ["image_id", "system"]
    dimensions = [
        name.removeprefix("human_") for name in map(str, judged) if name.startswith("human_")
    ]
    for name in dimensions:
        judged[name] = [np.mean(ratings) for ratings in judged[f"human_{name}"]]
    both = theirs.merge(judged[[*keys, *dimensions]], on=keys)
    return {
        str(metric): {name: float(of["score"].corr(of[name])) for name in dimensions}
        for metric, of in both.groupby("metric")
    }


def faier_object_words(overrides: Sequence[str]) -> Values:
    """FAIEr's Table 5 on WORD_IMAGES of val2017: mean matches of words for what is there, and of
    others."""
    import torch

    dataset = _val2017([*overrides, f"dataset.limit={WORD_IMAGES}"])
    model, vocabulary, _ = load(dataset, pretrained.AUTO)
    with torch.inference_mode():
        rows = table(model, vocabulary, dataset, (0, 1, 2, 3, 4))
    return {
        f"{k} reference{'' if k == 1 else 's'}": {
            "ground truth": row.gold,
            "others": row.other,
            "ground truth above others": row.wins,
        }
        for k, row in rows.items()
    }


def vifidel_by_objects(overrides: Sequence[str]) -> Values:
    """VIFIDEL's Fig. 5 on val2017: mean score by the number of annotated objects."""
    with open_store(compose_config(overrides)) as store:
        return by_number_of_objects(_val2017(overrides), store=store)


def vifidel_by_wrong_objects(overrides: Sequence[str]) -> Values:
    """VIFIDEL on Composite's COCO images by the share of wrong objects."""
    config = compose_config(["dataset=composite", "dataset.subsets=[coco]", *overrides])
    with open_store(config) as store:
        return with_wrong_objects(component(config.dataset, "dataset"), store=store)


def _val2017(overrides: Sequence[str]) -> CaptionDataset:
    config = compose_config(["dataset=coco_val2017", *overrides])
    dataset: CaptionDataset = component(config.dataset, "dataset")
    _annotated(dataset)
    return dataset


# name in a paper's file → function of the folder of the item's run, or of the run's options
OF_RUN: Mapping[str, Callable[[Path], Values]] = {
    "human_above_machine": human_above_machine,
    "below_human": below_human,
    "components": components,
    "thumb_scores": thumb_scores,
}
OF_DATA: Mapping[str, Callable[[Sequence[str]], Values]] = {
    "faier_object_words": faier_object_words,
    "vifidel_by_objects": vifidel_by_objects,
    "vifidel_by_wrong_objects": vifidel_by_wrong_objects,
}


# Does FAIEr find in an image the words for what is there? After the paper's Table 5.
#
# For every image, each word for one of COCO's 80 categories is matched, as "a WORD", with the
# image's union vectors: the mean over its tokens of the best match among the regions. Ground-truth
# words name what is annotated in the image; all others are other words.

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


class WordMatches(NamedTuple):
    """What the table's row says."""

    gold: float
    other: float
    wins: float


def known_words(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """(category, word) for all words whose every token the vocabulary has."""
    return [
        (category, word)
        for category, words in WORDS.items()
        for word in words
        if all(token in vocabulary for token in vocabulary.tokenise([word])[0])
    ]


def _measure_matcher(
    matcher: UnionMatcher, regions: Regions, dataset: CaptionDataset, vocabulary: Vocabulary
) -> WordMatches:
    """The table's row for a matcher that is prepared on the dataset."""
    known = known_words(vocabulary)
    texts = parse_and_encode([f"a {word}" for _, word in known], TripletParser(), vocabulary)
    words = matcher.read(texts)["objects"]
    # the word's tokens stand between "<start> a" and "<end>"
    spans = [(int(s) + 2, int(s + n) - 1) for s, n in zip(words.starts, words.counts, strict=True)]
    category = np.array([name for name, _ in known])
    means: list[tuple[float, float, float]] = []
    for i in range(len(dataset)):
        there = np.isin(category, np.array(regions.labels[i]))
        if not there.any():
            continue
        matches = (words.vectors @ matcher.unions_of(i)["objects"].T).double().cpu().numpy()
        best = np.array([matches[a:b].max(axis=1).mean() for a, b in spans])
        means.append((best[there].mean(), best[~there].mean(), auc(best[~there], best[there])))
    return WordMatches(*np.mean(means, axis=0))


def table(
    model: FaierNetwork,
    vocabulary: Vocabulary,
    dataset: CaptionDataset,
    counts: Sequence[int] = (4, 0),
) -> dict[int, WordMatches]:
    """The rows by number of references."""
    regions = GoldRegions().load(dataset)
    flat = [text for captions in dataset.references for text in captions]
    references = parse_and_encode([*flat, NO_REFERENCE], TripletParser(), vocabulary)
    measured, matcher = {}, UnionMatcher(model)
    for k in counts:
        rows, first = [], 0
        for captions in dataset.references:
            rows.append(list(range(first, first + min(k, len(captions)))) or [len(flat)])
            first += len(captions)
        matcher.prepare(regions, references, rows)
        measured[k] = _measure_matcher(matcher, regions, dataset, vocabulary)
    return measured


def load(
    dataset: CaptionDataset, which: str, variant: str = "r"
) -> tuple[FaierNetwork, Vocabulary, str]:
    """A trained network, its vocabulary and its name."""
    weights = pretrained.choose_pretrained("faier", dataset, which, variant=variant)
    if isinstance(weights, Absent):
        raise ConfigError(str(weights))
    return load_network(weights), weights.vocabulary(), weights.name
