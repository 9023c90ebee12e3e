"""What is new to a metric, by rule; and which training seeds apply to a run."""

from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Delete, Insert, Replace
from metaeval.corruptions.graded.shuffle import Reverse, Shuffle
from metaeval.corruptions.truth.changes import (
    DropSalient,
    ReplaceObject,
    SwapArguments,
    SwapSymmetric,
)
from metaeval.experiments.graded.statistics import (
    INSIDE,
    SEEN,
    in_training,
    training_seeds,
    versions_in_training,
)
from metaeval.experiments.graded.task import Graded
from metaeval.results.base import NEW, Spread
from metaeval.runs.records import (
    OTHER_CAPTION,
    WRONG_PLACES,
    WRONG_WORDS,
    DrawnCorruption,
    TrainingSeeds,
)
from metaeval.weights.pretrained import shipped

ROOT = Path(__file__).parents[3]
# what the trainings on corrupted captions drew
DRAWN = (
    DrawnCorruption("random", OTHER_CAPTION),
    DrawnCorruption("shuffle", WRONG_PLACES, (0.2, 1.0)),
    DrawnCorruption("replace", WRONG_WORDS, (0.1, 0.7)),
)


@pytest.mark.parametrize(
    ("corruption", "spoiled", "plain"),
    [
        (Random(), SEEN, SEEN),  # contrastive training sees other images' captions
        (Replace(0.25), SEEN, NEW),
        (Replace(0.1), SEEN, NEW),  # one word in ten
        (Replace(0.9), NEW, NEW),  # training replaced 0.1 to 0.7
        (Shuffle(0.75), SEEN, NEW),
        (Shuffle(0.1), NEW, NEW),  # training shuffled 0.2 to 1
        (Insert(0.5), INSIDE, NEW),  # words of the bag, as trained replacement draws
        (Insert(0.9), NEW, NEW),
        (Reverse(), INSIDE, NEW),
        (Delete(0.25), NEW, NEW),
        (ReplaceObject(), INSIDE, NEW),
        (SwapArguments(), INSIDE, NEW),
        (DropSalient(), NEW, NEW),
        (SwapSymmetric(), None, None),
    ],
    ids=lambda value: value.label if isinstance(value, Corruption) else "",
)
def test_new_is_only_what_training_drew_nothing_of(
    corruption: Corruption, spoiled: str | None, plain: str | None
) -> None:
    assert (in_training(DRAWN, corruption), in_training(DRAWN[:1], corruption)) == (spoiled, plain)


def test_by_set_of_versions() -> None:
    made = [Random(), Shuffle(0.5), SwapSymmetric()]
    assert versions_in_training(DRAWN[:1], made) == {
        "Random": SEEN,
        "Shuffle 50%": NEW,
    }
    assert versions_in_training((), made) == {}


SPREAD = TrainingSeeds(
    "FAIEr", "replace", "coco_val2017", 5000, 0,
    [["random", {}], ["replace", {"rate": 0.5, "min_count": 4, "distinct": False}]], {}, [0, 1, 2],
    {"mean": 0.8, "sd": 0.001},
)  # fmt: skip
RUN = ("FAIEr", "replace", "coco_val2017", 5000, 0, [Random(), Replace(0.5)])


def test_training_seeds_apply_only_to_the_measured_run() -> None:
    seeds = training_seeds([SPREAD], *RUN)
    assert (seeds.seeds, seeds.rank_order_rho) == ((0, 1, 2), Spread(mean=0.8, sd=0.001))
    # as the shipped cards have it, and next to one of another column
    with_values = replace(SPREAD, rank_order_rho={"mean": 0.8, "sd": 0.001, "values": (0.8, 0.8)})
    for given in ([with_values], [replace(SPREAD, column="other"), SPREAD]):
        assert training_seeds(given, *RUN) == seeds
    others = (
        ("FAIEr-object", *RUN[1:]),
        (*RUN[:1], "graded", *RUN[2:]),
        (*RUN[:2], "scenes", *RUN[3:]),
        (*RUN[:3], 4407, *RUN[4:]),
        (*RUN[:4], 1, RUN[5]),
        (*RUN[:5], [Random(), Replace(0.25)]),
        (*RUN[:5], [Random(), Replace(0.5, distinct=True)]),
        (*RUN[:5], [Replace(0.5)]),
    )
    assert all(training_seeds([SPREAD], *run) is None for run in others)


def test_the_runs_on_cards_are_those_of_the_two_experiments() -> None:
    """The default corruptions, as configured; otherwise no run would find its seeds."""
    by_experiment = {
        "replace": Graded(floor=True, preset="replace"),
        "shuffle": Graded(preset="shuffle"),
    }
    entries = [entry for weights in shipped() for entry in weights.card.get("seeds", ())]
    assert len(entries) == 32
    for entry in entries:
        experiment = by_experiment[entry["experiment"]]
        node = OmegaConf.load(ROOT / f"conf/corruption/{experiment.name}.yaml")
        made = experiment.corruptions(OmegaConf.create({"corruption": node}))
        assert entry["versions"] == [[c.name, dict(c.parameters)] for c in made]
        measured = (entry[key] for key in ("dataset", "n_images", "seed"))
        run = (entry["column"], experiment.name, *measured, made)
        seeds = training_seeds([TrainingSeeds(**entry)], *run)
        assert seeds.rank_order_rho.mean == entry["rank_order_rho"]["mean"]
