"""CHAIR and the control of gold labels: by hand, at the edges, and on COCO's captions."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaeval.config import build_all, compose_config, selected
from metaeval.data.dataset import Absent, CaptionDataset, Objects
from metaeval.errors import InputError
from metaeval.metrics.base import Metric
from metaeval.metrics.hallucination.chair import COCO, Chair, GoldLabels, Ontology
from metaeval.vision.regions.gold import CATEGORIES
from tests.metrics.metric_cases import images, ready, scores_of


def score(metric: Metric, dataset: CaptionDataset, captions: Sequence[str]) -> list[list[float]]:
    return scores_of(metric, dataset, captions).tolist()


# An image with a dog and a dining table; a reference mentions a man, another one a ball.
PARK = images([["a man walks a puppy", "someone throws a ball"]], labels=[["dog", "dining table"]])


@pytest.mark.parametrize(
    ("caption", "wrong", "mentions"),
    [
        ("a dog and a cat", 1, 2),
        ("two Puppies beside the TABLE.", 0, 2),
        ("a woman with a ball", 0, 2),  # both by references: a person, a sports ball
        ("a hot dog on a plate", 1, 1),  # no dog: the longest phrase first
        ("a baby elephant", 1, 1),  # no person: "baby" says which elephant
        ("a baby", 0, 1),
        ("a teddy bear, a bear", 2, 2),
        ("the train tracks at home plate", 0, 0),
        ("", 0, 0),
    ],
)
def test_worked_by_hand(caption: str, wrong: int, mentions: int) -> None:
    share = wrong / mentions if mentions else 0.0
    assert score(Chair(), PARK, [caption]) == [[float(wrong > 0), share]]


def test_which_truth_counts() -> None:
    assert score(Chair(truth=["objects"]), PARK, ["a man with a dog"]) == [[1, 0.5]]
    assert score(Chair(truth=["references"]), PARK, ["a dog, a table"]) == [[1, 0.5]]


def test_one_truth_for_a_run_and_its_name_in_the_column() -> None:
    """The second image has no annotated objects: before, it was judged by its reference and the
    first by objects and reference, in one column."""
    half = images([["a man"], ["a man"]], labels=[["dog"], []])
    first = {0: Objects(("dog",), np.zeros((1, 4)))}
    partly = replace(half, parts={"objects": lambda: first}, _loaded={})
    scorer = ready(Chair(), partly)
    assert [(column.name, column.variant_of) for column in scorer.columns] == [
        ("CHAIR-s (references)", "CHAIR-s"),
        ("CHAIR-i (references)", "CHAIR-i"),
    ]
    # a dog is wrong in both images now, though the first one's objects have it
    assert scorer.score(["a dog", "a dog"], np.array([0, 1])).tolist() == [[1, 1], [1, 1]]
    without = replace(half, parts={}, _loaded={})  # no COCO image: references are enough
    alone = images([[]], labels=[["dog"]])
    found = [ready(Chair(), data).settings["truth"] for data in (half, partly, without, alone)]
    assert found == ["objects+references", "references", "references", "objects"]
    assert ready(Chair(), alone).columns[0].name == "CHAIR-s (objects)"
    assert isinstance(Chair().bind(replace(alone, parts={}, _loaded={})), Absent)


def test_a_corpus_is_the_share_of_all_mentions() -> None:
    """Of "a dog and a cat", "a dog" and "grass": 1 of 3 mentions, 1 of 3 captions. The mean of the
    captions' CHAIR-i would be 1/6."""
    scorer = ready(Chair(), PARK)
    captions = ["a dog and a cat", "a dog", "grass"]
    sums = scorer.statistics(captions, np.zeros(3, dtype=np.intp)).sum(axis=0, keepdims=True)
    assert scorer.metric.of_statistics(sums, corpus=True).tolist() == [[1 / 3, 1 / 3]]


def test_nothing_to_compare_with() -> None:
    dataset = images([[], [], ["a dog"]], labels=[[], ["dog"], []])
    scores = ready(Chair(), dataset).score(["a cat", "a cat"], np.array([0, 1]))
    np.testing.assert_array_equal(scores, [[np.nan, np.nan], [1, 1]])


def test_a_users_ontology(tmp_path: Path) -> None:
    path = tmp_path / "bikes.json"
    path.write_text(json.dumps({"words": {"cycle": ["bike", "tandem bike"], "dog": ["dog"]}}))
    scores = score(Chair(ontology=path), PARK, ["a tandem bike", "a dog and a bike", "a cat"])
    assert scores == [[1, 1], [1, 0.5], [0, 0]]
    assert isinstance(Chair(ontology=tmp_path / "none.json").bind(PARK), Absent)
    for words, problem in (
        ({"cycle": ["bike"], "motor": ["bike"]}, r"word 'bike'.*'cycle'.*'motor'"),
        (["bike"], "words"),
    ):
        path.write_text(json.dumps({"words": words}))
        with pytest.raises(InputError, match=problem):
            Ontology(path)


def test_cocos_ontology_has_cocos_categories() -> None:
    ontology = Ontology(COCO)
    assert ontology.categories == CATEGORIES
    for name in CATEGORIES:
        if name != "orange":  # the colour, four times of five
            assert ontology.mentions(f"the {name} there") == [(name, name)]


@pytest.mark.parametrize(
    ("caption", "f1", "recall"),
    [
        ("two puppies near a table", 1.0, 1.0),  # synonyms and plurals
        ("a dog and a dog", 2 / 3, 1 / 2),  # P = 1, R = 1/2
        ("a dog and a cat", 1 / 2, 1 / 2),  # P = R = 1/2
        ("a man with a hot dog", 0.0, 0.0),
        ("something", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_by_hand(caption: str, f1: float, recall: float) -> None:
    data = images([[]], labels=[["dog", "dining table", "dog"]])
    assert score(GoldLabels(), data, [caption])[0] == pytest.approx([f1, recall], abs=1e-15)


def test_without_objects_there_is_no_score() -> None:
    data = images([[], []], labels=[["dog"], []])
    assert np.isnan(scores_of(GoldLabels(), data, ["a dog"], [1])).all()
    assert GoldLabels().bind(images([[]])).part == "objects"


def test_it_is_a_control_of_every_run() -> None:
    config = compose_config(["metrics=controls"])
    assert "gold_labels" in selected(config)
    assert "gold_labels" in build_all(selected(config), config)
    assert all(column.control for column in GoldLabels().columns)
    noisy = GoldLabels(noise={"confused": 0.1}).columns
    assert [column.name for column in noisy] == [
        "Gold label F1 (10 % confused)",
        "Gold label recall (10 % confused)",
    ]
