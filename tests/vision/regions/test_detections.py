"""Objects that a detector found, as a file of COCO's schema with scores; one on photographs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metaeval.config import build, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import StatisticsAdapter, SummableMetric
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions, system_scores
from tests.shared import write_json

NAMES = {
    "vifidel": ["VIFIDEL (detected objects)", "VIFIDEL-ref (detected objects)"],
    "chair": ["CHAIR-s (detected objects)", "CHAIR-i (detected objects)"],
    "tiger": [f"TIGEr{part} (detected objects)" for part in ("", "-RRS", "-WDS")],
    "faier": [f"FAIEr{part} (detected objects)" for part in ("", "-object", "-relation")],
    "gold_labels": [f"Gold label {name} (detected objects)" for name in ("F1", "recall")],
    "bleu": ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"],
}


def dataset(folder: Path, *, scores: bool) -> CaptionDataset:
    """Two images of COCO's form, their objects with scores or without."""
    texts = {1: ("a dog and a man", "a man with a dog"), 2: ("a red bus", "a bus in a street")}
    captions = [
        {"id": 10 * i + k, "image_id": i, "caption": text}
        for i, group in texts.items()
        for k, text in enumerate(group)
    ]
    images = [{"id": i, "width": 100, "height": 50, "file_name": f"{i}.jpg"} for i in texts]
    folder.mkdir()
    for image in images:
        Image.new("RGB", (100, 50)).save(folder / str(image["file_name"]))
    found = ((1, 1, [0, 0, 50, 50]), (1, 18, [50, 10, 20, 20]), (2, 6, [10, 10, 80, 30]))
    annotations = [
        {
            "id": k,
            "image_id": i,
            "category_id": c,
            "bbox": box,
            **({"score": 0.9} if scores else {}),
        }
        for k, (i, c, box) in enumerate(found)
    ]
    categories = [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}, {"id": 6, "name": "bus"}]
    write_json(folder / "boxes.json", annotations)
    content = {"images": images, "annotations": annotations, "categories": categories}
    return load_coco(
        captions=write_json(folder / "captions.json", {"images": images, "annotations": captions}),
        instances=write_json(folder / "objects.json", content),
        images=folder,
        image_source="other",
        n_references=1,
    )


@pytest.mark.parametrize("name", NAMES)
def test_columns_say_that_objects_were_detected(name: str, tmp_path: Path) -> None:
    """The same objects give the same scores, under another name and another signature: annotated,
    with scores in a file of their schema, and as boxes of a file, of a dataset without objects."""
    options = [f"metric=[{name}]", "device=cpu"]
    boxes = ["regions=file", f"regions.file={tmp_path / 'True/boxes.json'}"]
    data = {scores: dataset(tmp_path / str(scores), scores=scores) for scores in (False, True)}
    gold, detected, of_file = (
        score_captions(
            build(name, compose_config(each)),
            *(d, [*d.human, "a cat"], np.array([0, 1, 0]), MemoryStore()),
        )
        for d, each in (
            (data[False], options),
            (data[True], options),
            (replace(data[False], parts={"images": data[False].parts["images"]}), options + boxes),
        )
    )
    assert gold.status == detected.status == of_file.status == "ok", (gold.reason, of_file.reason)
    for made in (detected, of_file):
        assert [column.name for column in made.columns] == NAMES[name]
        np.testing.assert_array_equal(gold.scores, made.scores)
        assert {column.part_of for column in made.columns} <= {None, *NAMES[name]}
        assert (gold.signatures == made.signatures) == (name == "bleu")


def test_a_corpus_score_says_so_too(tmp_path: Path) -> None:
    """As experiment=captioners makes it, of statistics: 1 of 3 captions names a wrong object."""
    metric = build("chair", compose_config(["metric=[chair]"]))
    assert isinstance(metric, SummableMetric)
    data = dataset(tmp_path / "d", scores=True)
    captions = ([*data.human, "a cat"], np.array([0, 1, 0]))
    made = system_scores(
        metric, score_captions(StatisticsAdapter(metric), data, *captions, MemoryStore())
    )
    assert [column.name for column in made.scored.columns] == NAMES["chair"]
    assert made.corpus_score()[0] == pytest.approx(1 / 3)
