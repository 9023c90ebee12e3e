"""What is new to a metric, by rule."""

import pytest

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
    versions_in_training,
)
from metaeval.results.base import NEW
from metaeval.runs.records import (
    OTHER_CAPTION,
    WRONG_PLACES,
    WRONG_WORDS,
    DrawnCorruption,
)

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
