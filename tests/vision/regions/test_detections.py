"""Objects that a detector found, as a file of COCO's schema with scores; one on photographs."""

from pathlib import Path

import numpy as np
import pytest

from metaeval.config import build, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
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
    folder.mkdir()
    content = {"images": images, "annotations": annotations, "categories": categories}
    return load_coco(
        captions=write_json(folder / "captions.json", {"images": images, "annotations": captions}),
        instances=write_json(folder / "objects.json", content),
        image_source="other",
        n_references=1,
    )


@pytest.mark.parametrize("name", NAMES)
def test_columns_say_that_objects_were_detected(name: str, tmp_path: Path) -> None:
    """The same objects give the same scores, under another name and another signature."""
    metric = build(name, compose_config([f"metric=[{name}]", "device=cpu"]))
    datasets = (dataset(tmp_path / str(scores), scores=scores) for scores in (False, True))
    gold, detected = (
        score_captions(metric, d, [*d.human, "a cat"], np.array([0, 1, 0]), MemoryStore())
        for d in datasets
    )
    assert gold.status == detected.status == "ok", (gold.reason, detected.reason)
    assert [column.name for column in detected.columns] == NAMES[name]
    np.testing.assert_array_equal(gold.scores, detected.scores)
    assert {column.part_of for column in detected.columns} <= {None, *NAMES[name]}
    assert (gold.signatures == detected.signatures) == (name == "bleu")
