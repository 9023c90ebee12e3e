"""The control that reads gold labels alone: by hand, and against CHAIR on COCO's captions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from metaeval.config import build_all, compose_config, selected
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset, ImageId, Objects
from metaeval.metrics.base import Scorer
from metaeval.metrics.hallucination.chair import Chair, GoldLabels


def images(*labels: Sequence[str]) -> CaptionDataset:
    ids = tuple(range(len(labels)))
    objects: dict[ImageId, Objects] = {
        i: Objects(tuple(names), np.zeros((len(names), 4))) for i, names in enumerate(labels)
    }
    human = tuple("a caption" for _ in ids)
    return CaptionDataset(
        "toy", ids, human, ((),) * len(ids), ids, human, parts={"objects": lambda: objects}
    )


def ready(dataset: CaptionDataset) -> Scorer:
    scorer = GoldLabels().bind(dataset)
    scorer.prepare()
    return scorer


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
    scores = ready(images(["dog", "dining table", "dog"])).score([caption], np.array([0]))
    assert scores[0] == pytest.approx([f1, recall], abs=1e-15)


def test_without_objects_there_is_no_score() -> None:
    assert np.isnan(ready(images(["dog"], [])).score(["a dog"], np.array([1]))).all()
    bare = CaptionDataset("bare", (1,), ("a dog",), ((),), (1,), ("a dog",))
    absent = GoldLabels().bind(bare)
    assert absent.part == "objects"


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


@pytest.mark.coco
def test_a_caption_without_a_hallucination_has_full_precision(coco_root: Path) -> None:
    """Precision, by F1 and recall, is 1 exactly where CHAIR, with objects as truth, finds nothing
    wrong in a caption that names an object."""
    data = load_coco("coco_val2017", root=coco_root, split="val2017").limited(500)
    index = np.arange(500)
    chair = Chair(truth=("objects",)).bind(data)
    chair.prepare()
    wrong = chair.score(data.human, index)[:, 0]
    f1, recall = ready(data).score(data.human, index).T
    known = ~np.isnan(f1) & (recall > 0)
    precision = recall[known] * f1[known] / (2 * recall[known] - f1[known])
    assert known.sum() > 300
    assert ((precision > 1 - 1e-9) == (wrong[known] == 0)).all()
